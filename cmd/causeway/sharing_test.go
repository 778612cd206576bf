package main

import (
	"slices"
	"testing"

	"github.com/causewayhq/causeway/config"
	"github.com/causewayhq/causeway/gateway"
)

func TestSharing(t *testing.T) {
	t.Parallel()
	account := func(name, platform, waba, token string) config.Account {
		return config.Account{Name: name, Platform: platform, WABAID: waba, AccessToken: config.Secret(token)}
	}
	shares := sharing([]config.Account{
		account("a", "whatsapp", "1", "t1"), account("b", "whatsapp", "1", "t2"), account("c", "whatsapp", "2", "t1"),
		account("d", "whatsapp", "", "t3"), account("e", "whatsapp", "", "t4"), account("f", "wecom", "", ""),
		account("g", "whatsapp", "1", "t1"), account("h", "whatsapp", "1", ""),
	})
	for _, c := range []struct {
		account string
		share   gateway.Share
		want    []string
	}{
		{"a", gateway.ShareWABA, []string{"a", "b", "g", "h"}},
		{"a", gateway.ShareApp, []string{"a", "c", "g"}},
		{"a", gateway.ShareAccess, []string{"a", "g"}}, // neither by another token nor to another WABA
		{"b", gateway.ShareAccess, []string{"b"}},
		{"d", gateway.ShareAccess, nil},
		{"h", gateway.ShareAccess, nil},
		{"d", gateway.ShareWABA, nil}, // two that do not name theirs have nothing in common
		{"f", gateway.ShareApp, nil},
		{"gone", gateway.ShareApp, nil},
	} {
		if got := shares(c.account, c.share); !slices.Equal(got, c.want) {
			t.Errorf("%s of %s: %v, want %v", c.share, c.account, got, c.want)
		}
	}
}
