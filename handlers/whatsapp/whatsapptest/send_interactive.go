package whatsapptest

import (
	"encoding/json"
	"fmt"
)

// interactiveBody is a message with something to press.
type interactiveBody struct {
	Type   string `json:"type"`
	Header *struct {
		Type     string          `json:"type"`
		Text     string          `json:"text"`
		Image    json.RawMessage `json:"image"`
		Video    json.RawMessage `json:"video"`
		Document json.RawMessage `json:"document"`
	} `json:"header"`
	Body *struct {
		Text string `json:"text"`
	} `json:"body"`
	Footer *struct {
		Text string `json:"text"`
	} `json:"footer"`
	Action json.RawMessage `json:"action"`
}

// interactive checks one; the kinds that ask for a location, an address, a number
// or show products are checked for their frame only.
func interactive(raw json.RawMessage) (words string, o *objection) {
	var in interactiveBody
	if o = part("interactive", raw, &in); o != nil {
		return "", o
	}
	mostBody := 1024
	if in.Type == "list" {
		mostBody = 4096
	}
	if in.Body != nil {
		words = in.Body.Text
	}
	// Product messages may do without a body, nothing else may.
	least := 1
	if in.Type == "product" {
		least = 0
	}
	if o = first(frame(&in), length("interactive.body.text", words, least, mostBody)); o != nil {
		return words, o
	}
	switch in.Type {
	case "button":
		o = replyButtons(in.Action)
	case "list":
		o = menu(in.Action)
	case "cta_url":
		o = ctaURL(in.Action)
	case "flow":
		o = flow(in.Action)
	case "location_request_message", "address_message", "product", "product_list", "catalog_message", "call_permission_request", "request_contact_info":
		var action map[string]json.RawMessage
		o = part("interactive.action", in.Action, &action)
	case "":
		o = missingPart("interactive.type")
	default:
		o = wrong("interactive.type", "is not known")
	}
	return words, o
}

func frame(in *interactiveBody) *objection {
	if h := in.Header; h != nil {
		switch {
		case h.Type == "text":
			if o := length("interactive.header.text", h.Text, 1, 60); o != nil {
				return o
			}
		case in.Type == "list" || h.Type != "image" && h.Type != "video" && h.Type != "document":
			return wrong("interactive.header.type", "is not possible here")
		}
	}
	if in.Footer != nil {
		return length("interactive.footer.text", in.Footer.Text, 1, 60)
	}
	return nil
}

func replyButtons(raw json.RawMessage) *objection {
	var a struct {
		Buttons []struct {
			Type  string `json:"type"`
			Reply struct {
				ID    string `json:"id"`
				Title string `json:"title"`
			} `json:"reply"`
		} `json:"buttons"`
	}
	if o := part("interactive.action", raw, &a); o != nil {
		return o
	}
	if n := len(a.Buttons); n == 0 {
		return missingPart("interactive.action.buttons")
	} else if n > 3 {
		return wrong("interactive.action.buttons", "must be at most 3")
	}
	ids, titles := map[string]bool{}, map[string]bool{}
	for i, b := range a.Buttons {
		at := fmt.Sprintf("interactive.action.buttons[%d].", i)
		if o := first(length(at+"reply.id", b.Reply.ID, 1, 256), length(at+"reply.title", b.Reply.Title, 1, 20)); o != nil {
			return o
		}
		switch {
		case b.Type != "reply":
			return wrong(at+"type", "must be reply")
		case ids[b.Reply.ID]:
			return wrong(at+"reply.id", "is there twice")
		case titles[b.Reply.Title]:
			return wrong(at+"reply.title", "is there twice")
		}
		ids[b.Reply.ID], titles[b.Reply.Title] = true, true
	}
	return nil
}

func menu(raw json.RawMessage) *objection {
	var a struct {
		Button   string `json:"button"`
		Sections []struct {
			Title string `json:"title"`
			Rows  []struct {
				ID          string `json:"id"`
				Title       string `json:"title"`
				Description string `json:"description"`
			} `json:"rows"`
		} `json:"sections"`
	}
	o := part("interactive.action", raw, &a)
	if o = first(o, length("interactive.action.button", a.Button, 1, 20)); o != nil {
		return o
	}
	if len(a.Sections) == 0 {
		return missingPart("interactive.action.sections")
	}
	rows, ids := 0, map[string]bool{}
	for i, s := range a.Sections {
		at := fmt.Sprintf("interactive.action.sections[%d]", i)
		least := 0
		if len(a.Sections) > 1 {
			least = 1
		}
		if o := length(at+".title", s.Title, least, 24); o != nil {
			return o
		}
		if len(s.Rows) == 0 {
			return missingPart(at + ".rows")
		}
		for j, r := range s.Rows {
			at := fmt.Sprintf("%s.rows[%d].", at, j)
			if o := first(length(at+"id", r.ID, 1, 200), length(at+"title", r.Title, 1, 24), length(at+"description", r.Description, 0, 72)); o != nil {
				return o
			}
			if ids[r.ID] {
				return wrong(at+"id", "is there twice")
			}
			ids[r.ID] = true
			rows++
		}
	}
	if rows > 10 {
		return wrong("interactive.action.sections", "must have at most 10 rows in all")
	}
	return nil
}

func ctaURL(raw json.RawMessage) *objection {
	var a struct {
		Name       string `json:"name"`
		Parameters struct {
			DisplayText string `json:"display_text"`
			URL         string `json:"url"`
		} `json:"parameters"`
	}
	o := part("interactive.action", raw, &a)
	p := &a.Parameters
	switch o = first(o, length("interactive.action.parameters.display_text", p.DisplayText, 1, 20), length("interactive.action.parameters.url", p.URL, 1, 2048)); {
	case o != nil:
		return o
	case a.Name != "cta_url":
		return wrong("interactive.action.name", "must be cta_url")
	case !webURL(p.URL):
		return wrong("interactive.action.parameters.url", "must be a URL")
	}
	return nil
}

func flow(raw json.RawMessage) *objection {
	var a struct {
		Name       string `json:"name"`
		Parameters struct {
			Version string `json:"flow_message_version"`
			Token   string `json:"flow_token"`
			ID      string `json:"flow_id"`
			Name    string `json:"flow_name"`
			CTA     string `json:"flow_cta"`
			Mode    string `json:"mode"`
			Action  string `json:"flow_action"`
			Payload *struct {
				Screen string                     `json:"screen"`
				Data   map[string]json.RawMessage `json:"data"`
			} `json:"flow_action_payload"`
		} `json:"parameters"`
	}
	const at = "interactive.action.parameters."
	o := part("interactive.action", raw, &a)
	p := &a.Parameters
	switch o = first(o, length(at+"flow_message_version", p.Version, 1, 8), length(at+"flow_cta", p.CTA, 1, 30)); {
	case o != nil:
		return o
	case a.Name != "flow":
		return wrong("interactive.action.name", "must be flow")
	case p.Version != "3":
		return wrong(at+"flow_message_version", "must be 3")
	case p.ID == "" && p.Name == "":
		return missingPart(at + "flow_id")
	case p.ID != "" && p.Name != "":
		return invalid(at+"flow_id", "and flow_name must not stand together")
	case p.Action != "" && p.Action != "navigate" && p.Action != "data_exchange":
		return wrong(at+"flow_action", "must be navigate or data_exchange")
	case p.Payload != nil && p.Action == "data_exchange":
		return invalid(at+"flow_action_payload", "is for navigate only")
	case p.Payload != nil && p.Payload.Screen == "":
		return missingPart(at + "flow_action_payload.screen")
	case p.Payload != nil && p.Payload.Data != nil && len(p.Payload.Data) == 0:
		return wrong(at+"flow_action_payload.data", "must not be empty")
	}
	return nil
}
