package config

import (
	"fmt"
	"slices"
	"strconv"
)

// PlatformID is the platform's own id of the account, as gateway.Item.AccountID
// names it; empty while fields of it are missing.
func (a Account) PlatformID() string {
	switch {
	case a.Platform == "whatsapp":
		return a.PhoneNumberID
	case a.Platform == "unified":
		return a.GUID
	case a.Kind == "kf" && a.CorpID != "" && a.OpenKfID != "":
		return a.CorpID + "/kf:" + a.OpenKfID
	case a.Kind == "aibot" && a.BotID != "":
		return "bot:" + a.BotID
	case a.Kind == "robot": // its only id is a secret
		return "robot:" + a.Name
	case a.Kind == "app" && a.CorpID != "" && a.AgentID != 0:
		return a.CorpID + "/" + strconv.FormatInt(a.AgentID, 10)
	}
	return ""
}

func (a Account) idField() string {
	switch {
	case a.Platform == "whatsapp":
		return "phone_number_id"
	case a.Platform == "unified":
		return "guid"
	case a.Kind == "kf":
		return "open_kfid"
	case a.Kind == "aibot":
		return "bot_id"
	}
	return "agent_id"
}

// accountFields are the fields that each kind of WeCom account needs.
func accountFields(kind string) []string {
	switch kind {
	case "app":
		return []string{"corp_id", "agent_id", "secret"}
	case "kf":
		return []string{"corp_id", "open_kfid", "secret"}
	case "aibot":
		return []string{"bot_id"}
	case "robot":
		return []string{"key"}
	}
	return nil
}

// accountKind checks that a WeCom account has the fields of its kind and no others.
func (r *rules) accountKind(at string, a *Account) {
	needs := accountFields(a.Kind)
	if a.Platform != "wecom" || needs == nil {
		return // that is said elsewhere
	}
	if a.Kind != "aibot" && a.Welcome != "" {
		r.wrong(at+".welcome", "does not belong to kind %s; leave it out", a.Kind)
	}
	if a.Kind != "aibot" && a.Feedback {
		r.wrong(at+".feedback", "does not belong to kind %s; leave it out", a.Kind)
	}
	for _, f := range []struct {
		name string
		set  bool
	}{
		{"corp_id", a.CorpID != ""}, {"agent_id", a.AgentID != 0}, {"secret", a.Secret != ""},
		{"open_kfid", a.OpenKfID != ""}, {"bot_id", a.BotID != ""}, {"key", a.Key != ""},
	} {
		switch needed := slices.Contains(needs, f.name); {
		case needed && !f.set:
			r.wrong(at+"."+f.name, "is empty; a value is needed")
		case !needed && f.set:
			r.wrong(at+"."+f.name, "does not belong to kind %s; leave it out", a.Kind)
		}
	}
}

// receivers checks whom an endpoint's callbacks may be addressed to: WeCom puts
// nobody's id into those of robots (101033).
func (r *rules) receivers(i int, e *Endpoint) {
	at := fmt.Sprintf("endpoints[%d].receive_ids", i)
	switch {
	case e.Platform != "wecom":
	case e.Kind == "aibot" && len(e.ReceiveIDs) > 0:
		r.wrong(at, "does not belong to kind aibot, whose callbacks are addressed to nobody; leave it out")
	case e.Kind != "aibot" && len(e.ReceiveIDs) == 0:
		r.wrong(at, "is empty; name the corp id that callbacks are addressed to, such as [ww0123456789abcdef]")
	}
}
