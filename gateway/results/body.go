package results

import (
	"bytes"
	"encoding/json"
	"time"

	"github.com/causewayhq/causeway/gateway"
)

// cloudEvent is CloudEvents 1.0 in structured JSON. The id is the webhook-id.
type cloudEvent struct {
	SpecVersion string          `json:"specversion"`
	ID          string          `json:"id"`
	Source      string          `json:"source"`
	Type        string          `json:"type"`
	Subject     string          `json:"subject"` // the conversation
	Time        time.Time       `json:"time"`
	ContentType string          `json:"datacontenttype"`
	Data        *gateway.Change `json:"data"`
}

// body is what is posted: the change as observers of cw.result read it.
func (l *line) body(row *gateway.Result) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	err := enc.Encode(cloudEvent{"1.0", l.id(row), "/" + row.Platform + "/" + row.Account, "causeway.result", row.Conv, row.At, "application/json", &row.Change})
	return bytes.TrimRight(b.Bytes(), "\n"), err
}
