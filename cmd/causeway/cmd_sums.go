package main

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"
)

// sumsCommand shows the equations of promise 2, kept and recounted.
func (c *cli) sumsCommand() *cobra.Command {
	var quick bool
	cmd := &cobra.Command{
		Use:   "sums",
		Short: "Show the conservation sums: nothing vanishes",
		Long: `Show the conservation sums: every payload, item, event and message is in exactly
one state. Kept counts are written with each change; recounted ones count the rows
themselves, which may take minutes with millions of them; --quick leaves that out.

Exit code 1 when an equation does not hold. Kept and recounted may differ by what
moved between the two; a difference that stays is a fault.`,
		Example: "  causeway sums\n  causeway sums --quick --json",
		Args:    cobra.NoArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return c.sums(cmd, quick) },
	}
	cmd.Flags().BoolVar(&quick, "quick", false, "kept counts only")
	return cmd
}

func (c *cli) sums(cmd *cobra.Command, quick bool) error {
	a, err := c.adminClient()
	if err != nil {
		return err
	}
	q := query("recount", "1")
	if quick {
		q = nil
	}
	raw, err := a.get(cmd.Context(), q, "sums")
	if err != nil {
		return err
	}
	var v sumsView
	if err := json.Unmarshal(raw, &v); err != nil {
		return errShape()
	}
	if err := c.print(raw, func(w io.Writer) { printSums(w, v) }); err != nil {
		return failed(err)
	}
	var broken []string
	for _, set := range v.sets() {
		for _, sentence := range set.sums.Broken {
			broken = append(broken, set.name+" "+printable(sentence, 300))
		}
	}
	if len(broken) > 0 {
		return failed(fmt.Errorf("a promise does not hold: %s", strings.Join(broken, "; ")))
	}
	return nil
}

// sumsSet is one counting, with its equations as sentences.
type sumsSet struct {
	Broken []string `json:"broken"`
	Lines  []string `json:"lines"`
}

type sumsView struct {
	Kept      sumsSet          `json:"kept"`
	Recounted *sumsSet         `json:"recounted"`
	Counters  map[string]int64 `json:"counters"`
}

type namedSums struct {
	name string
	sums sumsSet
}

func (v sumsView) sets() []namedSums {
	out := []namedSums{{"kept", v.Kept}}
	if v.Recounted != nil {
		out = append(out, namedSums{"recounted", *v.Recounted})
	}
	return out
}

// printSums prints the equations once when both countings agree.
func printSums(w io.Writer, v sumsView) {
	sets := v.sets()
	if len(sets) == 2 && slices.Equal(v.Kept.Lines, v.Recounted.Lines) {
		_, _ = fmt.Fprintln(w, "kept and recounted, the same")
		sets = sets[:1]
	} else {
		_, _ = fmt.Fprintln(w, sets[0].name)
	}
	for i, set := range sets {
		if i > 0 {
			_, _ = fmt.Fprintf(w, "\n%s: it differs by what moved meanwhile; if the gateway is at rest, it is a fault\n", set.name)
		}
		for _, line := range set.sums.Lines {
			what, rest, _ := strings.Cut(printable(line, 0), " ")
			wrap(w, fmt.Sprintf("  %-10s", what), rest)
		}
		for _, sentence := range set.sums.Broken {
			wrap(w, "  BROKEN    ", printable(sentence, 0))
		}
	}
	var counters []string
	for _, name := range slices.Sorted(maps.Keys(v.Counters)) {
		if n := v.Counters[name]; n != 0 {
			counters = append(counters, fmt.Sprintf("%s %d", printable(name, 40), n))
		}
	}
	if len(counters) > 0 {
		_, _ = fmt.Fprintln(w)
		wrap(w, "besides     ", strings.Join(counters, ", "))
	}
}
