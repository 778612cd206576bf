package storetest

import (
	"cmp"
	"slices"

	"github.com/causewayhq/causeway/gateway"
	"github.com/causewayhq/causeway/store"
)

// belongs is the conversation of customers that are one: the oldest of those they
// have, into which the others go, or the one made just now.
func (m *model) belongs(names []gateway.Identity, made string) string {
	conv := ""
	for _, n := range names {
		c := m.conv[n.Value]
		switch {
		case c == "" || c == conv:
		case conv == "":
			conv = c
		default:
			older, younger := conv, c
			if slices.Index(m.age, c) < slices.Index(m.age, conv) {
				older, younger = c, conv
			}
			m.into[younger], conv = older, older
			for who, of := range m.conv {
				if of == younger {
					m.conv[who] = older
				}
			}
		}
	}
	if conv == "" {
		conv = made
		m.age = append(m.age, conv)
	}
	for _, n := range names {
		m.conv[n.Value] = conv
	}
	return conv
}

// draining says whether a conversation has something left, or one that became part
// of it.
func (m *model) draining(conv string) bool {
	for key, ps := range m.waiting {
		if len(ps) > 0 && ps[0].Conv == conv && key == ps[0].App+"/"+conv {
			return true
		}
	}
	return m.open(conv) || m.any(conv, m.draining)
}

func (m *model) open(conv string) bool {
	return slices.ContainsFunc(m.out[conv], func(s *sent) bool { return s.open })
}

// any says whether something is true of a conversation that became part of conv.
func (m *model) any(conv string, is func(string) bool) bool {
	for younger, older := range m.into {
		if older == conv && is(younger) {
			return true
		}
	}
	return false
}

// check compares the whole of the ledger's sums and heads with the model.
func (m *model) check() {
	m.Helper()
	sums := m.balanced()
	m.same("items", [4]int64{sums.Items.Events, sums.Items.Duplicate, sums.Items.Ignored, sums.Items.Dead},
		[4]int64{m.items["event"], m.items["duplicate"], m.items["ignored"], m.items["dead"]})
	m.same("applications", sums.Apps, m.app)
	count := map[gateway.MessageState]int64{}
	for _, ms := range m.out {
		for _, s := range ms {
			state := s.state
			if state == gateway.MessageSending {
				state = gateway.MessageWaiting
			}
			count[state]++
		}
	}
	x := sums.Messages
	m.same("messages", [7]int64{x.Taken, x.Accepted, x.Rejected, x.Unknown, x.Expired, x.Cancelled, x.Waiting},
		[7]int64{m.taken, count["accepted"], count["rejected"], count["unknown"], count["expired"], count["cancelled"], count["waiting"]})
	for _, app := range []string{"bot", "other"} {
		heads, err := m.l.Heads(m.ctx, app, "", 1000)
		m.must(err)
		var want []gateway.Pending
		for key, ps := range m.waiting {
			if len(ps) > 0 && key == app+"/"+ps[0].Conv {
				want = append(want, ps[0])
			}
		}
		slices.SortFunc(want, func(a, b gateway.Pending) int { return cmp.Compare(a.Conv, b.Conv) })
		m.same("heads of "+app, heads, want)
		for i := range heads {
			m.withRow(&heads[i])
		}
	}
	want := map[string]string{}
	for younger, older := range m.into {
		if m.draining(younger) {
			want[younger] = older
		}
	}
	got := map[string]string{}
	for _, x := range m.merges() {
		got[x.Conv] = x.Into
	}
	m.same("who waits for whom", got, want)
	dl, err := m.l.Dead(m.ctx, store.DeadQuery{Kind: "event", Limit: 10_000})
	m.must(err)
	m.same("open dead letters", len(dl), len(m.dead))
}
