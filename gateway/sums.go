package gateway

import (
	"fmt"
	"maps"
	"slices"
)

// Sums are the numbers of promise 2, each counted by itself.
type Sums struct {
	Payloads struct {
		Archived, Relayed, Duplicate, Ignored, Sealed, Dead, Pending int64
	}
	Items struct {
		Decoded, Events, Duplicate, Ignored, Dead int64
	}
	Apps     map[string]AppSums
	Messages struct {
		Taken, Accepted, Rejected, Unknown, Expired, Cancelled, Waiting, Held int64
	}
	// Media are the files that events refer to and we fetch.
	Media struct {
		Wanted, Ready, Unavailable, Pending int64
	}
}

// AppSums are the sums of one application.
type AppSums struct{ Wanted, Settled, Dead, Dropped, Erased, Pending int64 }

// AppCounts are what is counted of an application beside its sums, for ever: tries
// spent, answers to events that were settled by then, and those among them of which
// the watchdog had taken the event away.
type AppCounts struct{ Tries, Late, Overrun int64 }

// Broken returns a sentence for every equation that does not hold; none means
// that nothing vanished.
func (s *Sums) Broken() []string {
	var out []string
	check := func(name string, left, right int64) {
		if left != right {
			out = append(out, fmt.Sprintf("%s: %d on one side, %d on the other", name, left, right))
		}
	}
	p := s.Payloads
	check("payloads archived = relayed + duplicate + ignored + sealed + dead + pending",
		p.Archived, p.Relayed+p.Duplicate+p.Ignored+p.Sealed+p.Dead+p.Pending)
	i := s.Items
	check("items decoded = events + duplicate + ignored + dead", i.Decoded, i.Events+i.Duplicate+i.Ignored+i.Dead)
	for _, name := range slices.Sorted(maps.Keys(s.Apps)) {
		a := s.Apps[name]
		check("events of "+name+": wanted = settled + dead + dropped + erased + pending",
			a.Wanted, a.Settled+a.Dead+a.Dropped+a.Erased+a.Pending)
	}
	m := s.Messages
	check("messages taken = accepted + rejected + unknown + expired + cancelled + waiting + held",
		m.Taken, m.Accepted+m.Rejected+m.Unknown+m.Expired+m.Cancelled+m.Waiting+m.Held)
	f := s.Media
	check("media wanted = ready + unavailable + pending", f.Wanted, f.Ready+f.Unavailable+f.Pending)
	return out
}

// Lines renders the equations with their numbers, for the demo and doctor.
func (s *Sums) Lines() []string {
	p, i, m := s.Payloads, s.Items, s.Messages
	out := []string{
		fmt.Sprintf("payloads  archived %d = relayed %d + duplicate %d + ignored %d + sealed %d + dead %d + pending %d",
			p.Archived, p.Relayed, p.Duplicate, p.Ignored, p.Sealed, p.Dead, p.Pending),
		fmt.Sprintf("items     decoded %d = events %d + duplicate %d + ignored %d + dead %d",
			i.Decoded, i.Events, i.Duplicate, i.Ignored, i.Dead),
	}
	for _, name := range slices.Sorted(maps.Keys(s.Apps)) {
		a := s.Apps[name]
		out = append(out, fmt.Sprintf("events    %s: wanted %d = settled %d + dead %d + dropped %d + erased %d + pending %d",
			name, a.Wanted, a.Settled, a.Dead, a.Dropped, a.Erased, a.Pending))
	}
	if f := s.Media; f.Wanted > 0 {
		out = append(out, fmt.Sprintf("media     wanted %d = ready %d + unavailable %d + pending %d", f.Wanted, f.Ready, f.Unavailable, f.Pending))
	}
	return append(out, fmt.Sprintf("messages  taken %d = accepted %d + rejected %d + unknown %d + expired %d + cancelled %d + waiting %d + held %d",
		m.Taken, m.Accepted, m.Rejected, m.Unknown, m.Expired, m.Cancelled, m.Waiting, m.Held))
}
