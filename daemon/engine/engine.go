package engine

import (
	"maps"
	"slices"
	"time"

	"github.com/cronring/cronring/crontab/option"
	"github.com/cronring/cronring/crontab/timetable"
	"github.com/cronring/cronring/daemon/engine/agenda"
	"github.com/cronring/cronring/daemon/engine/backfill"
	"github.com/cronring/cronring/daemon/engine/catalog"
	"github.com/cronring/cronring/daemon/engine/effect"
	"github.com/cronring/cronring/daemon/engine/event"
	"github.com/cronring/cronring/daemon/engine/exchange"
	"github.com/cronring/cronring/daemon/engine/gate"
	"github.com/cronring/cronring/daemon/engine/install"
	"github.com/cronring/cronring/daemon/engine/live"
	"github.com/cronring/cronring/daemon/engine/slots"
	"github.com/cronring/cronring/daemon/engine/view"
	"github.com/cronring/cronring/daemon/job"
)

// stepSize is the number of effects that the firing of schedules adds to a step before it
// leaves the rest to the next one: 16 starts. The first starts of a burst therefore do
// not wait until the store has written the records of all others. See Pace.
const stepSize = 32

// State survives the process: the store loads it and passes it to New.
type State struct {
	Marks     []job.Mark
	Live      []job.Run // runs that had not ended
	Handed    []job.Run // runs that could not start and were handed over to other members
	Holds     job.Holds
	Known     []effect.Known
	NextRun   job.RunID
	Era       job.Era
	LastSeen  time.Time // wall time of the newest step that was stored; zero at the very first start
	Booted    bool      // first start since the host booted: @reboot entries run
	Since     time.Time // until then another cron ran the same crontabs; zero: none did
	Stamps    map[string]timetable.Day
	Adopted   []Adopted
	Summaries []job.Summary

	Backfills    []job.Backfill                  // the active backfills
	Ran          map[int64]map[int64]job.Verdict // for each active backfill, by ID; see Backfill.Ran
	NextBackfill int64
}

// remember returns what later loads need of the state.
func (s *State) remember() *install.Memory {
	return install.Remember(s.Known, s.Marks, s.Era, s.LastSeen, s.Since)
}

// Adopted is a run whose process survived a restart of the daemon and is watched again,
// so its end will be reported. Any other run in Live that was running or about to start
// has ended in an unknown way.
type Adopted struct {
	Run  job.RunID
	PID  int           // 0 for a run that was decided and not started; Started will follow
	Up   time.Duration // time since boot at which the process started; 0: not known
	Stop job.Reason    // why it was being stopped, or ""; see Stopping
	Mute bool          // it cannot give signs of life: it was started without watchdog=
}

// Engine makes all decisions. It is not safe for concurrent use; its View is.
type Engine struct {
	now      job.Moment
	era      job.Era
	nextRun  job.RunID
	draining bool
	asked    effect.Token // of the question that is being handled; 0: none
	pace     int          // see Pace
	onHost   hostEvents
	gates    gate.Host          // see host
	watched  map[job.Owned]bool // jobs whose files are watched

	jobs    *catalog.Catalog // what is installed
	marks   []int64          // per slot: the newest decided occurrence, Unix nanoseconds
	ahead   agenda.Ahead
	agenda  agenda.Agenda
	resumes *agenda.Times // of jobs with pause-counts=: when their pause ends, in Unix nanoseconds
	delays  *agenda.Times // of jobs with delay=: when the next occurrence is due, in time since boot
	pending []int         // slots that are due and wait for room in a step, in order
	caught  agenda.Pace

	live        map[job.RunID]*live.Run
	byJob       map[job.ID][]*live.Run // the same, oldest first
	stalled     live.Unstarted         // the live runs without a process, counted by user
	timers      agenda.Timers
	holds       job.Holds
	summaries   map[job.Owned]job.Summary
	slots       *slots.Queue
	dispatching dispatchState
	checks      live.Checks
	fills       backfill.Active
	node        string
	labels      map[string]string

	blackouts timetable.Blackouts
	unfit     map[*option.Options]string // see Load
	ring      ringState
	barred    map[string]event.Barred
	stamps    map[string]timetable.Day

	problems map[job.Owned]view.Problems // see updateProblems
	viewed   viewed                      // copies for views
	expected map[job.Owned]time.Duration // when the next timer of expect= runs out

	unsettled []*live.Run // runs affected by the last loads; see settle
	unwatched []int       // slots likewise

	over      []*live.Run // ended runs whose consequences are not handled yet; see follow
	following bool        // followAll is already handling them

	freed []job.ID // jobs that had a run removed; see startNext

	memory  *State           // the State, until the first Load has used it
	awaited *install.Awaited // the parts of memory that later loads may need
	out     []effect.Effect
}

// viewed contains copies for views. A change discards the copy, and the next view makes
// another one: a user may pause any number of jobs at the same time.
type viewed struct {
	holds    job.Holds
	problems map[job.Owned]view.Problems
	planned  *agenda.Times // Engine.delays
}

// New returns an engine that continues from State. It has no jobs until the first Load.
func New(s State) *Engine {
	e := &Engine{
		now:       job.Moment{Wall: s.LastSeen},
		era:       s.Era,
		nextRun:   max(s.NextRun, 1),
		pace:      1,
		jobs:      &catalog.Catalog{},
		live:      map[job.RunID]*live.Run{},
		byJob:     map[job.ID][]*live.Run{},
		stalled:   live.Unstarted{},
		ring:      newRing(),
		slots:     &slots.Queue{},
		resumes:   agenda.NewTimes(nil),
		delays:    agenda.NewTimes(nil),
		holds:     job.Holds{},
		summaries: map[job.Owned]job.Summary{},
		stamps:    maps.Clone(s.Stamps),
		fills:     backfill.Restore(s.Backfills, s.Ran, s.NextBackfill),
		memory:    &s,
		problems:  map[job.Owned]view.Problems{},
		expected:  map[job.Owned]time.Duration{},
	}
	maps.Copy(e.holds, s.Holds)
	for _, l := range s.Summaries {
		e.summaries[job.Owned{Job: l.Job, User: l.User}] = l
	}
	return e
}

// Pace makes the next steps larger than usual by a factor. A caller that needs long to
// store a step uses few, large steps in a burst, because each step adds the time of
// storing it to the delay of all later starts.
func (e *Engine) Pace(times int) { e.pace = times }

// Step handles events in order, then checks the time, and returns the effects to carry
// out, in order. The caller reads the clock once and passes it as now.
func (e *Engine) Step(now job.Moment, events ...event.Event) []effect.Effect {
	return e.step(now, nil, events)
}

func (e *Engine) step(now job.Moment, answers []exchange.Answer, events []event.Event) []effect.Effect {
	e.readClock(now)
	e.dispatching.left = startsPerStep * e.pace
	for _, a := range answers {
		e.handleAnswer(a)
		e.startNext()
	}
	for _, ev := range events {
		e.take(ev)
		e.startNext()
	}
	e.startOnHost()
	e.settle(settleSize * e.pace)
	e.expire()
	e.startNext()
	e.dispatch(nil)
	e.checkBlackout()
	e.fire()
	e.fill()
	e.dispatch(nil)
	e.startNext()
	e.preempt()
	out := e.out
	e.out = nil
	return out
}

func (e *Engine) take(ev event.Event) {
	switch ev := ev.(type) {
	case event.Tick:
	case event.Asked:
		e.asked = ev.Token
		e.take(ev.Question)
		e.asked = 0
	case event.Load:
		e.load(ev)
	case event.Started:
		e.handleStarted(ev)
	case event.Ended:
		e.handleEnded(ev)
	case event.Checked:
		e.checked(ev)
	case event.Measured:
		e.measured(ev)
	case event.RunNow:
		e.runNow(ev)
	case event.Stop:
		e.stopRuns(ev)
	case event.Beat:
		e.beat(ev)
	case event.Emit:
		e.emitted(ev)
	case event.Files:
		e.filesArrived(ev)
	case event.Pause:
		e.pauseJob(ev)
	case event.Resume:
		e.resumeJob(ev)
	case event.Ack:
		e.acknowledge(ev)
	case event.Unack:
		e.unacknowledge(ev)
	case event.Drain:
		e.draining = true
		e.sendHost()
	case event.BarUsers:
		e.barUsers(ev.Users)
	case event.Stamps:
		e.stamps = maps.Clone(ev.Days)
	case event.Abandon:
		e.abandon()
	case event.Backfill:
		e.startBackfill(ev)
	case event.StopBackfill:
		e.stopBackfill(ev)
	case event.Redrive:
		e.redrive(ev)
	case event.Bury:
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
		if len(e.pending) > 0 || e.dispatching.left == 0 && e.slots.HasNext() || e.fills.Busy {
			return e.now.Wall
		}
		wake = e.sooner(e.sooner(e.sooner(e.sooner(e.sooner(e.agenda.Next(), e.nextDelayed), e.nextResume), e.slots.Wake), e.fills.Wake), func() (time.Duration, bool) { return e.ring.wakeAt(e.now) })
	}
	return e.sooner(wake, e.timers.Next)
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

// Idle reports that no live run has a process or is about to get one. The command of if= does not
// count.
func (e *Engine) Idle() bool {
	for _, r := range e.live {
		if r.State == job.RunDecided || r.State == job.RunRunning {
			return false
		}
	}
	return true
}

// Era returns how often the clock was set back so far that occurrences repeat.
func (e *Engine) Era() job.Era                  { return e.era }
func (e *Engine) emit(effects ...effect.Effect) { e.out = append(e.out, effects...) }

// record emits a fact with the time of the step.
func (e *Engine) record(r job.Record) {
	r.At = e.now.Wall
	e.emit(effect.Fact{Record: r})
}

// recordRun emits a fact about a run, with the run as it is now.
func (e *Engine) recordRun(kind job.RecordKind, d job.Decision, r *live.Run, detail job.Detail) {
	snapshot := r.Run
	r.Recorded = &snapshot
	e.record(job.Record{
		Kind: kind, Job: r.Job, Due: r.Due, Era: r.Era,
		Decision: d, Reason: r.Reason, Detail: detail, Run: r.Recorded,
	})
}

// View returns a snapshot as of the last Step.
func (e *Engine) View() *view.View {
	if e.viewed.holds == nil {
		e.viewed.holds = maps.Clone(e.holds)
	}
	if e.viewed.problems == nil {
		e.viewed.problems = maps.Clone(e.problems)
	}
	if e.viewed.planned == nil {
		e.viewed.planned = e.delays.Copy()
	}
	live, busy := make([]*job.Run, 0, len(e.live)), map[string]bool{}
	for _, r := range e.live {
		live = append(live, r.Recorded)
		if p := r.Options.Period; p != nil {
			busy[p.ID] = true
		}
	}
	return view.New(view.Parts{
		Now: e.now, Draining: e.draining, Node: e.node, Labels: e.labels, Blackouts: e.blackouts, Jobs: e.jobs, Holds: e.viewed.holds, Barred: e.barred, Stamps: e.stamps,
		Busy: busy, Live: live, Fills: e.fills.List(), Overflow: e.slots.Overflow(), Problems: e.viewed.problems, Planned: e.viewed.planned, Ahead: e.ahead.Marks(e.now.Wall), Ring: e.ring.view,
	})
}

// readClock takes the clock reading of a step and handles a clock that was set. Setting
// the clock forward needs little: the skipped occurrences are late, and catchup= decides.
// Runs that wait for hours check them again.
func (e *Engine) readClock(now job.Moment) {
	lived := e.now.Up > 0 // otherwise the last moment is from another process and has no time since boot
	step := now.Wall.Sub(e.now.Wall)
	if lived {
		step -= now.Up - e.now.Up
	}
	fresh, back := e.now.Wall.IsZero(), now.Wall.Before(e.now.Wall)
	if slept := now.Slept - e.now.Slept; lived && slept >= leastSuspend {
		e.onHost.resumed = slept
	}
	e.now = job.Moment{Wall: now.Wall.UTC(), Up: now.Up, Slept: now.Slept}
	switch {
	case fresh:
	case step <= -agenda.SmallStep:
		e.onHost.stepped = lived
		e.setBack(-step)
	case back && len(e.pending) > 0: // what was due and is not decided yet comes due again
		e.agenda.Reset(e.now.Wall)
		e.planResumes()
	case lived && step >= agenda.SmallStep:
		e.onHost.stepped = true
		e.recordStep(step)
		e.checkHours(true)
	}
	if back {
		e.ahead = agenda.AheadOf(e.marks, e.now.Wall)
	}
}

// recordStep records that the clock was set, in which direction and by how much.
func (e *Engine) recordStep(step time.Duration) {
	e.record(job.Record{Kind: job.Stepped, Era: e.era, Was: e.now.Wall.Add(-step), Detail: job.DetailClockSet(step)})
}

// setBack begins a new era, in which some occurrences repeat.
func (e *Engine) setBack(by time.Duration) {
	e.era++
	e.recordStep(-by)
	now := e.now.Wall.UnixNano()
	for slot := range e.marks {
		if e.jobs.InRing(slot) {
			continue
		}
		e.marks[slot] = agenda.AfterSetBack(e.jobs.Entry(slot).Schedule, e.marks[slot], now, by)
	}
	e.agenda.Reset(e.now.Wall)
	e.planResumes()
	e.pending = e.addWaiting(e.pending) // a pause might begin again later
	e.emit(e.roster())
}

// holdFaulty holds the jobs whose schedule returned an instant that cannot be its next
// occurrence. Such a bug in the program would otherwise stop these jobs silently.
func (e *Engine) holdFaulty() {
	if faulty := e.agenda.TakeFaulty(); len(faulty) > 0 {
		e.jobs = e.jobs.Hold(faulty, job.HeldFaultySchedule)
	}
}

// answer answers the question that is being handled, if it has a token.
func (e *Engine) answer(runs []job.Run, err *effect.Refusal) {
	if e.asked != 0 {
		e.emit(effect.Answer{Token: e.asked, Runs: runs, Err: err})
	}
}

// refuse answers that a request is refused.
func (e *Engine) refuse(kind effect.RefusalKind, reason string) {
	e.answer(nil, &effect.Refusal{Kind: kind, Reason: reason})
}

func (e *Engine) add(r *live.Run) {
	e.nextRun = max(e.nextRun, r.ID+1)
	e.locate(r)
	e.live[r.ID] = r
	e.stalled.Add(r)
	e.fills.Count(r.Backfill, 1)
	if e.isShared(r) && r.State != job.RunRunning {
		e.ring.unbegun[r.ID] = r
	}
	e.byJob[r.Job] = append(e.byJob[r.Job], r)
	e.endDelay(r)
}

func (e *Engine) remove(r *live.Run) {
	delete(e.live, r.ID)
	e.stalled.Remove(r)
	e.fills.Count(r.Backfill, -1)
	delete(e.ring.unbegun, r.ID)
	e.releaseSlots(r)
	rest := slices.DeleteFunc(e.byJob[r.Job], func(x *live.Run) bool { return x == r })
	if len(rest) == 0 {
		delete(e.byJob, r.Job)
		return
	}
	e.byJob[r.Job] = rest
	e.freed = append(e.freed, r.Job)
}

// setHold changes a hold.
func (e *Engine) setHold(id job.ID, user string, h *job.Hold) {
	e.viewed.holds = nil
	if h == nil {
		e.holds.Lift(id, user)
	} else {
		e.holds.Put(id, *h)
	}
	slot, ok := e.jobs.Find(id)
	if !ok {
		return
	}
	e.planResume(slot)
	if h == nil && e.jobs.Options(slot).PauseCounts {
		e.decideLater(slot)
	}
}
