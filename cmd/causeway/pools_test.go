package main

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/causewayhq/causeway/config"
)

// New customers are shared out by free rate times weight; who can send nothing gets
// nobody while anybody can, and does not catch up afterwards. All members are named, so
// that a customer whom one of them talks with is found.
func TestPoolShares(t *testing.T) {
	members := func(weights ...int) (out []config.PoolAccount) {
		for i, w := range weights {
			out = append(out, config.PoolAccount{Name: string(rune('a' + i)), Weight: w})
		}
		return out
	}
	for name, c := range map[string]struct {
		members []config.PoolAccount
		free    []float64
		want    []float64 // part of the choices
	}{
		"alike":                      {members(1, 1), []float64{80, 80}, []float64{0.5, 0.5}},
		"by weight":                  {members(1, 3), []float64{80, 80}, []float64{0.25, 0.75}},
		"by what is free":            {members(1, 1, 1), []float64{20, 60, 120}, []float64{0.1, 0.3, 0.6}},
		"by both":                    {members(3, 1), []float64{20, 60}, []float64{0.5, 0.5}},
		"one is not well":            {members(9, 1, 1), []float64{0, 80, 80}, []float64{0, 0.5, 0.5}},
		"one alone is well":          {members(1, 1), []float64{0, 1e-9}, []float64{0, 1}},
		"none is well: by the order": {members(1, 1), []float64{0, 0}, []float64{1, 0}},
		"none is well, three":        {members(1, 5, 9), []float64{0, 0, 0}, []float64{1, 0, 0}},
		"one member":                 {members(1), []float64{80}, []float64{1}},
		"far apart":                  {members(1, 100), []float64{1, 1000}, []float64{0, 1}},
	} {
		t.Run(name, func(t *testing.T) {
			var turns turns
			free := func(account string) float64 { return c.free[account[0]-'a'] }
			const rounds = 1000
			got := make([]float64, len(c.members))
			for range rounds {
				names := turns.rank("p", c.members, free)
				if all := slices.Sorted(slices.Values(names)); len(slices.Compact(all)) != len(c.members) {
					t.Fatalf("ranked %v", names)
				}
				got[names[0][0]-'a'] += 1.0 / rounds
			}
			for i := range got {
				if math.Abs(got[i]-c.want[i]) > 0.002 {
					t.Errorf("member %d got %.3f, want %.3f", i, got[i], c.want[i])
				}
			}
		})
	}
}

// Choices follow at once what becomes of the members, and turns are even within a few
// choices, not only at last. Pools do not know of each other.
func TestPoolFollows(t *testing.T) {
	var turns turns
	free := map[string]float64{"a": 80, "b": 80, "c": 80}
	pool := []config.PoolAccount{{Name: "a", Weight: 1}, {Name: "b", Weight: 1}, {Name: "c", Weight: 2}}
	choose := func(n int, pool string, members []config.PoolAccount) string {
		got := map[string]int{}
		for range n {
			got[turns.rank(pool, members, func(a string) float64 { return free[a] })[0]]++
		}
		return fmt.Sprint(got["a"], got["b"], got["c"])
	}
	for i, c := range []struct {
		a, b, c float64
		n       int
		want    string
	}{
		{80, 80, 80, 4, "1 1 2"}, {80, 80, 80, 8, "2 2 4"},
		{80, 80, 0, 40, "20 20 0"}, // c is refused
		{80, 80, 80, 4, "1 1 2"},   // it is well again, and gets no more than its part
		{80, 0, 0, 7, "7 0 0"}, {0, 0, 0, 3, "3 0 0"}, {80, 80, 80, 8, "2 2 4"},
	} {
		free["a"], free["b"], free["c"] = c.a, c.b, c.c
		if got := choose(c.n, "p", pool); got != c.want {
			t.Errorf("step %d: %d choices are %s, want %s", i, c.n, got, c.want)
		}
		if i == 1 {
			if got := choose(4, "another", pool[:2]); got != "2 2 0" {
				t.Errorf("another pool: %s", got)
			}
		}
	}
}

// A member that left the configuration is forgotten, a new one begins with its part.
func TestPoolMembersChange(t *testing.T) {
	var turns turns
	free := func(string) float64 { return 80 }
	ab := []config.PoolAccount{{Name: "a", Weight: 1}, {Name: "b", Weight: 1}}
	for range 7 {
		turns.rank("p", ab, free)
	}
	got := map[string]int{}
	for range 100 {
		got[turns.rank("p", []config.PoolAccount{{Name: "b", Weight: 1}, {Name: "new", Weight: 1}}, free)[0]]++
	}
	if math.Abs(float64(got["b"]-got["new"])) > 2 || got["a"] != 0 {
		t.Errorf("%v", got)
	}
	if n := len(turns.owed["p"]); n != 2 {
		t.Errorf("%d members are remembered, want 2", n)
	}
}
