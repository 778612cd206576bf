package main

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
	"sync"

	"github.com/causewayhq/causeway/config"
	"github.com/causewayhq/causeway/gateway"
	"github.com/causewayhq/causeway/handlers/admin"
)

// fromPool turns a pool as the sender of a submission into its members, the one
// that should take a new customer first. A conversation that is named has its
// account already, as has a customer whom a member talks with: the ledger knows.
func (a *app) fromPool(ctx context.Context, s *gateway.Submission) error {
	name, isPool := strings.CutPrefix(s.Account, admin.PoolPrefix)
	if !isPool {
		return nil
	}
	i := slices.IndexFunc(a.o.Config.Pools, func(p config.Pool) bool { return p.Name == name })
	if i < 0 {
		return invalid("account", "is not the name of a pool in the configuration")
	}
	members := slices.Clone(a.o.Config.Pools[i].Accounts)
	if s.Conv != "" {
		c, err := a.ledger.Conversation(ctx, s.Conv, 1)
		switch {
		case errors.Is(err, gateway.ErrNotFound) || err == nil && !slices.ContainsFunc(members, func(m config.PoolAccount) bool { return m.Name == c.Account }):
			return invalid("conversation", "is none of this pool's accounts")
		case err != nil:
			return err
		}
		s.Account = c.Account
		return nil
	}
	s.Pool = a.turns.rank(name, members, a.sender.Free)
	s.Account = s.Pool[0] // by whose rules the request is checked
	return nil
}

// turns remembers of every pool whose turn it is.
type turns struct {
	mu   sync.Mutex
	owed map[string]map[string]float64 // by pool and account
}

// rank orders a pool's members, the one that should take the next new customer first:
// that which is owed most. With each choice every member is owed its free rate times
// its weight, and the chosen one pays for all, so that over many customers each has
// its part. Whoever has the most at a moment would get all that come in that moment.
// One of which nothing leaves comes last. What is owed is lost with the process; it
// is less than a round.
func (t *turns) rank(pool string, members []config.PoolAccount, free func(account string) float64) []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.owed == nil {
		t.owed = map[string]map[string]float64{}
	}
	was, owed, parts, sum := t.owed[pool], map[string]float64{}, map[string]float64{}, 0.0
	for _, m := range members {
		parts[m.Name] = free(m.Name) * float64(m.Weight)
		sum += parts[m.Name]
	}
	names := make([]string, len(members))
	for i, m := range members {
		names[i] = m.Name
		if sum > 0 {
			owed[m.Name] = was[m.Name] + parts[m.Name]/sum
		}
	}
	slices.SortStableFunc(names, func(x, y string) int {
		return cmp.Or(cmp.Compare(sign(parts[y]), sign(parts[x])), cmp.Compare(owed[y], owed[x]))
	})
	owed[names[0]]--
	t.owed[pool] = owed
	return names
}

func sign(f float64) int {
	if f > 0 {
		return 1
	}
	return 0
}
