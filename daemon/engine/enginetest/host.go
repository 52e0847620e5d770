package enginetest

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
	"github.com/cronring/cronring/daemon/engine/memorystore"
	"github.com/cronring/cronring/daemon/engine/slots"
	"github.com/cronring/cronring/daemon/job"
)

// Host is a simulated host: its clocks, crontabs, daemon, the content of the
// daemon's store, and processes.
type Host struct {
	Seed    uint64
	Now     job.Moment
	Engine  *engine.Engine
	Daemons []Daemon      // one for each start of the daemon, oldest first
	Watch   Watcher       // receives events; may be nil
	Story   func() string // returns a log of all events, for a failed test

	rng     *rand.Rand
	story   strings.Builder
	zone    *time.Location
	files   []*file
	sidecar *sidecar.Sidecar
	limits  slots.Limits

	blackouts timetable.Blackouts
	rate      int // of what is caught up, a second and user

	store     *memorystore.Store
	lastSeen  time.Time // of the store
	era       job.Era   // of the store
	processes map[job.RunID]*process
	checks    map[job.RunID]*process
	pending   []event.Event // events caused by the effects of the last step
	stopping  map[job.RunID]job.Reason
	booted    bool
	adopts    bool // the next daemon adopts the processes
}

// Daemon is the steps of one daemon process that the store received.
type Daemon struct {
	Boot  string
	Steps []Step
}

// Step is the effects of one step of the engine.
type Step struct {
	At      time.Time
	Era     job.Era
	Effects []effect.Effect
}

// Watcher receives the steps of a host.
type Watcher interface {
	// Step is called after the store received a step. back is how far the clock
	// was set back since the previous step. loaded reports whether the step read
	// crontabs.
	Step(h *Host, s Step, back time.Duration, loaded bool)
	// Idle is called when the engine has nothing to do until its next wake time.
	Idle(h *Host)
}

// process is a running process.
type process struct {
	began, ends time.Duration // since boot; it ends by itself then
	outcome     job.Outcome
	ignoresTerm bool // it ignores TERM
}

// NewHost returns the host of a seed. Its daemon is not started yet.
func NewHost(seed uint64) *Host {
	rng := rand.New(rand.NewPCG(seed, 2))
	at := time.Date(2026, time.Month(1+rng.IntN(12)), 1+rng.IntN(28), rng.IntN(24), rng.IntN(60), rng.IntN(60), rng.IntN(1e9), time.UTC)
	h := &Host{
		Seed: seed, rng: rng, Now: job.Moment{Wall: at, Up: time.Hour}, booted: rng.IntN(2) == 0,
		store:     memorystore.New(),
		processes: map[job.RunID]*process{}, checks: map[job.RunID]*process{},
	}
	h.Story = h.story.String
	h.move()
	h.drawSidecar()
	h.drawLimits()
	h.files = []*file{{name: "/var/spool/cron/crontabs/ann", owner: "ann"}}
	if rng.IntN(2) == 0 {
		h.files = append(h.files, &file{name: "/var/spool/cron/crontabs/bob", owner: "bob"})
	}
	if rng.IntN(2) == 0 {
		h.files = append(h.files, &file{name: "/etc/cron.d/host", format: crontab.System})
	}
	if rng.IntN(3) == 0 {
		h.files = append(h.files, &file{name: "/etc/anacrontab", format: crontab.Anacron})
		for _, id := range []string{"cron.daily", "cron.weekly"} {
			h.store.Stamps[id] = timetable.DayOf(at, nil) - timetable.Day(rng.IntN(20))
		}
	}
	for _, f := range h.files {
		h.draw(f)
		h.parse(f)
	}
	return h
}

func (h *Host) move() {
	zones := []string{"UTC", "America/New_York", "Europe/London", "Australia/Lord_Howe", "Asia/Kathmandu"}
	zone, err := time.LoadLocation(zones[h.rng.IntN(len(zones))])
	if err != nil {
		panic(err)
	}
	h.zone = zone
}

// Crontabs returns the text of all crontabs.
func (h *Host) Crontabs() string {
	var b strings.Builder
	for _, f := range h.files {
		fmt.Fprintf(&b, "== %s\n%s", f.name, f.text)
	}
	return b.String()
}

func (h *Host) note(format string, args ...any) {
	fmt.Fprintf(&h.story, "> "+format+"\n", args...)
}

// load returns the event that loads the installed crontabs.
func (h *Host) load() event.Load {
	l := event.Load{Limits: h.limits, Blackouts: h.blackouts, Node: Node, CatchupRate: h.rate}
	for _, f := range h.files {
		l.Crontabs = append(l.Crontabs, f.parsed)
	}
	return l
}

// start starts a new daemon with the content of the store.
func (h *Host) start() {
	h.note("start at %s", h.Now.Wall.Format(time.RFC3339))
	s := engine.State{
		Holds: maps.Clone(h.store.Holds), Stamps: maps.Clone(h.store.Stamps), Known: h.store.Known(), NextRun: h.store.NextRun,
		Marks:     slices.Collect(maps.Values(h.store.Marks)),
		Live:      slices.SortedFunc(maps.Values(h.store.Live), func(a, b job.Run) int { return int(a.ID - b.ID) }),
		Summaries: slices.Collect(maps.Values(h.store.Summaries)),
		Backfills: slices.SortedFunc(maps.Values(h.store.Backfills), func(a, b job.Backfill) int { return int(a.ID - b.ID) }),
		Ran:       h.store.RanInBackfills(), NextBackfill: h.store.NextBackfill,
		LastSeen: h.lastSeen, Era: h.era, Booted: h.booted,
	}
	h.booted = false
	for _, id := range slices.Sorted(maps.Keys(h.processes)) {
		if !h.adopts {
			delete(h.processes, id)
			continue
		}
		s.Adopted = append(s.Adopted, engine.Adopted{Run: id, PID: 1000 + int(id), Up: h.processes[id].began, Stop: h.stopping[id]})
	}
	h.pending, h.checks, h.adopts, h.stopping = nil, map[job.RunID]*process{}, false, nil
	h.Engine = engine.New(s)
	h.Daemons = append(h.Daemons, Daemon{Boot: fmt.Sprintf("boot-%d", len(h.Daemons))})
	h.step(h.load())
}

// crashPoint is the point of a step at which the daemon dies.
type crashPoint int

const (
	noCrash      crashPoint = iota
	beforeCommit            // before the store received the effects
	afterCommit             // after the store received them, before they are executed
)

func (h *Host) step(events ...event.Event) { h.stepTo(noCrash, events...) }

func (h *Host) stepTo(f crashPoint, events ...event.Event) {
	before := h.now()
	events = append(h.pending, events...)
	h.pending = nil
	effects := h.Engine.Step(h.Now, events...)
	if f == beforeCommit {
		return
	}
	loaded := slices.ContainsFunc(events, func(ev event.Event) bool { _, is := ev.(event.Load); return is })
	daemon := &h.Daemons[len(h.Daemons)-1]
	s := Step{h.Now.Wall, h.Engine.Era(), effects}
	daemon.Steps = append(daemon.Steps, s)
	h.keep(s)
	if h.Watch != nil {
		h.Watch.Step(h, s, before.Sub(h.Now.Wall), loaded)
	}
	if f == noCrash {
		for _, e := range effects {
			h.execute(e)
		}
	}
}

// now returns the time that the daemon expects, if the clock was not set.
func (h *Host) now() time.Time {
	if v := h.Engine.View().Now(); v.Up > 0 {
		return v.Wall.Add(h.Now.Up - v.Up)
	}
	return h.lastSeen
}

// keep stores the effects of a step.
func (h *Host) keep(s Step) {
	if len(s.Effects) > 0 {
		h.lastSeen, h.era = s.At, s.Era
	}
	for _, e := range s.Effects {
		h.store.Keep(e)
		switch e := e.(type) {
		case effect.Fact:
			fmt.Fprintln(&h.story, format(e.Record))
			if e.Record.Kind == job.Redrove || e.Record.Kind == job.Buried { // users retry each dead letter once
				delete(h.store.Dead, e.Record.Run.ID)
			}
		case effect.Notify:
			if e.Notice.Ping != "" {
				fmt.Fprintf(&h.story, "  ping %s %s\n", e.Notice.On, e.Notice.Ping)
				break
			}
			fmt.Fprintf(&h.story, "  tell %s %s\n", e.Notice.On, e.Notice.Text)
		}
	}
}

// execute executes an effect, and simulates the reaction of the host.
func (h *Host) execute(e effect.Effect) {
	switch e := e.(type) {
	case effect.Start:
		if h.rng.IntN(25) == 0 {
			h.pending = append(h.pending, event.Ended{Run: e.Run.ID, Outcome: job.Outcome{Kind: job.NotStarted, Error: "no such shell"}})
			return
		}
		h.processes[e.Run.ID] = h.process()
		h.pending = append(h.pending, event.Started{Run: e.Run.ID, PID: 1000 + int(e.Run.ID)})
	case effect.Check:
		h.checks[e.Run.ID] = &process{ends: h.Now.Up + time.Duration(h.rng.IntN(20))*time.Second, outcome: job.Outcome{Kind: job.Exited, Code: h.rng.IntN(2)}}
	case effect.Measure:
		unmet := event.Unmet{}
		if h.rng.IntN(3) == 0 {
			unmet = event.Unmet{Options: "load", Detail: "load is 5", Skip: e.Conditions.Skip}
		}
		h.pending = append(h.pending, event.Measured{Run: e.Run, Unmet: unmet})
	case effect.Kill:
		if c := h.checks[e.Run]; c != nil {
			c.ends, c.outcome = h.Now.Up, job.Outcome{Kind: job.Signalled, Signal: int(e.Signal)}
		}
		if p := h.processes[e.Run]; p != nil && (e.Signal == syscall.SIGKILL || !p.ignoresTerm) {
			p.ends = min(p.ends, h.Now.Up+time.Duration(h.rng.IntN(8))*time.Second)
			if h.rng.IntN(4) > 0 || e.Signal == syscall.SIGKILL {
				p.outcome = job.Outcome{Kind: job.Signalled, Signal: int(e.Signal)}
			}
			if e.Signal == syscall.SIGKILL {
				p.ends = h.Now.Up
			}
		}
	}
}

// manyProcesses is the number of processes at which new ones last only a few minutes. Each step
// takes time for each process, so a host with thousands would take hours.
const manyProcesses = 100

// process returns a process with a random duration and outcome.
func (h *Host) process() *process {
	lengths := []time.Duration{time.Second, time.Minute, 20 * time.Minute, 3 * time.Hour, 1000 * time.Hour}
	p := &process{began: h.Now.Up, ignoresTerm: h.rng.IntN(4) == 0}
	p.ends = p.began + time.Duration(h.rng.Int64N(int64(lengths[h.rng.IntN(len(lengths))])))
	if len(h.processes) >= manyProcesses {
		p.ends = min(p.ends, p.began+5*time.Minute)
	}
	codes := []int{0, 0, 0, 0, 1, 2, 3, 10, 75, 99, 127}
	p.outcome = job.Outcome{Kind: job.Exited, Code: codes[h.rng.IntN(len(codes))]}
	if h.rng.IntN(20) == 0 {
		p.outcome = job.Outcome{Kind: job.Lost, Error: "its end was not seen"}
	}
	return p
}

// ends queues events for processes and commands of if= that have ended. It returns
// the time since boot at which the next one ends, or 0.
func (h *Host) ends() (next time.Duration) {
	for _, id := range slices.Sorted(maps.Keys(h.checks)) {
		c := h.checks[id]
		if c.ends <= h.Now.Up {
			delete(h.checks, id)
			h.pending = append(h.pending, event.Checked{Run: id, Outcome: c.outcome})
		} else if next == 0 || c.ends < next {
			next = c.ends
		}
	}
	for _, id := range slices.Sorted(maps.Keys(h.processes)) {
		p := h.processes[id]
		if p.ends <= h.Now.Up {
			delete(h.processes, id)
			ended := event.Ended{Run: id, Outcome: p.outcome, Usage: job.Usage{CPU: time.Second}}
			if p.outcome.Kind == job.Signalled && h.rng.IntN(3) == 0 {
				ended.Limit = job.OverMemory
			}
			h.pending = append(h.pending, ended)
		} else if next == 0 || p.ends < next {
			next = p.ends
		}
	}
	return next
}

// pass advances both clocks.
func (h *Host) pass(d time.Duration) { h.Now.Wall, h.Now.Up = h.Now.Wall.Add(d), h.Now.Up+d }

// run simulates a period with a running daemon: it steps the engine at its wake
// times and whenever a process ends.
func (h *Host) run(d time.Duration) {
	until := h.Now.Up + d
	for {
		next := h.ends()
		if len(h.pending) > 0 {
			h.step()
			continue
		}
		wake := h.Engine.Wake()
		if !wake.IsZero() && !wake.After(h.Now.Wall) {
			h.step(event.Tick{})
			continue
		}
		if h.Watch != nil {
			h.Watch.Idle(h)
		}
		if !wake.IsZero() && (next == 0 || h.Now.Up+wake.Sub(h.Now.Wall) < next) {
			next = h.Now.Up + wake.Sub(h.Now.Wall)
		}
		if next == 0 || next > until {
			h.pass(until - h.Now.Up)
			h.step(event.Tick{})
			return
		}
		h.pass(next - h.Now.Up)
		h.step(event.Tick{})
	}
}

// format formats a record in one line.
func format(r job.Record) string {
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
