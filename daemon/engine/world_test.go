package engine

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cronring/cronring/crontab"
	"github.com/cronring/cronring/crontab/timetable"
	"github.com/cronring/cronring/daemon/engine/effect"
	"github.com/cronring/cronring/daemon/engine/event"
	"github.com/cronring/cronring/daemon/engine/exchange"
	"github.com/cronring/cronring/daemon/engine/slots"
	"github.com/cronring/cronring/daemon/engine/view"
	"github.com/cronring/cronring/daemon/job"
	"github.com/cronring/cronring/gossip/claims"
	"github.com/cronring/cronring/gossip/register"
)

// fromRing and toRing are messages between the ring of a world and its other members.
type (
	fromRing struct {
		event.Event
		received register.Event
	}
	toRing struct {
		effect.Effect
		sent register.Effect
	}
)

// process is a run as the operating system sees it.
type process struct {
	job job.ID
	up  time.Duration // since boot, when it started
}

// world is everything around an engine that a test needs: a clock that can be set, a
// store that survives the engine, and the processes.
type world struct {
	t        testing.TB
	engine   *Engine
	members  *claims.Ring
	now      job.Moment
	zone     *time.Location
	seed     uint64
	pace     int // pace of the engine; 0: the default
	crontabs []*crontab.File

	// the store
	state   State
	roster  *effect.Roster
	loads   int
	stale   *view.View // the view before the last load
	ledgers map[job.Owned]job.Ledger
	ran     map[job.ID][]job.Run // all records of runs
	marks   map[job.ID]job.Mark
	live    map[job.RunID]job.Run
	dead    map[job.RunID]job.Run // the dead letters, including those that were run again

	family crontab.Family
	limits slots.Limits
	node   string
	labels map[string]string
	ring   event.RingMode

	checking map[job.RunID]bool // commands of if= that are running
	running  map[job.RunID]process
	stopping map[job.RunID]job.Reason // hand-over from the last daemon to the next one
	adopted  bool                     // the next daemon finds the processes again
	owed     []event.Event            // events that result from the effects of the last step
	log      func(effect.Effect)
	check    func(*world, []effect.Effect)
}

func newWorld(t testing.TB, at time.Time, zone *time.Location) *world {
	return &world{
		t: t, node: "box.example.org", now: job.Moment{Wall: at.UTC(), Up: time.Hour}, zone: zone, seed: 1,
		state: State{Holds: job.Holds{}, Stamps: map[string]timetable.Day{}},
		marks: map[job.ID]job.Mark{}, live: map[job.RunID]job.Run{}, dead: map[job.RunID]job.Run{},
		ledgers: map[job.Owned]job.Ledger{}, ran: map[job.ID][]job.Run{}, running: map[job.RunID]process{}, checking: map[job.RunID]bool{},
	}
}

// crontab parses a file that was named on the command line of ann's daemon.
func (w *world) crontab(name, text string) *crontab.File {
	file, _ := crontab.Parse(name, text, crontab.Config{
		User: "ann", Local: w.zone, Zone: time.LoadLocation, Seed: w.seed,
	})
	return file
}

// users parses the crontab of a user.
func (w *world) users(owner, text string) *crontab.File {
	file, _ := crontab.Parse("/var/spool/cron/crontabs/"+owner, text, crontab.Config{
		Owner: owner, Local: w.zone, Zone: time.LoadLocation, Seed: w.seed,
	})
	return file
}

// crontabText is a crontab in a story: the words after load, and the text.
type crontabText struct {
	words []string
	text  string
}

// parse reads all crontabs again.
func (w *world) parse(texts []crontabText) []*crontab.File {
	var crontabs []*crontab.File
	for _, x := range texts {
		name := "story"
		if len(x.words) > 0 {
			name = x.words[0]
		}
		switch {
		case name == "anacrontab" || slices.Contains(x.words, "system"):
			crontabs = append(crontabs, w.system(name, x.text))
		case slices.Contains(x.words, "user"):
			crontabs = append(crontabs, w.users(name, x.text))
		default:
			crontabs = append(crontabs, w.crontab(name, x.text))
		}
	}
	return crontabs
}

// system parses a system crontab: an anacrontab by that name, otherwise a crontab with a
// user column.
func (w *world) system(name, text string) *crontab.File {
	c := crontab.Config{
		Format: crontab.System, Family: w.family, Local: w.zone, Zone: time.LoadLocation, Seed: w.seed, StandIn: true,
	}
	if name == "anacrontab" {
		c.Format = crontab.Anacron
	}
	file, _ := crontab.Parse(name, text, c)
	return file
}

// die ends a daemon; the runs that it was stopping are handed over to the next one.
func (w *world) die() {
	if w.engine != nil {
		w.stopping, w.engine = w.engine.Stopping(), nil
	}
}

// start starts a new daemon with the contents of the store.
func (w *world) start() {
	w.die()
	s := w.state
	if w.roster != nil {
		s.Known = w.roster.All()
	}
	s.Holds = maps.Clone(w.state.Holds)
	s.Marks = slices.Collect(maps.Values(w.marks))
	s.Live = slices.SortedFunc(maps.Values(w.live), func(a, b job.Run) int { return int(a.ID - b.ID) })
	s.Stamps = maps.Clone(w.state.Stamps)
	s.Ledgers = slices.Collect(maps.Values(w.ledgers))
	s.Adopted = w.adopt()
	s.Ran = map[int64]map[int64]job.Verdict{}
	for _, b := range s.Backfills {
		s.Ran[b.ID] = w.ranIn(b.Job, b.From, b.To)
	}
	w.engine, w.members = New(s), claims.New()
	w.engine.Pace(max(w.pace, 1))
	w.owed, w.checking = nil, map[job.RunID]bool{}
	w.state.Booted = false
	w.step(w.load())
}

// ranIn returns the verdicts of the occurrences in a range, by their newest runs.
func (w *world) ranIn(id job.ID, from, to time.Time) map[int64]job.Verdict {
	ran := map[int64]job.Verdict{}
	for _, r := range w.ran[id] {
		if !r.Due.Before(from) && !r.Due.After(to) && r.State != job.RunDropped {
			ran[r.Due.UnixNano()] = r.Verdict
		}
	}
	return ran
}

// load returns the event with the crontabs and the configuration: not prepared,
// prepared for what is installed, or for what was installed before.
func (w *world) load() event.Load {
	ev := event.Load{Crontabs: w.crontabs, Limits: w.limits, Node: w.node, Labels: w.labels, Ring: w.ring}
	if w.engine == nil {
		return ev
	}
	before, now := w.stale, w.engine.View()
	w.stale = now
	switch w.loads++; {
	case w.loads%3 == 1:
		return now.Prepare(ev)
	case w.loads%3 == 2 && before != nil:
		return before.Prepare(ev)
	}
	return ev
}

// adopt lists the processes that the next daemon watches. It never gets events of the
// others.
func (w *world) adopt() []Adopted {
	var adopted []Adopted
	for id, p := range w.running {
		if w.adopted {
			adopted = append(adopted, Adopted{Run: id, PID: 1000 + int(id), Up: p.up, Stop: w.stopping[id]})
		} else {
			delete(w.running, id)
		}
	}
	w.adopted = false
	return adopted
}

// step is the daemon's loop: facts go to the store first, then effects are carried out,
// whose results are events of the next step.
func (w *world) step(events ...event.Event) []effect.Effect {
	events = append(w.owed, events...)
	w.owed = nil
	events = slices.DeleteFunc(events, func(e event.Event) bool {
		from, ok := e.(fromRing)
		if ok {
			w.members.Receive(from.received)
		}
		return ok
	})
	effects := w.engine.StepIn(w.members, w.now, events...)
	for _, x := range w.members.Effects() {
		effects = append(effects, toRing{sent: x})
	}
	w.state.LastSeen, w.state.Era = w.now.Wall, w.engine.Era()
	for _, e := range effects {
		switch e := e.(type) {
		case effect.Fact:
			w.store(e.Record)
		case effect.Roster:
			w.roster = e.After(w.roster)
		case effect.Stamp:
			w.state.Stamps[e.ID] = e.Day
		case effect.Ledger:
			w.ledgers[job.Owned{Job: e.Ledger.Job, User: e.Ledger.User}] = e.Ledger
		}
	}
	for _, e := range effects {
		if w.log != nil {
			w.log(e)
		}
		switch e := e.(type) {
		case effect.Start:
			w.running[e.Run.ID] = process{e.Job.ID, w.now.Up}
			w.owed = append(w.owed, event.Started{Run: e.Run.ID, PID: 1000 + int(e.Run.ID)})
		case effect.Check:
			w.checking[e.Run.ID] = true
		case effect.Kill:
			if w.checking[e.Run] {
				w.answer(e.Run, job.Outcome{Kind: job.Signalled, Signal: 9})
			}
			if _, ok := w.running[e.Run]; ok && e.Signal == 9 {
				w.end(e.Run, job.Outcome{Kind: job.Signalled, Signal: 9})
			}
		}
	}
	if w.check != nil {
		w.check(w, effects)
	}
	return effects
}

// settle passes the results of effects to the engine.
func (w *world) settle() {
	for len(w.owed) > 0 {
		w.step()
	}
}

// answer ends the command of if=.
func (w *world) answer(id job.RunID, o job.Outcome) {
	delete(w.checking, id)
	w.owed = append(w.owed, event.Checked{Run: id, Outcome: o})
}

// end ends the process of a run.
func (w *world) end(id job.RunID, o job.Outcome) {
	delete(w.running, id)
	w.owed = append(w.owed, event.Ended{Run: id, Outcome: o})
}

// fill stores the progress of a backfill.
func (w *world) fill(b job.Backfill) {
	w.state.NextBackfill = max(w.state.NextBackfill, b.ID+1)
	w.state.Backfills = slices.DeleteFunc(w.state.Backfills, func(x job.Backfill) bool { return x.ID == b.ID })
	if b.State == job.BackfillGoing {
		w.state.Backfills = append(w.state.Backfills, b)
	}
}

// store keeps what the real store keeps.
func (w *world) store(r job.Record) {
	if r.Kind == job.Filled {
		w.fill(*r.Backfill)
	}
	if r.Kind == job.Decided && r.Backfill == nil && (r.Run == nil || r.Run.Trigger != job.TriggerManual && r.Run.Trigger != job.TriggerBackfill) {
		w.marks[r.Job] = job.Mark{Job: r.Job, Due: r.Due, Era: r.Era}
	}
	if r.Kind == job.Paused {
		w.state.Holds.Put(r.Job, *r.Hold)
	}
	if r.Kind == job.Resumed {
		w.state.Holds.Lift(r.Job, r.User)
	}
	if r.Run == nil {
		return
	}
	w.state.NextRun = max(w.state.NextRun, r.Run.ID+1)
	w.ran[r.Job] = append(w.ran[r.Job], *r.Run)
	if (r.Kind == job.Ended || r.Kind == job.Dropped) && r.Run.Verdict == job.VerdictDead {
		w.dead[r.Run.ID] = *r.Run
	}
	if r.Run.State.Live() {
		w.live[r.Run.ID] = *r.Run
	} else {
		delete(w.live, r.Run.ID)
	}
}

// advance lets time pass until the wall clock reads at, and wakes the engine at each of
// its wake times.
func (w *world) advance(at time.Time) {
	for {
		w.settle()
		wake := w.engine.Wake()
		if wake.IsZero() || wake.After(at) {
			break
		}
		if wake.After(w.now.Wall) {
			w.pass(wake.Sub(w.now.Wall))
		}
		w.step(event.Tick{})
	}
	if at.After(w.now.Wall) {
		w.pass(at.Sub(w.now.Wall))
	}
}

// pass advances both clocks.
func (w *world) pass(d time.Duration) {
	w.now.Wall, w.now.Up = w.now.Wall.Add(d), w.now.Up+d
}

// set moves the wall clock alone.
func (w *world) set(by time.Duration) { w.now.Wall = w.now.Wall.Add(by) }

// notify describes an effect in one line.
func (w *world) notify(e effect.Effect) string {
	switch e := e.(type) {
	case effect.Fact:
		return w.tellRecord(e.Record)
	case effect.Start:
		line := fmt.Sprintf("  start %d %s attempt=%d trigger=%s", e.Run.ID, e.Job.ID, e.Run.Attempt, e.Run.Trigger)
		for _, p := range e.Run.Parents {
			line += fmt.Sprintf(" parent=%s:%s:%d", p.Job, p.Verdict, p.Run)
		}
		for _, entry := range e.Run.Env {
			line += " env=" + entry
		}
		return line
	case effect.Kill:
		return fmt.Sprintf("  kill %d %v", e.Run, e.Signal)
	case effect.Answer:
		if e.Err != nil {
			return fmt.Sprintf("  refused (%s): %s", e.Err.Kind, e.Err.Reason)
		}
		if b := e.Backfill; b != nil {
			return fmt.Sprintf("  backfill %d is %s", b.ID, b.State)
		}
		return "  granted"
	case effect.Stamp:
		return fmt.Sprintf("  stamp %s %s", e.ID, e.Day)
	case effect.Check:
		return fmt.Sprintf("  check %d %s", e.Run.ID, e.Command)
	case effect.Notify:
		return fmt.Sprintf("  tell %s %s: %s", e.Notice.On, e.Notice.Job, e.Notice.Text)
	case toRing:
		return w.tellRing(e.sent)
	case effect.Roster, effect.Ledger:
		return ""
	}
	return fmt.Sprintf("  %T", e)
}

func (w *world) tellRing(e register.Effect) string {
	switch e := e.(type) {
	case register.Claim:
		return w.tellClaim(e)
	case register.Unstarted:
		line := fmt.Sprintf("  unstarted %d", len(e.Occurrences))
		for _, o := range e.Occurrences {
			slot, _ := w.engine.jobs.FindRing(o.Key)
			line += fmt.Sprintf("\n    %s %s attempt=%d lost=%d", w.engine.jobs.ID(slot), w.clock(o.Time()), o.Attempt, o.Lost)
		}
		return line
	case exchange.Progress:
		slot, _ := w.engine.jobs.FindRing(e.Key)
		return fmt.Sprintf("  %s %s %s", []string{"", "take", "begin", "over"}[e.Phase], w.engine.jobs.ID(slot), w.clock(e.Time()))
	case register.Holdings:
		return fmt.Sprintf("  hold %d", len(e.Holdings))
	}
	return fmt.Sprintf("  %T", e)
}

func (w *world) tellClaim(c register.Claim) string {
	slot, _ := w.engine.jobs.FindRing(c.Key)
	line := fmt.Sprintf("%s claim %s %s", w.clock(w.now.Wall), w.engine.jobs.ID(slot), w.clock(c.Time()))
	for _, x := range []struct {
		is   bool
		word string
	}{{c.Again, " again"}, {c.Ledger, " ledger"}} {
		if x.is {
			line += x.word
		}
	}
	return line
}

func (w *world) tellRecord(r job.Record) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s", w.clock(r.At), r.Kind)
	if r.Decision != "" {
		fmt.Fprintf(&b, " %s", r.Decision)
	}
	if r.Job != "" {
		fmt.Fprintf(&b, " %s", r.Job)
	}
	if r.Count > 1 {
		fmt.Fprintf(&b, " %d from %s to", r.Count, w.clock(r.First))
	}
	if !r.Due.IsZero() && (!r.Due.Equal(r.At) || r.Kind != job.Decided) {
		fmt.Fprintf(&b, " %s", w.clock(r.Due))
	}
	if !r.Was.IsZero() {
		fmt.Fprintf(&b, " from %s", w.clock(r.Was))
	}
	if r.Run != nil {
		fmt.Fprintf(&b, " run %d", r.Run.ID)
		if r.Kind == job.Ended {
			fmt.Fprintf(&b, " %s", r.Run.Ending())
		}
		if r.Kind == job.Queued {
			fmt.Fprintf(&b, " attempt %d", r.Run.Attempt)
		}
	}
	if f := r.Backfill; f != nil && r.Kind == job.Filled {
		fmt.Fprintf(&b, " %d %s: %d started, %d skipped, %d failed", f.ID, f.State, f.Started, f.Skipped, f.Failed)
	}
	if r.Reason != "" {
		fmt.Fprintf(&b, " %s", r.Reason)
	}
	if r.Detail != "" {
		fmt.Fprintf(&b, " (%s)", r.Detail)
	}
	return b.String()
}

// clock formats an instant in the world's zone, with the date unless it is today.
func (w *world) clock(t time.Time) string {
	t = t.In(w.zone)
	if t.Format(time.DateOnly) == w.now.Wall.In(w.zone).Format(time.DateOnly) {
		return t.Format(time.TimeOnly)
	}
	return t.Format(time.DateTime)
}
