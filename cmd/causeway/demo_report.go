package main

import (
	"context"
	"fmt"
	"slices"
)

// demoReport is what the demo found; --json prints it.
type demoReport struct {
	OK     bool          `json:"ok"`
	Scenes []sceneResult `json:"scenes"`
	// Kept are the equations as counted while running, Recounted the same
	// from the rows, Broken those that do not hold.
	Kept      []string    `json:"kept"`
	Recounted []string    `json:"recounted"`
	Broken    []string    `json:"broken"`
	Bot       demoMeasure `json:"bot"`
	Sends     demoSends   `json:"sends"`
	// Problems are the promises that did not hold, as sentences.
	Problems []string  `json:"problems"`
	Seconds  float64   `json:"seconds"`
	Keep     *demoKeep `json:"keep,omitempty"`
}

// demoSends is what the fake platforms' logs say about all send calls.
type demoSends struct {
	Calls    int `json:"calls"`
	Accepted int `json:"accepted"`
	Overlaps int `json:"overlaps"`
	Twice    int `json:"accepted_twice"`
}

// judge looks at the sums, the bot's counts and the platforms' logs when all is
// quiet, and decides whether every promise held.
func (r *demoRig) judge(ctx context.Context, scenes []sceneResult) demoReport {
	ctx, cancel := context.WithTimeoutCause(ctx, sceneLimit, errSceneLimit)
	defer cancel()
	out := demoReport{Scenes: scenes, Kept: []string{}, Recounted: []string{}, Broken: []string{}, Problems: []string{}}
	problem := func(format string, args ...any) { out.Problems = append(out.Problems, fmt.Sprintf(format, args...)) }
	for _, s := range scenes {
		if !s.OK {
			problem("scene %d: %s", s.N, s.Error)
		}
	}
	kept, err := r.quiet(ctx)
	if err != nil {
		problem("%s", err)
	}
	out.Kept, out.Broken = kept.Lines(), append(out.Broken, kept.Broken()...)
	switch recounted, err := r.api.RecountedSums(ctx); {
	case err != nil:
		problem("the rows could not be counted: %s", err)
	default:
		out.Recounted, out.Broken = recounted.Lines(), append(out.Broken, recounted.Broken()...)
		if !slices.Equal(out.Kept, out.Recounted) {
			problem("the counts kept while running are not those of the rows")
		}
	}
	for _, b := range out.Broken {
		problem("an equation does not hold: %s", b)
	}
	out.Bot = r.bot.measure()
	for _, w := range out.Bot.Wrong {
		problem("order: %s", w)
	}
	if out.Bot.Most > 1 {
		problem("%d events of one conversation were with the bot at once", out.Bot.Most)
	}
	out.Sends = r.sends()
	if out.Sends.Overlaps > 0 {
		problem("%s to one customer overlapped", amount(out.Sends.Overlaps, "pair of sends", "pairs of sends"))
	}
	if out.Sends.Twice > 0 {
		problem("%s taken twice by a platform", amount(out.Sends.Twice, "message was", "messages were"))
	}
	if kept.Messages.Accepted != int64(out.Sends.Accepted) || out.Sends.Accepted != out.Bot.Replies {
		problem("the bot gave %d replies, %d messages are accepted, the platforms took %d", out.Bot.Replies, kept.Messages.Accepted, out.Sends.Accepted)
	}
	out.OK = len(out.Problems) == 0
	return out
}

// sends adds up the logs of the platforms that the demo's accounts use.
func (r *demoRig) sends() demoSends {
	wa, wc := r.wa.CallLog().Summary(), r.wc.CallLog().Summary()
	return demoSends{
		Calls: wa.Calls + wc.Calls, Accepted: wa.Accepted + wc.Accepted,
		Overlaps: wa.Overlaps + wc.Overlaps, Twice: len(wa.Twice) + len(wc.Twice),
	}
}
