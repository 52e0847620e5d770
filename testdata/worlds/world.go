package worlds

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/cronring/cronring/crontab"
	"github.com/cronring/cronring/crontab/sidecar"
	"github.com/cronring/cronring/crontab/timetable"
	"github.com/cronring/cronring/daemon/engine"
	"github.com/cronring/cronring/daemon/engine/effect"
	"github.com/cronring/cronring/daemon/engine/event"
	"github.com/cronring/cronring/daemon/engine/slots"
	"github.com/cronring/cronring/daemon/job"
)

// World is a simulated host: its clocks, crontabs, daemon, the content of the
// daemon's store, and processes.
type World struct {
	Seed   uint64
	Now    job.Moment
	Engine *engine.Engine
	Lives  []Life        // one for each start of the daemon, oldest first
	Watch  Watcher       // receives events; may be nil
	Story  func() string // returns a log of all events, for a failed test

	rng     *rand.Rand
	story   strings.Builder
	zone    *time.Location
	files   []*file
	sidecar *sidecar.Sidecar
	limits  slots.Limits

	kept      kept
	processes map[job.RunID]*process
	checks    map[job.RunID]*process
	owed      []event.Event // events caused by the effects of the last step
	stopping  map[job.RunID]job.Reason
	booted    bool
	adopts    bool // the next daemon adopts the processes
}

// Life is the steps of one daemon process that the store received.
type Life struct {
	Boot  string
	Steps []Step
}

// Step is the effects of one step of the engine.
type Step struct {
	At      time.Time
	Era     job.Era
	Effects []effect.Effect
}

// Watcher receives the events of a world.
type Watcher interface {
	// Step is called after the store received a step. back is how far the clock
	// was set back since the previous step. loaded reports whether the step read
	// crontabs.
	Step(w *World, s Step, back time.Duration, loaded bool)
	// Sleeps is called when the engine has nothing to do until its next wake time.
	Sleeps(w *World)
}

// kept is the content of the daemon's store.
type kept struct {
	state   engine.State
	roster  *effect.Roster
	marks   map[job.ID]job.Mark
	live    map[job.RunID]job.Run
	ledgers map[jobOf]job.Ledger
	ran     map[job.ID][]job.Run
	dead    map[job.RunID]job.Run
	fills   map[int64]job.Backfill
}

// jobOf identifies a job and its user.
type jobOf struct {
	job  job.ID
	user string
}

// process is a running process.
type process struct {
	began, ends time.Duration // since boot; it ends by itself then
	outcome     job.Outcome
	deaf        bool // it ignores TERM
}

// New returns the world of a seed. Its daemon is not started yet.
func New(seed uint64) *World {
	rng := rand.New(rand.NewPCG(seed, 2))
	at := time.Date(2026, time.Month(1+rng.IntN(12)), 1+rng.IntN(28), rng.IntN(24), rng.IntN(60), rng.IntN(60), rng.IntN(1e9), time.UTC)
	w := &World{
		Seed: seed, rng: rng, Now: job.Moment{Wall: at, Up: time.Hour}, booted: rng.IntN(2) == 0,
		kept: kept{
			state: engine.State{Holds: job.Holds{}, Stamps: map[string]timetable.Day{}, NextRun: 1, NextBackfill: 1},
			marks: map[job.ID]job.Mark{}, live: map[job.RunID]job.Run{}, ledgers: map[jobOf]job.Ledger{},
			ran: map[job.ID][]job.Run{}, dead: map[job.RunID]job.Run{}, fills: map[int64]job.Backfill{},
		},
		processes: map[job.RunID]*process{}, checks: map[job.RunID]*process{},
	}
	w.Story = w.story.String
	w.move()
	w.drawSidecar()
	w.drawLimits()
	w.files = []*file{{name: "/var/spool/cron/crontabs/ann", owner: "ann"}}
	if rng.IntN(2) == 0 {
		w.files = append(w.files, &file{name: "/var/spool/cron/crontabs/bob", owner: "bob"})
	}
	if rng.IntN(2) == 0 {
		w.files = append(w.files, &file{name: "/etc/cron.d/host", format: crontab.System})
	}
	if rng.IntN(3) == 0 {
		w.files = append(w.files, &file{name: "/etc/anacrontab", format: crontab.Anacron})
		for _, id := range []string{"cron.daily", "cron.weekly"} {
			w.kept.state.Stamps[id] = timetable.DayOf(at, nil) - timetable.Day(rng.IntN(20))
		}
	}
	for _, f := range w.files {
		w.draw(f)
		w.parse(f)
	}
	return w
}

func (w *World) move() {
	zones := []string{"UTC", "America/New_York", "Europe/London", "Australia/Lord_Howe", "Asia/Kathmandu"}
	zone, err := time.LoadLocation(zones[w.rng.IntN(len(zones))])
	if err != nil {
		panic(err)
	}
	w.zone = zone
}

// Crontabs returns the text of all crontabs.
func (w *World) Crontabs() string {
	var b strings.Builder
	for _, f := range w.files {
		fmt.Fprintf(&b, "== %s\n%s", f.name, f.text)
	}
	return b.String()
}

func (w *World) say(format string, args ...any) {
	fmt.Fprintf(&w.story, "> "+format+"\n", args...)
}

// load returns the event that loads the installed crontabs.
func (w *World) load() event.Load {
	l := event.Load{Limits: w.limits, Node: Node}
	for _, f := range w.files {
		l.Crontabs = append(l.Crontabs, f.parsed)
	}
	return l
}

// start starts a new daemon with the content of the store.
func (w *World) start() {
	w.say("start at %s", w.Now.Wall.Format(time.RFC3339))
	s := w.kept.state
	s.Holds, s.Stamps = maps.Clone(s.Holds), maps.Clone(s.Stamps)
	s.Marks = slices.Collect(maps.Values(w.kept.marks))
	s.Live = slices.SortedFunc(maps.Values(w.kept.live), func(a, b job.Run) int { return int(a.ID - b.ID) })
	s.Ledgers = slices.Collect(maps.Values(w.kept.ledgers))
	s.Booted, w.booted = w.booted, false
	s.Ran = map[int64]map[int64]job.Verdict{}
	for _, id := range slices.Sorted(maps.Keys(w.kept.fills)) {
		b := w.kept.fills[id]
		s.Backfills = append(s.Backfills, b)
		s.Ran[id] = w.ranIn(b.Job, b.From, b.To)
	}
	for _, id := range slices.Sorted(maps.Keys(w.processes)) {
		if !w.adopts {
			delete(w.processes, id)
			continue
		}
		s.Adopted = append(s.Adopted, engine.Adopted{Run: id, PID: 1000 + int(id), Up: w.processes[id].began, Stop: w.stopping[id]})
	}
	w.owed, w.checks, w.adopts, w.stopping = nil, map[job.RunID]*process{}, false, nil
	w.Engine = engine.New(s)
	w.Lives = append(w.Lives, Life{Boot: fmt.Sprintf("boot-%d", len(w.Lives))})
	w.step(w.load())
}

// ranIn returns the verdict of the newest run of each occurrence from from to to.
func (w *World) ranIn(id job.ID, from, to time.Time) map[int64]job.Verdict {
	ran := map[int64]job.Verdict{}
	for _, r := range w.kept.ran[id] {
		if !r.Due.Before(from) && !r.Due.After(to) && r.State != job.RunDropped {
			ran[r.Due.UnixNano()] = r.Verdict
		}
	}
	return ran
}

// fate is the point of a step at which the daemon dies.
type fate int

const (
	lives      fate = iota
	diesBefore      // before the store received the effects
	diesAfter       // after the store received them, before they are executed
)

func (w *World) step(events ...event.Event) { w.stepTo(lives, events...) }

func (w *World) stepTo(f fate, events ...event.Event) {
	before := w.now()
	events = append(w.owed, events...)
	w.owed = nil
	effects := w.Engine.Step(w.Now, events...)
	if f == diesBefore {
		return
	}
	loaded := slices.ContainsFunc(events, func(ev event.Event) bool { _, is := ev.(event.Load); return is })
	life := &w.Lives[len(w.Lives)-1]
	s := Step{w.Now.Wall, w.Engine.Era(), effects}
	life.Steps = append(life.Steps, s)
	w.keep(s)
	if w.Watch != nil {
		w.Watch.Step(w, s, before.Sub(w.Now.Wall), loaded)
	}
	if f == lives {
		for _, e := range effects {
			w.act(e)
		}
	}
}

// now returns the time that the daemon expects, if the clock was not set.
func (w *World) now() time.Time {
	if v := w.Engine.View().Now(); v.Up > 0 {
		return v.Wall.Add(w.Now.Up - v.Up)
	}
	return w.kept.state.LastSeen
}

// keep stores the effects of a step.
func (w *World) keep(s Step) {
	k := &w.kept
	if len(s.Effects) > 0 {
		k.state.LastSeen, k.state.Era = s.At, s.Era
	}
	for _, e := range s.Effects {
		switch e := e.(type) {
		case effect.Fact:
			fmt.Fprintln(&w.story, tell(e.Record))
			k.record(e.Record)
		case effect.Roster:
			k.roster = e.After(k.roster)
			k.state.Known = k.roster.All()
		case effect.Stamp:
			k.state.Stamps[e.ID] = e.Day
		case effect.Ledger:
			k.ledgers[jobOf{e.Ledger.Job, e.Ledger.User}] = e.Ledger
		case effect.Notify:
			fmt.Fprintf(&w.story, "  tell %s %s\n", e.Notice.On, e.Notice.Text)
		}
	}
}

func (k *kept) record(r job.Record) {
	switch {
	case r.Kind == job.Filled && r.Backfill.State == job.BackfillGoing:
		k.fills[r.Backfill.ID] = *r.Backfill
	case r.Kind == job.Filled:
		delete(k.fills, r.Backfill.ID)
	case r.Kind == job.Paused:
		k.state.Holds.Put(r.Job, *r.Hold)
	case r.Kind == job.Resumed:
		k.state.Holds.Lift(r.Job, r.User)
	case r.Kind == job.Redrove || r.Kind == job.Buried:
		delete(k.dead, r.Run.ID)
		return
	case r.DecidesOccurrence():
		if m := k.marks[r.Job]; r.Era > m.Era || r.Era == m.Era && r.Due.After(m.Due) {
			k.marks[r.Job] = job.Mark{Job: r.Job, Due: r.Due, Era: r.Era}
		}
	}
	if r.Kind == job.Filled {
		k.state.NextBackfill = max(k.state.NextBackfill, r.Backfill.ID+1)
	}
	if r.Run == nil {
		return
	}
	k.state.NextRun = max(k.state.NextRun, r.Run.ID+1)
	k.ran[r.Job] = append(k.ran[r.Job], *r.Run)
	if (r.Kind == job.Ended || r.Kind == job.Dropped) && r.Run.Verdict == job.VerdictDead {
		k.dead[r.Run.ID] = *r.Run
	}
	if k.live[r.Run.ID] = *r.Run; !r.Run.State.Live() {
		delete(k.live, r.Run.ID)
	}
}

// act executes an effect, and simulates the reaction of the host.
func (w *World) act(e effect.Effect) {
	switch e := e.(type) {
	case effect.Start:
		if w.rng.IntN(25) == 0 {
			w.owed = append(w.owed, event.Ended{Run: e.Run.ID, Outcome: job.Outcome{Kind: job.NotStarted, Error: "no such shell"}})
			return
		}
		w.processes[e.Run.ID] = w.process()
		w.owed = append(w.owed, event.Started{Run: e.Run.ID, PID: 1000 + int(e.Run.ID)})
	case effect.Check:
		w.checks[e.Run.ID] = &process{ends: w.Now.Up + time.Duration(w.rng.IntN(20))*time.Second, outcome: job.Outcome{Kind: job.Exited, Code: w.rng.IntN(2)}}
	case effect.Kill:
		if c := w.checks[e.Run]; c != nil {
			c.ends, c.outcome = w.Now.Up, job.Outcome{Kind: job.Signalled, Signal: int(e.Signal)}
		}
		if p := w.processes[e.Run]; p != nil && (e.Signal == syscall.SIGKILL || !p.deaf) {
			p.ends = min(p.ends, w.Now.Up+time.Duration(w.rng.IntN(8))*time.Second)
			if w.rng.IntN(4) > 0 || e.Signal == syscall.SIGKILL {
				p.outcome = job.Outcome{Kind: job.Signalled, Signal: int(e.Signal)}
			}
			if e.Signal == syscall.SIGKILL {
				p.ends = w.Now.Up
			}
		}
	}
}

// crowd is the number of processes from which on none lasts longer than a few minutes. As each step
// takes time for each of them, a world with thousands would take hours.
const crowd = 100

// process returns a process with a random duration and outcome.
func (w *World) process() *process {
	lengths := []time.Duration{time.Second, time.Minute, 20 * time.Minute, 3 * time.Hour, 1000 * time.Hour}
	p := &process{began: w.Now.Up, deaf: w.rng.IntN(4) == 0}
	p.ends = p.began + time.Duration(w.rng.Int64N(int64(lengths[w.rng.IntN(len(lengths))])))
	if len(w.processes) >= crowd {
		p.ends = min(p.ends, p.began+5*time.Minute)
	}
	codes := []int{0, 0, 0, 0, 1, 2, 3, 10, 75, 99, 127}
	p.outcome = job.Outcome{Kind: job.Exited, Code: codes[w.rng.IntN(len(codes))]}
	if w.rng.IntN(20) == 0 {
		p.outcome = job.Outcome{Kind: job.Lost, Error: "its end was not seen"}
	}
	return p
}

// ends queues events for processes and commands of if= that have ended. It returns
// the time since boot at which the next one ends, or 0.
func (w *World) ends() (next time.Duration) {
	for _, id := range slices.Sorted(maps.Keys(w.checks)) {
		c := w.checks[id]
		if c.ends <= w.Now.Up {
			delete(w.checks, id)
			w.owed = append(w.owed, event.Checked{Run: id, Outcome: c.outcome})
		} else if next == 0 || c.ends < next {
			next = c.ends
		}
	}
	for _, id := range slices.Sorted(maps.Keys(w.processes)) {
		p := w.processes[id]
		if p.ends <= w.Now.Up {
			delete(w.processes, id)
			ended := event.Ended{Run: id, Outcome: p.outcome, Usage: job.Usage{CPU: time.Second}}
			if p.outcome.Kind == job.Signalled && w.rng.IntN(3) == 0 {
				ended.Limit = job.OverMemory
			}
			w.owed = append(w.owed, ended)
		} else if next == 0 || p.ends < next {
			next = p.ends
		}
	}
	return next
}

// pass advances both clocks.
func (w *World) pass(d time.Duration) { w.Now.Wall, w.Now.Up = w.Now.Wall.Add(d), w.Now.Up+d }

// awake simulates a period with a running daemon: it steps the engine at its wake
// times and whenever a process ends.
func (w *World) awake(d time.Duration) {
	until := w.Now.Up + d
	for {
		next := w.ends()
		if len(w.owed) > 0 {
			w.step()
			continue
		}
		wake := w.Engine.Wake()
		if !wake.IsZero() && !wake.After(w.Now.Wall) {
			w.step(event.Tick{})
			continue
		}
		if w.Watch != nil {
			w.Watch.Sleeps(w)
		}
		if !wake.IsZero() && (next == 0 || w.Now.Up+wake.Sub(w.Now.Wall) < next) {
			next = w.Now.Up + wake.Sub(w.Now.Wall)
		}
		if next == 0 || next > until {
			w.pass(until - w.Now.Up)
			w.step(event.Tick{})
			return
		}
		w.pass(next - w.Now.Up)
		w.step(event.Tick{})
	}
}

// tell formats a record in one line.
func tell(r job.Record) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s %s %s due %s era %d", r.At.Format("01-02 15:04:05.000"), r.Kind, r.Decision, r.Job, r.Due.Format("01-02 15:04:05.000"), r.Era)
	if r.Count > 0 {
		fmt.Fprintf(&b, " %d from %s", r.Count, r.First.Format("01-02 15:04:05"))
	}
	if r.Run != nil {
		fmt.Fprintf(&b, " run %d attempt %d %s %s %s %s", r.Run.ID, r.Run.Attempt, r.Run.Trigger, r.Run.State, r.Run.Outcome, r.Run.Verdict)
	}
	if r.Backfill != nil {
		fmt.Fprintf(&b, " backfill %d %s %d", r.Backfill.ID, r.Backfill.State, r.Backfill.Started)
	}
	fmt.Fprintf(&b, " %s (%s)", r.Reason, r.Detail)
	return b.String()
}
