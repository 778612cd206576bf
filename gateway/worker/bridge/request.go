package bridge

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"strings"

	"github.com/causewayhq/causeway/gateway"
	"github.com/causewayhq/causeway/gateway/worker"
)

// request makes the signed request of one try.
func (b *Bridge) request(ctx context.Context, ev *gateway.Event, info worker.Delivery) (*http.Request, error) {
	var replyTo [][2]string
	if b.o.AnswersURL != "" {
		t := ticket{b.o.App.Name, ev.Platform, ev.Account, ev.Conv, info.ID}
		replyTo = [][2]string{{"replyurl", b.o.AnswersURL}, {"replytoken", t.token(b.o.Keys)}}
	}
	body, err := cloudEvent(info, replyTo)
	if err != nil {
		return nil, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, b.o.URL, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	for _, h := range b.o.Headers {
		req.Header.Set(h.Name, h.Value)
	}
	for name, values := range info.Header {
		if strings.HasPrefix(name, "Cw-") || name == "traceparent" || name == "tracestate" {
			req.Header[http.CanonicalHeaderKey(name)] = values
		}
	}
	req.Header.Set("Content-Type", b.o.ContentType)
	req.Header.Set("Accept", "application/json")
	req.Header.Set("User-Agent", "causeway")
	b.o.Keys.Headers(webhookID(info.ID), b.o.Now(), body, req.Header.Set)
	return req, nil
}

// webhookID is the delivery's: the same in every try. Dots separate what is signed,
// so the one in a replay's or requeue's is replaced; no event's id has the other.
func webhookID(delivery string) string { return strings.ReplaceAll(delivery, ".", "_") }

// cloudEvent is the event in CloudEvents' JSON format 1.0: the attributes that the
// offer carries as headers, those of ours as extensions without the hyphen, and the
// body as it was published.
func cloudEvent(info worker.Delivery, more [][2]string) ([]byte, error) {
	attributes := more
	for name, values := range info.Header {
		if len(values) == 0 {
			continue
		}
		if after, ok := strings.CutPrefix(name, "ce-"); ok {
			attributes = append(attributes, [2]string{after, values[0]})
		} else if after, ok := strings.CutPrefix(name, "Cw-"); ok {
			attributes = append(attributes, [2]string{"cw" + strings.ToLower(strings.ReplaceAll(after, "-", "")), values[0]})
		}
	}
	slices.SortFunc(attributes, func(a, b [2]string) int { return strings.Compare(a[0], b[0]) })
	var out bytes.Buffer
	out.Grow(len(info.Body) + 1024)
	out.WriteByte('{')
	for _, a := range attributes {
		value, err := json.Marshal(a[1])
		if err != nil {
			return nil, err
		}
		out.WriteString(`"` + a[0] + `":`)
		out.Write(value)
		out.WriteByte(',')
	}
	out.WriteString(`"data":`)
	out.Write(info.Body)
	out.WriteByte('}')
	return out.Bytes(), nil
}
