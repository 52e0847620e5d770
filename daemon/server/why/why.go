package why

import (
	"context"
	"fmt"
	"time"

	"github.com/cronring/cronring/crontab"
	"github.com/cronring/cronring/crontab/timetable"
	"github.com/cronring/cronring/daemon/api"
	"github.com/cronring/cronring/daemon/job"
	"github.com/cronring/cronring/daemon/server/call"
	"github.com/cronring/cronring/daemon/server/lookup"
	"github.com/cronring/cronring/daemon/server/members"
	"github.com/cronring/cronring/daemon/store"
)

// Store is the history, as far as explanations need it.
type Store interface {
	Run(ctx context.Context, id job.RunID) (job.Run, bool, error)
	Recent(ctx context.Context, jobs []job.ID, n int) (map[job.ID][]job.Run, error)
	Records(ctx context.Context, from, to time.Time, limit int) ([]job.Record, error)
	Lives(ctx context.Context, from, to time.Time) ([]store.Life, error)
}

// Explainer explains what became of an occurrence.
type Explainer struct {
	store  Store
	find   *lookup.Searcher
	health func() api.Health
	ring   members.Ring
	fault  func(job.Owned) string
}

// New returns an explainer. health returns the health of the daemon, and fault why
// the files of a job with on=file: are not watched, or "".
func New(s Store, find *lookup.Searcher, health func() api.Health, ring members.Ring, fault func(job.Owned) string) *Explainer {
	return &Explainer{s, find, health, ring, fault}
}

// Answer explains the occurrence that a request is about.
func (x *Explainer) Answer(ctx context.Context, c *call.Call) error {
	i, err := x.find.Only(ctx, c, "why", c.Query.Get("job"))
	if err != nil {
		return err
	}
	at, err := occurrenceTime(c, i)
	if err != nil {
		return err
	}
	ev, err := x.gather(ctx, c, i, at)
	if err != nil {
		return err
	}
	again, err := x.again(ctx, c, ev)
	if err != nil {
		return err
	}
	return c.Answer(ev.explain(again))
}

// occurrenceTime reads the time of the occurrence, which is zero if none is given.
func occurrenceTime(c *call.Call, i int) (time.Time, error) {
	text := c.Query.Get("at")
	if text == "" {
		return time.Time{}, nil
	}
	at, _, ok := lookup.Span(c.View.Entry(i), text)
	if !ok {
		return at, call.BadRequest(fmt.Sprintf("at=%q is not a time", text),
			"it must look like 2026-03-01T02:30 (in the entry's zone) or 2026-03-01T02:30:00Z")
	}
	return timetable.Range(at.UTC()), nil
}

// evidence is all that is known about one occurrence of a job.
type evidence struct {
	job     job.Job
	entry   *crontab.Entry
	now     time.Time
	host    string
	hold    *job.Hold
	ack     *job.Ack
	barred  job.Reason // why nothing may start as its account, or ""
	next    time.Time
	live    *job.Run // the oldest live run, after whose end delay= counts; nil: there is none
	foreign bool     // there is no daemon: another cron runs the job
	stops   bool     // the daemon is about to end
	fault   string   // why its files are not watched, or ""

	counts bool      // by pause-counts=, what comes due in the pause waits for its end
	waits  time.Time // the newest occurrence that does so; or zero

	blackout string // of the host, in which an occurrence of the future is skipped; or ""

	at      time.Time // the occurrence, or the instant asked about
	named   bool      // the schedule names it
	decided bool
	record  job.Record
	run     *job.Run  // as it is now; nil if there is none
	last    *job.Run  // the newest attempt that followed run, or nil
	waiting []job.Run // runs of other occurrences that wait, oldest first

	stepped *job.Record // the clock was set in the step that decided it
	reload  *job.Record // the first change of the crontabs after it
	up      *store.Life // the life of the daemon at that instant; nil: it was down
	before  *store.Life // if it was down: the last life before
	after   *store.Life // and the next

	ownership *ownership              // of a ring job
	twin      string                  // that another member of the ring ran it too, or ""
	past      []job.Run               // recent ended runs
	ends      map[job.RunID]time.Time // of the runs that it depends on
}

func (x *Explainer) gather(ctx context.Context, c *call.Call, i int, at time.Time) (*evidence, error) {
	health := x.health()
	ev := &evidence{
		job: c.View.Job(i), entry: c.View.Entry(i), now: c.Now, host: health.Host, foreign: health.NoDaemon != "",
		hold: c.View.Hold(i), ack: c.View.Ack(i), next: c.View.Next(i, c.Now), stops: c.View.Draining(),
		counts: c.View.CountsPause(i), waits: c.View.WaitsForResume(i),
	}
	if b, barred := c.View.Barred(ev.job.User); barred {
		ev.barred = b.Reason
	}
	steps := []func(context.Context, *call.Call, *evidence) error{x.addDecision, x.addAttempts, x.addClock, x.addLives, x.addPast, x.addParents}
	ev.at = at
	for _, add := range steps {
		if err := add(ctx, c, ev); err != nil {
			return nil, fmt.Errorf("read history: %w", err)
		}
	}
	if planned := c.View.PlannedPause(i); planned != nil && planned.Covers(ev.at) {
		ev.hold = planned
	}
	ev.addBlackout(c)
	if when, ran := c.View.AlreadyRan(i, ev.at); ran && ev.isAhead() {
		ev.record.Reason, ev.record.Detail = job.AlreadyRan, when
	}
	ev.fault = x.fault(job.Owned{Job: ev.job.ID, User: ev.job.User})
	for _, r := range c.View.Runs() {
		if ev.live == nil && r.Job == ev.job.ID && c.SeesRun(&r) {
			ev.live = &r
		}
		if isWaiting(r) && r.Job == ev.job.ID && c.SeesRun(&r) && (ev.run == nil || r.Invocation != ev.run.Invocation) {
			ev.waiting = append(ev.waiting, r)
		}
	}
	ev.ownership = findOwnership(c.View, i, ev)
	x.addOthers(ctx, c, ev)
	return ev, nil
}

// addBlackout finds the blackout of the host in which the occurrence will not start.
func (ev *evidence) addBlackout(c *call.Call) {
	name, until := c.View.Blackout(ev.at)
	o := ev.entry.Options()
	if name == "" || !ev.at.After(ev.now) || !until.IsZero() && (o.WaitOutside || o.Period != nil) {
		return
	}
	ev.blackout = name + ", without an end"
	if !until.IsZero() {
		ev.blackout = name + ", until " + ev.stamp(until)
	}
}

// addAttempts finds what came of the attempts that followed the run.
func (x *Explainer) addAttempts(ctx context.Context, c *call.Call, ev *evidence) error {
	if ev.run == nil || ev.run.Verdict != job.VerdictRetry {
		return nil
	}
	f := store.Filter{Jobs: []job.ID{ev.job.ID}, Trigger: job.TriggerRetry, Since: ev.run.Decided, Limit: lookup.MaxRows}
	for r, err := range x.find.EachRun(ctx, c, f) {
		if err != nil {
			return err
		}
		if r.Invocation == ev.run.Invocation && r.Backfill == ev.run.Backfill {
			ev.last = &r
			break
		}
	}
	return nil
}

// addClock finds the facts about clock and crontabs that bear on it. A clock
// that jumped over it was noticed by the very step that decided it.
func (x *Explainer) addClock(ctx context.Context, _ *call.Call, ev *evidence) error {
	if ev.at.After(ev.now) {
		return nil
	}
	records, err := x.store.Records(ctx, ev.at, ev.now.Add(time.Second), lookup.MaxRows)
	if err != nil {
		return err
	}
	for _, r := range records {
		switch {
		case r.Kind == job.Stepped && ev.decided && r.At.Equal(ev.record.At):
			ev.stepped = &r
		case r.Kind == job.Loaded && ev.reload == nil:
			ev.reload = &r
		case r.Kind == job.Doubled && r.Job == ev.job.ID && r.Due.Equal(ev.at):
			ev.twin = r.Words()
		}
	}
	return nil
}

// lookBack is how far back the daemon's previous life is searched for.
const lookBack = 366 * 24 * time.Hour

// addLives finds out whether the daemon was up. If a later life decided the occurrence, no earlier
// life was up for it, whatever it wrote last.
func (x *Explainer) addLives(ctx context.Context, _ *call.Call, ev *evidence) error {
	if ev.at.After(ev.now) {
		return nil
	}
	lives, err := x.store.Lives(ctx, ev.at.Add(-lookBack), ev.now)
	if err != nil {
		return err
	}
	for k := range lives {
		life := &lives[k]
		if life.Up.After(ev.at) {
			ev.after = life
			break
		}
		ev.before = life
	}
	missed := ev.after != nil && ev.decided && !ev.record.At.Before(ev.after.Up)
	if ev.before != nil && !missed && (ev.after == nil || !ended(*ev.before).Before(ev.at)) {
		ev.up = ev.before
	}
	return nil
}

// ended returns when a life is known to have ended, if it has.
func ended(l store.Life) time.Time {
	if l.Down.IsZero() {
		return l.LastSeen
	}
	return l.Down
}

func (x *Explainer) addPast(ctx context.Context, c *call.Call, ev *evidence) error {
	const some = 50
	recent, err := x.store.Recent(ctx, []job.ID{ev.job.ID}, some)
	if err != nil {
		return err
	}
	for _, r := range recent[ev.job.ID] {
		if c.SeesRun(&r) && r.State == job.RunEnded && !r.Started.IsZero() {
			ev.past = append(ev.past, r)
		}
	}
	return nil
}

// addParents finds out when the runs ended that this one depends on.
func (x *Explainer) addParents(ctx context.Context, c *call.Call, ev *evidence) error {
	if ev.run == nil {
		return nil
	}
	ev.ends = map[job.RunID]time.Time{}
	for _, p := range ev.run.Parents[:min(len(ev.run.Parents), mostParents)] {
		r, ok, err := x.store.Run(ctx, p.Run)
		if err != nil {
			return err
		}
		if ok && c.SeesRun(&r) && p.Verdict != "" {
			ev.ends[p.Run] = r.Ended
		}
	}
	return nil
}

// again counts how often the same became of the job's occurrences lately.
func (x *Explainer) again(ctx context.Context, c *call.Call, ev *evidence) (int, error) {
	const enough = 50_000
	if !ev.decided {
		return 0, nil
	}
	records, err := x.find.Decisions(ctx, c, ev.job.ID, ev.now.Add(-month), ev.now.Add(time.Second), enough)
	if err != nil {
		return 0, fmt.Errorf("read history: %w", err)
	}
	n := 0
	for _, r := range records {
		if r.Decision == ev.record.Decision && r.Reason == ev.record.Reason {
			n += max(1, r.Count)
		}
	}
	return n, nil
}

const month = 30 * 24 * time.Hour

// explain makes the answer of the evidence.
func (ev *evidence) explain(again int) api.Why {
	cross := ev.crossed()
	w := api.Why{
		V: api.Version, Job: ev.job.ID, Crontab: ev.job.Crontab, Line: ev.job.Line,
		At: ev.at, Zone: ev.job.Zone,
		Ran:     ev.run != nil && !ev.run.Started.IsZero(),
		Verdict: ev.verdict(cross),
		Run:     ev.run,
		Steps:   ev.chain(cross),
		Facts:   ev.facts(cross, again), Remedies: ev.remedies(cross),
	}
	if ev.foreign {
		w.Remedies = nil
	}
	if ev.decided {
		w.Decision, w.Reason = ev.record.Decision, ev.reason()
	}
	return w
}
