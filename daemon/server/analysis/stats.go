package analysis

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/cronring/cronring/daemon/api"
	"github.com/cronring/cronring/daemon/job"
	"github.com/cronring/cronring/daemon/server/call"
	"github.com/cronring/cronring/daemon/store/statistics"
)

// Samples reads very many runs and skips.
type Samples interface {
	JobNumbers(ctx context.Context) ([]job.ID, error)
	Samples(ctx context.Context, jobs []job.ID, from, to time.Time, n int, f func(*statistics.Sample)) error
	SkipSamples(ctx context.Context, from, to time.Time, f func(*statistics.SkipSample)) error
	SkipsFrom(ctx context.Context, from, to time.Time, n int) (time.Time, error)
}

// Bounds of what statistics look at.
const (
	usualStats   = 30 * 24 * time.Hour
	statsRuns    = 600_000
	nonAdminRuns = 100_000 // for users who are not admins
	StatsSkips   = 100_000 // of all jobs, or of each that is named
)

// Stats sums up what runs came to.
func (s *Analyst) Stats(ctx context.Context, c *call.Call) error {
	t, err := s.newTally(ctx, c)
	if err != nil {
		return err
	}
	if err := t.read(ctx); err != nil {
		return fmt.Errorf("read history: %w", err)
	}
	return c.Answer(t.summary())
}

// tally is statistics as they are made.
type tally struct {
	s      *Analyst
	c      *call.Call
	answer api.Stats
	zone   *time.Location
	host   string
	jobs   []job.ID          // those asked about; nil: all
	most   int               // runs
	users  map[job.ID]string // whose those are that the caller sees
	grace  map[job.ID]time.Duration
	groups map[string]*sum
	oldest int64 // when the oldest of the counted runs was decided
	seen   int

	// By the number of a sample, so that a run needs no look-up by name.
	names []job.ID
	jobOf []tallied

	minute int64 // since 1970, of the newest look-up of an hour or day
	ofTime *sum

	// How the newest sample ended: many in a row end alike.
	kind *statistics.SampleKind
	code int
	how  result
}

// tallied is a job as statistics see it.
type tallied struct {
	user  string
	sees  bool // whether it is installed, and the caller sees it
	grace time.Duration
	group *sum // if groups are jobs
}

func (s *Analyst) newTally(ctx context.Context, c *call.Call) (*tally, error) {
	since, until, err := c.Period("since", "until")
	if err != nil {
		return nil, err
	}
	if until.IsZero() {
		until = c.Now
	}
	if since.IsZero() {
		since = until.Add(-usualStats)
	}
	by := cmp.Or(c.Query.Get("by"), "job")
	if !slices.Contains([]string{"job", "user", "hour", "day", "member"}, by) {
		return nil, call.BadRequest(fmt.Sprintf("statistics are not kept by %q", by), "it is one of job, user, hour, day, member")
	}
	h := s.daemon.Health()
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
	jobs, err := t.s.find.Requested(ctx, t.c, "report stats")
	if err != nil {
		return err
	}
	if t.most = statsRuns; !t.c.Peer.Admin {
		t.most = nonAdminRuns
	}
	if !t.c.Peer.Admin || len(t.c.Query["job"]) > 0 {
		t.jobs = t.c.IDs(jobs)
	}
	for _, i := range jobs {
		id, e := t.c.View.ID(i), t.c.View.Entry(i)
		t.users[id], t.grace[id] = e.User(), e.Options().Grace
	}
	return nil
}

// read reads the newest runs and skips. If there are more than statistics count, they begin later.
func (t *tally) read(ctx context.Context) (err error) {
	a := &t.answer
	end := a.Until
	if end.Equal(t.c.Now) { // what is decided now is part of it
		end = end.Add(1)
	}
	if t.names, err = t.s.store.JobNumbers(ctx); err != nil {
		return err
	}
	t.jobOf = make([]tallied, len(t.names))
	for n, id := range t.names {
		user, sees := t.users[id]
		t.jobOf[n] = tallied{user: user, sees: sees, grace: t.grace[id]}
	}
	var skips []statistics.SkipSample // read beside the runs
	skipsRead := make(chan error, 1)
	if t.jobs == nil {
		if a.Since, err = t.s.store.SkipsFrom(ctx, a.Since, end, StatsSkips); err != nil {
			return err
		}
		go func(since time.Time) {
			skipsRead <- t.s.store.SkipSamples(ctx, since, end, func(r *statistics.SkipSample) { skips = append(skips, *r) })
		}(a.Since)
	}
	if err := t.s.store.Samples(ctx, t.jobs, a.Since, end, t.most, t.take); err != nil {
		return err
	}
	if t.seen == t.most {
		a.Since = time.Unix(0, t.oldest).UTC()
	}
	if t.jobs == nil {
		if err := <-skipsRead; err != nil {
			return err
		}
		for _, r := range skips {
			if r.At >= a.Since.UnixNano() && r.Number < len(t.jobOf) && t.jobOf[r.Number].sees {
				t.group(r.Number, t.jobOf[r.Number].user, r.Due).group.Skipped += r.Count
			}
		}
		return nil
	}
	numbers := make(map[job.ID]int, len(t.names))
	for n, id := range t.names {
		numbers[id] = n
	}
	return t.s.find.EachSkip(ctx, t.c, t.jobs, a.Since, end, StatsSkips, func(r job.Record) {
		if n, ok := numbers[r.Job]; ok && t.jobOf[n].sees {
			t.group(n, t.jobOf[n].user, r.Due.UnixNano()).group.Skipped += max(1, r.Count)
		}
	})
}

func (t *tally) take(r *statistics.Sample) {
	t.seen++
	t.oldest = r.Decided
	if r.Kind.State != job.RunEnded || r.Number >= len(t.names) || !t.c.Peer.Sees(r.Kind.User) && (!t.jobOf[r.Number].sees || t.jobOf[r.Number].user != r.Kind.User) {
		return
	}
	when := r.Due
	if when == statistics.NoTime { // a person started it
		when = r.Decided
	}
	t.group(r.Number, r.Kind.User, when).add(t.result(r), t.jobOf[r.Number].grace)
}

func (t *tally) result(r *statistics.Sample) result {
	if r.Kind != t.kind || r.Code != t.code {
		t.kind, t.code = r.Kind, r.Code
		how := job.Run{Verdict: r.Kind.Verdict, Outcome: job.Outcome{Kind: r.Kind.Outcome, Code: r.Code}, Trigger: r.Kind.Trigger}
		t.how = resultOf(&how)
	}
	e := t.how
	if e.started = r.Started != statistics.NoTime; e.started {
		e.took = time.Duration(max(r.Ended, r.Started) - r.Started)
		e.lag, e.cpu, e.memory = time.Duration(r.Started-r.Due), r.CPU, r.Memory
	}
	return e
}

// timeForms are the names of groups that are times, in their order.
var timeForms = map[string]string{"hour": "15", "day": time.DateOnly}

// group returns the group of an occurrence of a job, which is due at a time in nanoseconds since
// 1970.
func (t *tally) group(number int, user string, due int64) *sum {
	switch t.answer.By {
	case "user":
		return t.named(user)
	case "hour", "day":
		if minute := due / int64(time.Minute); t.ofTime == nil || minute != t.minute {
			t.minute, t.ofTime = minute, t.named(time.Unix(0, due).In(t.zone).Format(timeForms[t.answer.By]))
		}
		return t.ofTime
	case "member":
		return t.named(t.host)
	}
	k := &t.jobOf[number]
	if k.group == nil {
		k.group = t.named(string(t.names[number]))
	}
	return k.group
}

func (t *tally) named(name string) *sum {
	g, ok := t.groups[name]
	if !ok {
		g = &sum{}
		t.groups[name] = g
	}
	return g
}

// summary returns the answer: hours and days in their order, and other groups by total time.
func (t *tally) summary() api.Stats {
	a := t.answer
	a.Groups = make([]api.StatsGroup, 0, len(t.groups))
	all, whole := t.all(), make(chan api.StatsGroup, 1)
	go func() { whole <- all.result("") }()
	for name, g := range t.groups {
		if told := g.result(name); told.Runs+told.Skipped > 0 {
			a.Groups = append(a.Groups, told)
		}
	}
	slices.SortFunc(a.Groups, func(x, y api.StatsGroup) int {
		if timeForms[a.By] == "" {
			if c := cmp.Compare(y.Time, x.Time); c != 0 {
				return c
			}
		}
		return cmp.Compare(x.Name, y.Name)
	})
	a.All = <-whole
	return a
}

// all sums up the groups.
func (t *tally) all() (all sum) {
	took, lags := make([][]time.Duration, 0, len(t.groups)), make([][]time.Duration, 0, len(t.groups))
	a := &all.group
	for _, s := range t.groups {
		g := &s.group
		a.Runs, a.OK, a.Failed, a.Skipped = a.Runs+g.Runs, a.OK+g.OK, a.Failed+g.Failed, a.Skipped+g.Skipped
		a.Time, a.CPU, a.Waste, a.Memory = a.Time+g.Time, a.CPU+g.CPU, a.Waste+g.Waste, max(a.Memory, g.Memory)
		took, lags = append(took, s.took), append(lags, s.lags)
	}
	all.took, all.lags = slices.Concat(took...), slices.Concat(lags...)
	return all
}
