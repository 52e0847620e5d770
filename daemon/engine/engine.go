package engine

import (
	"maps"
	"time"

	"github.com/cronring/cronring/crontab/option"
	"github.com/cronring/cronring/crontab/timetable"
	"github.com/cronring/cronring/daemon/engine/catalog"
	"github.com/cronring/cronring/daemon/engine/exchange"
	"github.com/cronring/cronring/daemon/job"
)

// stepSize is the number of effects that the firing of schedules adds to a step before it
// leaves the rest to the next one: 16 starts. The first starts of a burst therefore do
// not wait until the store has written the records of all others. See Pace.
const stepSize = 32

// State is what survives a process: the store loads it and passes it to New.
type State struct {
	Marks    []job.Mark
	Live     []job.Run // runs that had not ended
	Holds    job.Holds
	Known    []Known
	NextRun  job.RunID
	Era      job.Era
	LastSeen time.Time // wall time of the newest step that was stored; zero at the very first start
	Booted   bool      // first start since the host booted: @reboot entries run
	Since    time.Time // until then another cron ran the same crontabs; zero: none did
	Stamps   map[string]timetable.Day
	Adopted  []Adopted
	Ledgers  []job.Ledger

	Backfills    []job.Backfill                  // the active backfills
	Ran          map[int64]map[int64]job.Verdict // for each active backfill, by ID; see Backfill.Ran
	NextBackfill int64
}

// Adopted is a run whose process survived a restart of the daemon and is watched again,
// so its end will be reported. Any other run in Live that was running or about to start
// has ended in an unknown way.
type Adopted struct {
	Run  job.RunID
	PID  int           // 0 for a run that was decided and not started; Started will follow
	Up   time.Duration // time since boot at which the process started; 0: not known
	Stop job.Reason    // why it was being stopped, or ""; see Stopping
}

// Engine makes all decisions. It is not safe for concurrent use; its View is.
type Engine struct {
	now      Moment
	era      job.Era
	nextRun  job.RunID
	draining bool
	pace     int // see Pace

	jobs    *catalog.Catalog // what is installed
	marks   []int64          // per slot: the newest decided occurrence, Unix nanoseconds
	agenda  agenda
	pending []int // slots that are due and wait for room in a step, in order

	live    map[job.RunID]*run
	byJob   map[job.ID][]*run // the same, oldest first
	stalled unstartedRuns     // the live runs without a process, counted by user
	timers  timers
	holds   job.Holds // replaced, never changed: views share these
	ledgers map[owned]job.Ledger
	places  places
	fills   fills
	node    string
	labels  map[string]string
	unfit   map[*option.Options]string // see Load
	ring    ring
	bars    map[string]Barred
	stamps  map[string]timetable.Day

	troubles map[owned]Trouble       // see noteTrouble
	shown    bool                    // a view shares troubles
	lent     bool                    // a view shares holds
	expected map[owned]time.Duration // when the next timer of expect= runs out

	unsettled []*run // runs affected by the last loads; see settle
	unwatched []int  // slots likewise

	over      []*run // ended runs whose consequences are not handled yet; see follow
	following bool   // followAll is already handling them

	freed []job.ID // jobs that had a run removed; see startNext

	memory  *State   // the State, until the first Load has used it
	awaited *awaited // the parts of memory that later loads may need
	out     []Effect
}

// run is a live run: its record, and state that only the engine needs.
type run struct {
	job.Run
	recorded      *job.Run        // an immutable copy as of the newest record; nil: none
	options       *option.Options // options of the entry that decided it
	zone          *time.Location  // the entry's
	slot          int             // its job in Engine.jobs; -1: none
	stop          job.Reason      // why it is being stopped, or ""
	gate          gate            // the gate that it has reached
	cause         job.Reason      // why it starts, once it has passed them all
	detail        string          // details of cause: numbers and names
	forced        bool            // --force was used
	asking        bool            // the command of if= is running
	await         *awaiting       // state of the parents that it waits for; nil: it does not wait for any
	until         time.Duration   // Moment.Up at which the wait for parents ends; 0: no limit
	claim         *claim          // slots that it holds or waits for; nil: none
	refused       bool            // the history already has a run of this occurrence
	unstartedRuns int             // its contribution to Engine.stalled
	hurry         bool            // the daemon is ending, so the grace is short
	dies          time.Duration   // Moment.Up of KILL, once a signal was sent
	patience      bool            // the grace was set explicitly in the stop request
	tokenAt       time.Duration   // Moment.Up at which its Token came
	reclaimed     bool            // the ring must permit it again before it continues
	storedAt      time.Time       // of a run that is reclaimed after a restart: when the previous daemon was last alive
}

// New returns an engine that continues from State. It has no jobs until the first Load.
func New(s State) *Engine {
	e := &Engine{
		now:      Moment{Wall: s.LastSeen},
		era:      s.Era,
		nextRun:  max(s.NextRun, 1),
		pace:     1,
		jobs:     &catalog.Catalog{},
		live:     map[job.RunID]*run{},
		byJob:    map[job.ID][]*run{},
		stalled:  unstartedRuns{},
		ring:     newRing(),
		holds:    job.Holds{},
		ledgers:  map[owned]job.Ledger{},
		stamps:   maps.Clone(s.Stamps),
		fills:    restoreFills(&s),
		memory:   &s,
		troubles: map[owned]Trouble{},
		expected: map[owned]time.Duration{},
	}
	maps.Copy(e.holds, s.Holds)
	for _, l := range s.Ledgers {
		e.ledgers[owned{l.Job, l.User}] = l
		e.noteTrouble(l)
	}
	return e
}

// Pace makes the next steps larger than usual by a factor. A caller that needs long to
// store a step uses few, large steps in a burst, because each step adds the time of
// storing it to the delay of all later starts.
func (e *Engine) Pace(times int) { e.pace = times }

// Step handles events in order, then checks the time, and returns the effects to carry
// out, in order. The caller reads the clock once and passes it as now.
func (e *Engine) Step(now Moment, events ...Event) []Effect { return e.step(now, nil, events) }

func (e *Engine) step(now Moment, answers []exchange.Answer, events []Event) []Effect {
	e.readClock(now)
	e.places.left = turnsPerStep * e.pace
	for _, a := range answers {
		e.hear(a)
		e.startNext()
	}
	for _, ev := range events {
		e.take(ev)
		e.startNext()
	}
	e.settle(settleSize * e.pace)
	e.expire()
	e.startNext()
	e.dispatch(nil)
	e.fire()
	e.fill()
	e.dispatch(nil)
	e.startNext()
	out := e.out
	e.out = nil
	return out
}

func (e *Engine) take(ev Event) {
	switch ev := ev.(type) {
	case Tick:
	case Load:
		e.load(ev)
	case Started:
		e.started(ev)
	case Ended:
		e.ended(ev)
	case Checked:
		e.checked(ev)
	case RunNow:
		e.runNow(ev)
	case Stop:
		e.stopRuns(ev)
	case Pause:
		e.pause(ev)
	case Resume:
		e.resume(ev)
	case Ack:
		e.acknowledge(ev)
	case Unack:
		e.unacknowledge(ev)
	case Drain:
		e.draining = true
		e.tellHost()
	case Undrain:
		e.undrain()
	case BarUsers:
		e.barUsers(ev.Users)
	case Stamps:
		e.stamps = maps.Clone(ev.Days)
	case Abandon:
		e.abandon()
	case Backfill:
		e.backfill(ev)
	case StopBackfill:
		e.stopBackfill(ev)
	case Redrive:
		e.redrive(ev)
	case Bury:
		e.bury(ev)
	}
}

// Wake returns when the next Step is needed if no event comes before. Zero means never.
func (e *Engine) Wake() time.Time {
	var wake time.Time
	if len(e.unsettled)+len(e.unwatched) > 0 {
		return e.now.Wall
	}
	if !e.draining {
		if len(e.pending) > 0 || e.places.hasMore() || e.fills.busy {
			return e.now.Wall
		}
		wake = e.sooner(e.sooner(e.sooner(e.agenda.next(), e.places.next), e.fills.wake), func() (time.Duration, bool) { return e.ring.next(e.now) })
	}
	return e.sooner(wake, e.timers.next)
}

// sooner returns the earlier of wake and the time of a timer.
func (e *Engine) sooner(wake time.Time, next func() (time.Duration, bool)) time.Time {
	at, ok := next()
	if !ok {
		return wake
	}
	if wall := e.now.Wall.Add(job.Sum(at, -e.now.Up)); wake.IsZero() || wall.Before(wake) {
		return wall
	}
	return wake
}

// Idle reports that no live run has or needs a process.
func (e *Engine) Idle() bool {
	for _, r := range e.live {
		if r.State == job.RunDecided || r.State == job.RunRunning {
			return false
		}
	}
	return true
}

// Era returns how often the clock was set back so far that occurrences repeat.
func (e *Engine) Era() job.Era { return e.era }

func (e *Engine) emit(effects ...Effect) { e.out = append(e.out, effects...) }

// record emits a fact with the time of the step.
func (e *Engine) record(r job.Record) {
	r.At = e.now.Wall
	e.emit(Fact{r})
}

// recordRun emits a fact about a run, with the run as it is now.
func (e *Engine) recordRun(kind job.RecordKind, d job.Decision, r *run, detail string) {
	snapshot := r.Run
	r.recorded = &snapshot
	e.record(job.Record{
		Kind: kind, Job: r.Job, Due: r.Due, Era: r.Era,
		Decision: d, Reason: r.Reason, Detail: detail, Run: r.recorded,
	})
}
