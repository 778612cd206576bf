package main

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/causewayhq/causeway/config"
	"github.com/causewayhq/causeway/gateway"
	"github.com/causewayhq/causeway/handlers/admin"
)

// Whom each kind of account can write to, and in which form the ledger knows them.
func TestSubmissionRecipients(t *testing.T) {
	t.Parallel()
	shop := &config.Account{Name: "shop", Platform: "whatsapp"}
	corp := &config.Account{Name: "corp", Platform: "wecom", Kind: "app"}
	care := &config.Account{Name: "care", Platform: "wecom", Kind: "kf"}
	robot := &config.Account{Name: "alerts", Platform: "wecom", Kind: "robot"}
	vendor := &config.Account{Name: "vendor", Platform: "unified"}
	id := func(kind, value string) *gateway.Identity { return &gateway.Identity{Kind: kind, Value: value} }
	for _, c := range []struct {
		acc   *config.Account
		to    *gateway.Identity
		want  gateway.Identity
		field string
	}{
		{acc: shop, to: id("phone", "+491510000000"), want: *id("phone", "491510000000")},
		{acc: shop, to: id("phone", "0151-0000"), field: "to.value"},
		{acc: shop, to: id("phone", "+"), field: "to.value"},
		{acc: shop, to: id("bsuid", "DE.1"), want: *id("bsuid", "DE.1")},
		{acc: shop, to: id("userid", "LiSi"), field: "to.kind"},
		{acc: shop, field: "to"},
		{acc: corp, to: id("userid", "LiSi"), want: gateway.Identity{Kind: "userid", Value: "lisi", As: "LiSi"}},
		{acc: corp, to: id("group", "Chat1"), want: *id("group", "Chat1")},
		{acc: corp, to: id("phone", "1"), field: "to.kind"},
		{acc: care, to: id("external_userid", "wmAbC"), want: *id("external_userid", "wmAbC")},
		{acc: care, to: id("userid", "LiSi"), field: "to.kind"},
		{acc: robot, want: *id("group", "alerts")},
		{acc: robot, to: id("group", "alerts"), want: *id("group", "alerts")},
		{acc: robot, to: id("group", "other"), field: "to"},
		{acc: vendor, to: id("conversation", "S:1_2"), want: *id("conversation", "S:1_2")},
		{acc: vendor, to: id("userid", "LiSi"), want: *id("userid", "LiSi")},
	} {
		s := &gateway.Submission{Account: c.acc.Name}
		if c.to != nil {
			s.Chat.Identities = []gateway.Identity{*c.to}
		}
		to, err := (&app{}).addressee(t.Context(), s, c.acc)
		var wrong *admin.InvalidError
		switch {
		case c.field != "":
			if !errors.As(err, &wrong) || wrong.Fields[0].Field != c.field || wrong.Fields[0].Detail == "" {
				t.Errorf("%s to %+v: %v, want %s", c.acc.Name, c.to, err, c.field)
			}
		case err != nil:
			t.Errorf("%s to %+v: %v", c.acc.Name, c.to, err)
		default:
			if d := cmp.Diff([]gateway.Identity{c.want}, to); d != "" || s.Chat.Identities[0] != to[0] {
				t.Errorf("%s to %+v: %s", c.acc.Name, c.to, d)
			}
		}
	}
}
