package server

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/cronring/cronring/daemon/api"
	"github.com/cronring/cronring/daemon/job"
)

// Bounds of what statistics look at.
const (
	usualStats = 30 * 24 * time.Hour
	statsRuns  = 1_000_000
	guestRuns  = 100_000 // for accounts that are not keepers
	statsSkips = 100_000
)

// stats sums up what runs came to.
func (s *Server) stats(ctx context.Context, c *call) error {
	t, err := s.newTally(ctx, c)
	if err != nil {
		return err
	}
	if err := t.read(ctx); err != nil {
		return fmt.Errorf("read history: %w", err)
	}
	return c.answer(t.told())
}

// tally is statistics as they are made.
type tally struct {
	s      *Server
	c      *call
	answer api.Stats
	zone   *time.Location
	host   string
	jobs   []job.ID          // those asked about; nil: all
	most   int               // runs
	users  map[job.ID]string // whose those are that the caller sees
	grace  map[job.ID]time.Duration
	groups map[string]*sum
	all    sum
	seen   int
}

func (s *Server) newTally(ctx context.Context, c *call) (*tally, error) {
	since, until, err := c.period("since", "until")
	if err != nil {
		return nil, err
	}
	if until.IsZero() {
		until = c.now
	}
	if since.IsZero() {
		since = until.Add(-usualStats)
	}
	by := cmp.Or(c.query.Get("by"), "job")
	if !slices.Contains([]string{"job", "user", "hour", "node"}, by) {
		return nil, badRequest(fmt.Sprintf("statistics are not kept by %q", by), "it is one of job, user, hour, node")
	}
	h := s.backend.Health()
	t := &tally{
		s: s, c: c, zone: zoneOf(h.Zone), host: h.Host, users: map[job.ID]string{}, grace: map[job.ID]time.Duration{}, groups: map[string]*sum{},
		answer: api.Stats{V: api.Version, Since: since, Until: until, By: by, Zone: h.Zone},
	}
	return t, t.choose(ctx)
}

// zoneOf is the host's zone; UTC if it has none of that name.
func zoneOf(name string) *time.Location {
	if zone, err := time.LoadLocation(name); err == nil {
		return zone
	}
	return time.UTC
}

// choose finds the requested jobs. For admins who request all, jobs that are no longer installed
// count too.
func (t *tally) choose(ctx context.Context) error {
	jobs := t.c.visible()
	if refs := t.c.query["job"]; len(refs) > 0 {
		var err error
		if jobs, err = t.s.resolve(ctx, t.c, "stats", refs); err != nil {
			return err
		}
		t.jobs = []job.ID{}
	}
	if t.most = statsRuns; !t.c.peer.keeper {
		t.jobs, t.most = []job.ID{}, guestRuns
	}
	for _, i := range jobs {
		id, e := t.c.view.ID(i), t.c.view.Entry(i)
		t.users[id], t.grace[id] = e.User(), e.Options().Grace
		if t.jobs != nil {
			t.jobs = append(t.jobs, id)
		}
	}
	return nil
}

func (t *tally) read(ctx context.Context) error {
	a := &t.answer
	oldest := a.Until
	end := a.Until
	if end.Equal(t.c.now) { // what is decided now is part of it
		end = end.Add(1)
	}
	err := t.s.store.Between(ctx, t.jobs, a.Since, end, t.most, func(r *job.Run) {
		t.seen++
		oldest = r.Decided
		if t.c.seesRun(*r) {
			t.take(r)
		}
	})
	if err != nil {
		return err
	}
	if t.seen == t.most { // more ran than is looked at
		a.Since = oldest
	}
	skip := func(r job.Record) {
		if user, ok := t.users[r.Job]; ok && t.c.seesDecision(r) {
			n := max(1, r.Count)
			t.all.group.Skipped += n
			t.group(r.Job, user, r.Due).group.Skipped += n
		}
	}
	if t.jobs != nil {
		return t.s.eachSkip(ctx, t.c, t.jobs, a.Since, end, statsSkips, skip)
	}
	return t.s.store.CountSkips(ctx, a.Since, end, statsSkips, skip)
}

func (t *tally) take(r *job.Run) {
	grace := t.grace[r.Job]
	t.all.add(r, grace)
	t.group(r.Job, r.User, r.Due).add(r, grace)
}

// group returns the group of an occurrence.
func (t *tally) group(id job.ID, user string, due time.Time) *sum {
	name := string(id)
	switch t.answer.By {
	case "user":
		name = user
	case "hour":
		name = due.In(t.zone).Format("15")
	case "node":
		name = t.host
	}
	g, ok := t.groups[name]
	if !ok {
		g = &sum{}
		t.groups[name] = g
	}
	return g
}

// told returns the answer: hours in their order, and other groups by total time.
func (t *tally) told() api.Stats {
	a := t.answer
	a.Groups = make([]api.StatsGroup, 0, len(t.groups))
	for name, g := range t.groups {
		if told := g.told(name); told.Runs+told.Skipped > 0 {
			a.Groups = append(a.Groups, told)
		}
	}
	slices.SortFunc(a.Groups, func(x, y api.StatsGroup) int {
		if a.By != "hour" {
			if c := cmp.Compare(y.Time, x.Time); c != 0 {
				return c
			}
		}
		return cmp.Compare(x.Name, y.Name)
	})
	a.All = t.all.told("")
	return a
}

// sum adds up runs.
type sum struct {
	group api.StatsGroup
	late  int
	took  []time.Duration
	lags  []time.Duration
}

// add counts an ended run. If another attempt follows, the run is not a failure of its own, but its
// time was wasted.
func (s *sum) add(r *job.Run, grace time.Duration) {
	if r.State != job.RunEnded {
		return
	}
	g := &s.group
	switch {
	case r.OK():
		g.Runs, g.OK = g.Runs+1, g.OK+1
	case r.Failed() && r.Verdict != job.VerdictRetry:
		g.Runs, g.Failed = g.Runs+1, g.Failed+1
	}
	if r.Started.IsZero() {
		return
	}
	took := max(0, r.Ended.Sub(r.Started))
	s.took = append(s.took, took)
	g.Time, g.CPU, g.Memory = g.Time+took, g.CPU+r.Usage.CPU, max(g.Memory, r.Usage.Memory)
	if r.Failed() {
		g.Waste += took
	}
	if lag := r.Started.Sub(r.Due); r.Trigger == job.TriggerClock && lag <= grace {
		s.lags = append(s.lags, lag)
	} else if r.Trigger == job.TriggerClock {
		s.late++
	}
}

// told returns the statistics of a group with its name.
func (s *sum) told(name string) api.StatsGroup {
	g := s.group
	g.Name, g.P50, g.P95, g.Max, g.LagP99 = name, quantile(s.took, 50), quantile(s.took, 95), quantile(s.took, 100), quantile(s.lags, 99)
	return g
}

// quantile returns the smallest value that so many percent do not exceed. It puts
// values in another order, but does not sort all of a million.
func quantile(values []time.Duration, percent int) time.Duration {
	if len(values) == 0 {
		return 0
	}
	k, low, high := max(0, (len(values)*percent+99)/100-1), 0, len(values)-1
	for low < high {
		pivot, i, j := values[low+rand.IntN(high-low+1)], low, high
		for i <= j {
			for values[i] < pivot {
				i++
			}
			for values[j] > pivot {
				j--
			}
			if i <= j {
				values[i], values[j] = values[j], values[i]
				i, j = i+1, j-1
			}
		}
		switch {
		case k <= j:
			high = j
		case k >= i:
			low = i
		default:
			return values[k]
		}
	}
	return values[k]
}
