package whatsapptest

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"

	"github.com/causewayhq/causeway/handlers/sandbox"
)

// Template is a message template of the WhatsApp Business Account.
type Template struct {
	Name     string `json:"name"`
	Language string `json:"language"`
	// State is approved when empty; paused, disabled and syncing are refused with
	// their codes, held is taken and held back for a look at its quality.
	State string `json:"state,omitempty"`
	// Category is marketing, utility or authentication; empty means utility.
	Category string `json:"category,omitempty"`
	// BodyParams is how many parameters its body has; -1 means any number.
	BodyParams int `json:"body_params"`
}

// templates are those that exist, by name and language.
type templates struct {
	mu    sync.Mutex
	known map[string]Template
}

// SetTemplate makes a template exist, or changes it. hello_world in en_US exists
// from the start.
func (s *Sandbox) SetTemplate(t Template) error {
	if t.State == "" {
		t.State = "approved"
	}
	if t.Category == "" {
		t.Category = "utility"
	}
	switch {
	case t.Name == "" || t.Language == "":
		return errors.New("name and language must be set")
	case !slices.Contains([]string{"approved", "paused", "disabled", "syncing", "held"}, t.State):
		return errors.New("state must be approved, paused, disabled, syncing or held")
	case !slices.Contains([]string{"marketing", "utility", "authentication"}, t.Category):
		return errors.New("category must be marketing, utility or authentication")
	case t.BodyParams < -1:
		return errors.New("body_params must be a number of parameters, or -1 for any")
	}
	s.templates.mu.Lock()
	defer s.templates.mu.Unlock()
	if s.templates.known == nil {
		s.templates.known = map[string]Template{}
	}
	s.templates.known[t.Name+"/"+t.Language] = t
	return nil
}

// Templates lists those that exist, by name and language.
func (s *Sandbox) Templates() []Template {
	s.templates.mu.Lock()
	defer s.templates.mu.Unlock()
	out := make([]Template, 0, len(s.templates.known))
	for _, k := range slices.Sorted(maps.Keys(s.templates.known)) {
		out = append(out, s.templates.known[k])
	}
	return out
}

func (t *templates) find(name, language string) (Template, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	found, ok := t.known[name+"/"+language]
	return found, ok
}

// templateBody is what a send call says of a template.
type templateBody struct {
	Name     string `json:"name"`
	Language *struct {
		Code   string `json:"code"`
		Policy string `json:"policy"`
	} `json:"language"`
	Components []struct {
		Type       string                       `json:"type"`
		SubType    string                       `json:"sub_type"`
		Index      json.RawMessage              `json:"index"` // a number or its text
		Parameters []map[string]json.RawMessage `json:"parameters"`
		Cards      json.RawMessage              `json:"cards"`
	} `json:"components"`
	Expiry json.RawMessage `json:"message_send_ttl_seconds"`
}

// template checks a template message; words is its name.
func (s *Sandbox) template(raw json.RawMessage, to address) (words string, o *objection) {
	var b templateBody
	if o = part("template", raw, &b); o != nil {
		return "", o
	}
	switch {
	case b.Name == "":
		return "", missingPart("template.name")
	case b.Language == nil || b.Language.Code == "":
		return b.Name, missingPart("template.language.code")
	}
	params := 0
	for i, c := range b.Components {
		at := fmt.Sprintf("template.components[%d].", i)
		switch strings.ToLower(c.Type) {
		case "":
			return b.Name, missingPart(at + "type")
		case "body":
			params += len(c.Parameters)
		case "button":
			if c.SubType == "" || len(c.Index) == 0 {
				return b.Name, missingPart(at + "sub_type and index")
			}
		case "header", "footer", "carousel", "limited_time_offer", "order_status":
		default:
			return b.Name, wrong(at+"type", "is not known")
		}
		for j, p := range c.Parameters {
			if len(p["type"]) == 0 {
				return b.Name, missingPart(fmt.Sprintf("%sparameters[%d].type", at, j))
			}
		}
	}
	t, ok := s.templates.find(b.Name, b.Language.Code)
	switch {
	case !ok:
		return b.Name, &objection{132001, "template name does not exist in this language"}
	case t.State == "paused":
		return b.Name, &objection{132015, "template is paused"}
	case t.State == "disabled":
		return b.Name, &objection{132016, "template is disabled"}
	case t.State == "syncing":
		return b.Name, &objection{134101, "template is still syncing"}
	case t.BodyParams >= 0 && params != t.BodyParams:
		return b.Name, &objection{132000, fmt.Sprintf("body: number of parameters is %d, expected %d", params, t.BodyParams)}
	case t.Category == "authentication" && isBSUID(to.input):
		return b.Name, &objection{131062, "authentication templates need a phone number"}
	}
	return b.Name, nil
}

// messageStatus is what the answer says of a template message; "" of others.
func (s *Sandbox) messageStatus(b *sendBody) string {
	var t templateBody
	if b.Type != "template" || part("template", b.Template, &t) != nil || t.Language == nil {
		return ""
	}
	if known, _ := s.templates.find(t.Name, t.Language.Code); known.State == "held" {
		return "held_for_quality_assessment"
	}
	return "accepted"
}

// controlTemplates adds the paths about templates:
//
//	PUT /_sandbox/template    a Template    makes it exist, or changes its state
//	GET /_sandbox/templates                 those that exist
func (s *Sandbox) controlTemplates(c *sandbox.Control) {
	c.Handle("PUT template", func(r *http.Request) (any, error) {
		var t Template
		if err := sandbox.ReadJSON(r, &t); err != nil {
			return nil, err
		}
		return t, s.SetTemplate(t)
	})
	c.Handle("GET templates", func(*http.Request) (any, error) { return s.Templates(), nil })
}
