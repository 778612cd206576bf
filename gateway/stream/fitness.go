package stream

import (
	"context"
	"fmt"
	"strconv"
	"strings"
)

// leastVersion is the first server that can hold a consumer (2.11: pause) and list
// offers by a direct get of many.
const leastVersion = "2.11.0"

// Complaint is something about servers outside that an operator should mend.
type Complaint struct {
	What, Name, Do string
	// Grave: what is handed out is in danger, now or at the next loss of a server.
	Grave bool
}

// Complaints asks the broker whether it fits: its version, the limits of the account,
// and whether every stream has the copies it should have. Used by doctor. A broker that
// does not answer gives none, since Health says so.
func (s *Streams) Complaints(ctx context.Context) []Complaint {
	ctx, cancel := context.WithTimeout(ctx, apiWait)
	defer cancel()
	var list []Complaint
	if v := s.nc.ConnectedServerVersion(); v != "" && older(v, leastVersion) {
		list = append(list, Complaint{What: "NATS is version " + v, Name: "nats", Do: "update the servers to " + leastVersion + " or newer", Grave: true})
	}
	list = append(list, s.account(ctx)...)
	return append(list, s.copies(ctx)...)
}

// account compares the account's limits with what our streams reserve; -1 and 0 are
// no limit.
func (s *Streams) account(ctx context.Context) (list []Complaint) {
	info, err := s.js.AccountInfo(ctx)
	if err != nil {
		return nil
	}
	s.mu.Lock()
	need, streams := int64(0), len(s.parts)
	for _, p := range s.parts {
		need += max(p.stream.MaxBytes, 0) * int64(s.opts.Replicas)
	}
	s.mu.Unlock()
	limits := info.Limits
	if tier, ok := info.Tiers["R"+strconv.Itoa(s.opts.Replicas)]; ok {
		limits = tier.Limits
	}
	add := func(what, do string) {
		list = append(list, Complaint{What: what, Name: "nats", Do: do, Grave: true})
	}
	if limits.MaxStore > 0 && limits.MaxStore < need {
		add(fmt.Sprintf("the account may store %d MiB, and the streams reserve %d MiB", limits.MaxStore>>20, need>>20), "raise the storage limit of the account")
	}
	if limits.MaxStreams > 0 && limits.MaxStreams < streams {
		add(fmt.Sprintf("the account may have %d streams, and %d are needed", limits.MaxStreams, streams), "raise the number of streams of the account")
	}
	return list
}

// copies looks at the replicas of every stream.
func (s *Streams) copies(ctx context.Context) (list []Complaint) {
	for _, name := range s.names() {
		str, err := s.js.Stream(ctx, name)
		if err != nil {
			continue
		}
		c := str.CachedInfo().Cluster
		want := s.part(name)
		if c == nil || want == nil {
			continue
		}
		current := 0
		if c.Leader != "" {
			current++
		}
		var behind []string
		for _, r := range c.Replicas {
			if r.Current && !r.Offline {
				current++
			} else {
				behind = append(behind, r.Name)
			}
		}
		if current < want.stream.Replicas {
			what := fmt.Sprintf("%d of %d copies of the stream are current", current, want.stream.Replicas)
			if len(behind) > 0 {
				what += "; not at " + strings.Join(behind, ", ")
			}
			list = append(list, Complaint{What: what, Name: name, Do: "bring the NATS servers back, or let the stream have other ones",
				Grave: 2*current <= want.stream.Replicas})
		}
	}
	return list
}

// older compares versions as 2.11.0; what follows a hyphen does not count.
func older(v, than string) bool {
	a, b := numbers(v), numbers(than)
	for i := range a {
		if a[i] != b[i] {
			return a[i] < b[i]
		}
	}
	return false
}

func numbers(v string) (n [3]int) {
	v, _, _ = strings.Cut(v, "-")
	for i, part := range strings.SplitN(v, ".", len(n)) {
		n[i], _ = strconv.Atoi(part) // what is no number is 0
	}
	return n
}
