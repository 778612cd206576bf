package main

import (
	"slices"
	"sync"
	"time"

	"github.com/causewayhq/causeway/gateway"
)

// activity is what this process saw of the applications' workers: how many events
// were settled in each of the last seconds, and which builds answered. It is only
// looked at, so nothing of it is kept over a restart.
type activity struct {
	now   func() time.Time
	begun time.Time

	mu   sync.Mutex
	apps map[string]*appActivity
}

const (
	rateSeconds = 60
	buildsKept  = 8
	buildAge    = 10 * time.Minute
)

type appActivity struct {
	seconds [rateSeconds]struct{ at, settled int64 }
	builds  []seenBuild // latest first
}

type seenBuild struct {
	name string
	at   time.Time
}

func newActivity(now func() time.Time) *activity {
	return &activity{now: now, begun: now(), apps: map[string]*appActivity{}}
}

// settled takes what answers did.
func (a *activity) settled(list []gateway.Settled) {
	now := a.now()
	a.mu.Lock()
	defer a.mu.Unlock()
	for i := range list {
		s := &list[i]
		if s.Late { // of any application, or none
			continue
		}
		app := a.apps[s.App]
		if app == nil {
			app = new(appActivity)
			a.apps[s.App] = app
		}
		if s.Decision.State == gateway.EventSettled {
			slot := &app.seconds[now.Unix()%rateSeconds]
			if slot.at != now.Unix() {
				slot.at, slot.settled = now.Unix(), 0
			}
			slot.settled += 1 + int64(len(s.Also))
		}
		app.saw(s.Build, now)
	}
}

// saw puts a build in front.
func (p *appActivity) saw(build string, now time.Time) {
	if build == "" {
		return
	}
	i := slices.IndexFunc(p.builds, func(b seenBuild) bool { return b.name == build })
	switch {
	case i == 0:
	case i > 0:
		p.builds = slices.Delete(p.builds, i, i+1)
		fallthrough
	default:
		p.builds = slices.Insert(p.builds, 0, seenBuild{name: build})
	}
	p.builds[0].at = now
	p.builds = p.builds[:min(len(p.builds), buildsKept)]
}

// of is an application's rate over the last minute, or since the process began, and
// the builds that answered of late.
func (a *activity) of(name string) (rate float64, builds []string) {
	now := a.now()
	a.mu.Lock()
	defer a.mu.Unlock()
	builds = []string{}
	app := a.apps[name]
	if app == nil {
		return 0, builds
	}
	var n int64
	for _, s := range app.seconds {
		if now.Unix()-s.at < rateSeconds {
			n += s.settled
		}
	}
	for _, b := range app.builds {
		if now.Sub(b.at) < buildAge {
			builds = append(builds, b.name)
		}
	}
	span := min(max(now.Sub(a.begun).Seconds(), 1), rateSeconds)
	return float64(n) / span, builds
}
