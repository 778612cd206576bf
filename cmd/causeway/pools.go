package main

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"

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
	slices.SortStableFunc(members, func(x, y config.PoolAccount) int {
		return cmp.Compare(float64(y.Weight)*a.free(y.Name), float64(x.Weight)*a.free(x.Name))
	})
	s.Account = members[0].Name
	for _, m := range members {
		s.Pool = append(s.Pool, m.Name)
	}
	return nil
}

// free is how much an account may send just now, as a part of its pace.
func (a *app) free(string) float64 { return 1 }
