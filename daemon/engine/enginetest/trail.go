package enginetest

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/robfig/cron/v3"

	"github.com/cronring/cronring/crontab/timetable"
	"github.com/cronring/cronring/daemon/engine/effect"
	"github.com/cronring/cronring/daemon/job"
)

// Trail is a Watcher that checks that every occurrence has exactly one valid
// sequence of records. It uses the crontabs and the records; from the engine it
// only uses the list of jobs and of their active runs.
//
// It expects an occurrence for each time of a schedule after the job was added or
// its times changed, or after the time to which the clock was set back.
type Trail struct {
	Faults []string // at most a few

	installed map[job.ID]*installed
	decided   map[occurrence]job.Record
	runs      map[job.RunID]*run
	alive     map[job.RunID]bool
	due       map[link]job.Run // failed attempts that another attempt must follow in the same step
	over      map[string]job.RunID
	newestRun job.RunID
	era       job.Era
	steps     int
}

// installed is a job of the latest load.
type installed struct {
	schedule cron.Schedule
	timing   string
	period   bool      // it can also be decided between the times of its schedule
	newest   time.Time // all occurrences up to here are decided
}

type occurrence struct {
	job job.ID
	due int64
	era job.Era
}

// link identifies an attempt of an occurrence.
type link struct {
	invocation string
	backfill   int64
	attempt    int
}

// run is the latest state of a run and the kinds of its records.
type run struct {
	job.Run
	kinds []job.RecordKind
}

// NewTrail returns a Trail for a new host.
func NewTrail() *Trail {
	return &Trail{
		installed: map[job.ID]*installed{}, decided: map[occurrence]job.Record{}, runs: map[job.RunID]*run{}, alive: map[job.RunID]bool{},
		due: map[link]job.Run{}, over: map[string]job.RunID{},
	}
}

func (t *Trail) fault(format string, args ...any) {
	if len(t.Faults) < 10 {
		t.Faults = append(t.Faults, fmt.Sprintf(format, args...))
	}
}

// Step checks the records of a step.
func (t *Trail) Step(h *Host, s Step, back time.Duration, loaded bool) {
	now := s.At
	if back >= smallStep {
		if s.Era != t.era+1 {
			t.fault("the clock was set back by %s to %s, and the era is %d after %d", back, now, s.Era, t.era)
		}
		t.setBack(now, back)
	} else if s.Era != t.era {
		t.fault("a new era %d at %s, for a clock set back by %s", s.Era, now, back)
	}
	t.era = s.Era
	for i, e := range s.Effects {
		switch e := e.(type) {
		case effect.Fact:
			if e.Record.Kind == job.Loaded { // the decisions before it follow the old entries
				t.load(h, now)
			}
			t.record(now, e.Record)
		case effect.Notify:
			t.notice(e.Notice, s.Effects[:i])
		case effect.Start:
			t.start(e)
		}
	}
	for l, r := range t.due {
		t.fault("attempt %d of %s (run %d) should be retried, but no attempt follows", l.attempt-1, r.Job, r.ID)
	}
	clear(t.due)
	if t.steps++; t.steps%32 == 0 || loaded {
		t.compareActive(h)
	}
}

// The rules of cron for a clock that is set back: less than smallStep has no
// effect; with less than correction, fixed-time entries do not run until the old
// time has passed; otherwise all entries continue from the new time.
const (
	smallStep  = time.Minute
	correction = 3 * time.Hour
)

func (t *Trail) setBack(now time.Time, by time.Duration) {
	for _, j := range t.installed {
		if j.newest.After(now) && (by >= correction || !timetable.FixedTime(j.schedule)) {
			j.newest = now
		}
	}
}

// load records the installed jobs. New jobs, and those whose times changed, begin at
// now. If the clock was set back by less than smallStep, occurrences that were
// decided are not expected again.
func (t *Trail) load(h *Host, now time.Time) {
	before := t.installed
	t.installed = map[job.ID]*installed{}
	v := h.Engine.View()
	for i := range v.Len() {
		s := v.Entry(i).Schedule
		j := &installed{s, timetable.Identity(s), v.Entry(i).Options().Period != nil, now}
		old := before[v.ID(i)]
		switch {
		case old == nil:
		case old.timing == j.timing:
			j.newest = old.newest
		case old.newest.After(now) && old.newest.Sub(now) < smallStep:
			j.newest = old.newest
		}
		t.installed[v.ID(i)] = j
	}
}

func (t *Trail) record(now time.Time, r job.Record) {
	if !r.At.Equal(now) {
		t.fault("a record of %s is of %s, in a step of %s", r.Job, r.At, now)
	}
	switch r.Kind {
	case job.Decided, job.Queued, job.Ready, job.Dropped:
		if r.Reason.Sentence() == "" {
			t.fault("%s: the reason has no sentence: %q", format(r), r.Reason)
		}
	case job.Ended:
		if r.Reason != "" && r.Reason.Sentence() == "" {
			t.fault("%s: the reason has no sentence: %q", format(r), r.Reason)
		}
	case job.Started:
	default:
		return
	}
	if r.Kind == job.Decided {
		t.decide(now, r)
	}
	if r.Run != nil {
		t.follow(r)
	}
}

// decide checks that each occurrence is decided once, after the previous one.
func (t *Trail) decide(now time.Time, r job.Record) {
	if (r.Decision == job.DecideSkip) != (r.Run == nil) {
		t.fault("%s: only a skip must have no run", format(r))
	}
	if !r.DecidesOccurrence() {
		return
	}
	key := occurrence{r.Job, r.Due.UnixNano(), r.Era}
	if before, twice := t.decided[key]; twice {
		t.fault("decided twice: %s; before: %s", format(r), format(before))
	}
	t.decided[key] = r
	j := t.installed[r.Job]
	if j == nil || timetable.IsTimeless(j.schedule) {
		return
	}
	if j.period && !j.schedule.Next(r.Due.Add(-1)).Equal(r.Due) {
		j.newest = r.Due
		return
	}
	if r.Due.After(now) {
		t.fault("decided before its time: %s", format(r))
	}
	first := r.Due
	if r.Count > 1 {
		first = r.First
	}
	if want := j.schedule.Next(j.newest); !want.Equal(first) {
		t.fault("after %s comes %s, but this was decided: %s", j.newest.UTC(), want.UTC(), format(r))
	}
	if r.Count > 1 {
		t.stretch(j, r)
	}
	j.newest = r.Due
}

// stretch checks the number of occurrences of a record for several ones. If the engine found 20,000 or more
// until then, of which others may be in the next records, that number is only a minimum.
func (t *Trail) stretch(j *installed, r job.Record) {
	all, n, last := 0, 0, time.Time{}
	for at := r.First; !at.IsZero() && !at.After(r.At) && all < 20_000; at = j.schedule.Next(at) {
		if all++; !at.After(r.Due) {
			n, last = all, at
		}
	}
	if all < 20_000 && (!last.Equal(r.Due) || n != r.Count) {
		t.fault("the schedule has %d occurrences, the last %s: %s", n, last.UTC(), format(r))
	}
}

// follows are the valid next kinds of a run's records.
var follows = map[job.RecordKind][]job.RecordKind{
	"hold":      {job.Queued, job.Ready, job.Dropped},
	job.Queued:  {job.Queued, job.Ready, job.Dropped},
	"run":       {job.Started, job.Ended},
	job.Ready:   {job.Started, job.Ended},
	job.Started: {job.Ended},
}

// follow checks that the records of a run form a valid path from its decision to a
// single end.
func (t *Trail) follow(r job.Record) {
	kind := r.Kind
	if kind == job.Decided {
		kind = job.RecordKind(r.Decision)
	}
	x := t.runs[r.Run.ID]
	switch {
	case x == nil:
		x = &run{}
		t.runs[r.Run.ID] = x
		t.begin(r)
	case !slices.Contains(follows[x.kinds[len(x.kinds)-1]], kind):
		t.fault("after %v comes %s", x.kinds, format(r))
	case x.Job != r.Job || !x.Due.Equal(r.Due) || x.Invocation != r.Run.Invocation || x.Attempt != r.Run.Attempt || x.Trigger != r.Run.Trigger:
		t.fault("another occurrence than before: %s", format(r))
	}
	x.Run, x.kinds = *r.Run, append(x.kinds, kind)
	t.alive[r.Run.ID] = true
	t.parents(r)
	if !r.Run.State.Live() {
		delete(t.alive, r.Run.ID)
		t.end(r)
	}
}

// begin checks that a run begins with a decision or as a further attempt.
func (t *Trail) begin(r job.Record) {
	if r.Run.ID <= t.newestRun {
		t.fault("its number is not new: %s", format(r))
	}
	t.newestRun = r.Run.ID
	if r.Kind == job.Decided {
		if r.Run.Attempt != 1 {
			t.fault("it begins with attempt %d: %s", r.Run.Attempt, format(r))
		}
		return
	}
	l := link{r.Run.Invocation, r.Run.Backfill, r.Run.Attempt}
	if _, follows := t.due[l]; !follows || r.Kind != job.Queued {
		t.fault("an attempt without a previous one: %s", format(r))
	}
	delete(t.due, l)
}

// end checks that an attempt ends once, and that another attempt follows exactly if
// its verdict is retry.
func (t *Trail) end(r job.Record) {
	switch {
	case r.Kind == job.Ended && r.Run.Outcome.IsZero(), r.Kind == job.Ended && r.Run.Verdict == "":
		t.fault("an end without outcome or verdict: %s", format(r))
	case r.Kind == job.Dropped && r.Run.Verdict == job.VerdictRetry:
		t.fault("an attempt that never ran would be retried: %s", format(r))
	}
	if r.Run.Verdict == job.VerdictRetry {
		t.due[link{r.Run.Invocation, r.Run.Backfill, r.Run.Attempt + 1}] = *r.Run
		return
	}
	if r.Run.Trigger == job.TriggerManual || r.Run.Attempt > 1 {
		return // users can retry a dead letter any number of times
	}
	key := fmt.Sprintf("%s of backfill %d", r.Run.Invocation, r.Run.Backfill)
	if before, twice := t.over[key]; twice {
		t.fault("the occurrence ended with run %d before: %s", before, format(r))
	}
	t.over[key] = r.Run.ID
}

// parents checks that the parents of a run exist and have the recorded verdict.
func (t *Trail) parents(r job.Record) {
	for _, p := range r.Run.Parents {
		if p.Run == 0 {
			continue
		}
		x := t.runs[p.Run]
		switch {
		case x == nil || x.Job != p.Job:
			t.fault("its parent %+v does not exist: %s", p, format(r))
		case p.Verdict != "" && (x.State.Live() || x.Verdict != p.Verdict):
			t.fault("its parent %+v is %s, %s: %s", p, x.State, x.Verdict, format(r))
		}
	}
}

// start checks that a run is decided before it starts.
func (t *Trail) start(s effect.Start) {
	x := t.runs[s.Run.ID]
	if x == nil || x.State != job.RunDecided {
		t.fault("run %d of %s started without a decision", s.Run.ID, s.Run.Job)
	}
}

// notice checks that a notification follows the record that causes it, in the same
// step, and has a channel.
func (t *Trail) notice(n job.Notice, before []effect.Effect) {
	said := func(is func(job.Record) bool) bool {
		return slices.ContainsFunc(before, func(e effect.Effect) bool {
			f, ok := e.(effect.Fact)
			return ok && f.Record.Job == n.Job && is(f.Record)
		})
	}
	of := func(r job.Record) bool { return n.Run != nil && r.Run != nil && r.Run.ID == n.Run.ID }
	ok := true
	switch n.On {
	case job.OnFail, job.OnDead, job.OnLost:
		ok = said(func(r job.Record) bool {
			return of(r) && (r.Kind == job.Ended || r.Kind == job.Dropped) && r.Run.Verdict.Bad()
		})
	case job.OnRecover, job.OnSuccess, job.OnOdd:
		ok = said(func(r job.Record) bool { return of(r) && r.Kind == job.Ended && r.Run.Verdict == job.VerdictOK })
	case job.OnStart:
		ok = said(func(r job.Record) bool { return of(r) && r.Kind == job.Started })
	case job.OnMissed:
		ok = said(func(r job.Record) bool {
			return r.Decision == job.DecideSkip && r.Due.Equal(n.Due) || of(r) && r.Kind == job.Dropped
		})
	}
	if !ok {
		t.fault("no record of the step matches the notification: %s: %s", n.On, n.Text)
	}
	if len(n.Channels) == 0 == (n.Ping == "") || n.Text == "" {
		t.fault("a notification for %v of %s has the text %q", n.Channels, n.Job, n.Text)
	}
}

// compareActive checks that the engine's active runs are those of the records, in the same
// state.
func (t *Trail) compareActive(h *Host) {
	shown := map[job.RunID]job.Run{}
	for _, r := range h.Engine.View().Runs() {
		shown[r.ID] = r
	}
	for _, id := range slices.Sorted(maps.Keys(t.alive)) {
		x := t.runs[id]
		if r, ok := shown[id]; !ok || r.State != x.State || r.Reason != x.Reason {
			t.fault("run %d of %s: records show %s (%s), the engine %q (%s)", id, x.Job, x.State, x.Reason, r.State, r.Reason)
		}
		delete(shown, id)
	}
	for id, r := range shown {
		t.fault("run %d of %s: the engine shows %s, records show its end", id, r.Job, r.State)
	}
}

// Idle checks that every due occurrence is decided.
func (t *Trail) Idle(h *Host) {
	if h.Engine.View().Draining() {
		return
	}
	v := h.Engine.View()
	for id, j := range t.installed {
		if i, ok := v.Find(id); ok && v.Options(i).PauseCounts && v.Hold(i) != nil {
			continue // its occurrences wait for the end of the pause
		}
		if next := j.schedule.Next(j.newest); !next.IsZero() && !next.After(h.Now.Wall) {
			t.fault("%s due %s is not decided at %s", id, next.UTC(), h.Now.Wall)
		}
	}
}
