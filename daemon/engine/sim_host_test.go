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
	"github.com/cronring/cronring/daemon/engine/memorystore"
	"github.com/cronring/cronring/daemon/engine/slots"
	"github.com/cronring/cronring/daemon/engine/view"
	"github.com/cronring/cronring/daemon/job"
	"github.com/cronring/cronring/gossip/claims"
	"github.com/cronring/cronring/gossip/holders"
)

// fromRing and toRing are messages between the ring of a host and its other members.
type (
	fromRing struct {
		event.Event
		received holders.Event
	}
	toRing struct {
		effect.Effect
		sent holders.Effect
	}
)

// process is a run as the operating system sees it.
type process struct {
	job job.ID
	up  time.Duration // since boot, when it started
}

// simHost is a simulated host: an engine with a clock that can be set, a store that survives the
// engine, and processes.
type simHost struct {
	t        testing.TB
	engine   *Engine
	members  *claims.Ring
	now      job.Moment
	zone     *time.Location
	seed     uint64
	pace     int // pace of the engine; 0: the default
	crontabs []*crontab.File

	store    *memorystore.Store
	lastSeen time.Time // of the store
	era      job.Era   // of the store
	booted   bool      // the next daemon is the first one since the host booted
	loads    int
	stale    *view.View // the view before the last load

	family crontab.Family
	limits slots.Limits

	blackouts timetable.Blackouts
	rate      int // see event.Load.CatchupRate
	node      string
	labels    map[string]string
	ring      event.RingMode

	checking map[job.RunID]string // commands of if= that are running, with their users
	measured map[job.RunID]bool   // runs whose conditions are being measured
	running  map[job.RunID]process
	stopping map[job.RunID]job.Reason // hand-over from the last daemon to the next one
	adopted  bool                     // the next daemon finds the processes again
	owed     []event.Event            // events that result from the effects of the last step
	log      func(effect.Effect)
	check    func(*simHost, []effect.Effect)
}

func newSimHost(t testing.TB, at time.Time, zone *time.Location) *simHost {
	return &simHost{
		t: t, node: "box.example.org", now: job.Moment{Wall: at.UTC(), Up: time.Hour}, zone: zone, seed: 1,
		store: memorystore.New(), running: map[job.RunID]process{}, checking: map[job.RunID]string{}, measured: map[job.RunID]bool{},
	}
}

// simCalendars are those of the configuration: odd days, and holidays of 2026.
var simCalendars = map[string]timetable.Calendar{
	"odd": {Dates: timetable.NewDates("odd", func() (odd []timetable.DateRange) {
		for at := time.Date(2025, 1, 1, 0, 0, 0, 0, time.UTC); at.Year() < 2029; at = at.AddDate(0, 0, 2) {
			odd = append(odd, timetable.DateRange{First: timetable.DayOf(at, nil), Last: timetable.DayOf(at, nil)})
		}
		return odd
	}())},
	"cn-holidays": {Dates: timetable.NewDates("cn-holidays", []timetable.DateRange{
		{First: timetable.DayOf(time.Date(2026, 10, 1, 0, 0, 0, 0, time.UTC), nil), Last: timetable.DayOf(time.Date(2026, 10, 7, 0, 0, 0, 0, time.UTC), nil)},
		{First: timetable.DayOf(time.Date(2026, 11, 30, 0, 0, 0, 0, time.UTC), nil), Last: timetable.DayOf(time.Date(2026, 11, 30, 0, 0, 0, 0, time.UTC), nil)},
	})},
}

// crontab parses a file that was named on the command line of ann's daemon.
func (h *simHost) crontab(name, text string) *crontab.File {
	file, _ := crontab.Parse(name, text, crontab.Config{
		User: "ann", Local: h.zone, Zone: time.LoadLocation, Seed: h.seed, Calendars: simCalendars,
	})
	return file
}

// users parses the crontab of a user.
func (h *simHost) users(owner, text string) *crontab.File {
	file, _ := crontab.Parse("/var/spool/cron/crontabs/"+owner, text, crontab.Config{
		Owner: owner, Local: h.zone, Zone: time.LoadLocation, Seed: h.seed, Calendars: simCalendars,
	})
	return file
}

// crontabText is a crontab in a story: the words after load, and the text.
type crontabText struct {
	words []string
	text  string
}

// parse reads all crontabs again.
func (h *simHost) parse(texts []crontabText) []*crontab.File {
	var crontabs []*crontab.File
	for _, x := range texts {
		name := "story"
		if len(x.words) > 0 {
			name = x.words[0]
		}
		switch {
		case name == "anacrontab" || slices.Contains(x.words, "system"):
			crontabs = append(crontabs, h.system(name, x.text))
		case slices.Contains(x.words, "user"):
			crontabs = append(crontabs, h.users(name, x.text))
		default:
			crontabs = append(crontabs, h.crontab(name, x.text))
		}
	}
	return crontabs
}

// system parses a system crontab: an anacrontab by that name, otherwise a crontab with a
// user column.
func (h *simHost) system(name, text string) *crontab.File {
	c := crontab.Config{
		Format: crontab.System, Family: h.family, Local: h.zone, Zone: time.LoadLocation, Seed: h.seed, StandIn: true, Calendars: simCalendars,
	}
	if name == "anacrontab" {
		c.Format = crontab.Anacron
	}
	file, _ := crontab.Parse(name, text, c)
	return file
}

// die ends a daemon; the runs that it was stopping are handed over to the next one.
func (h *simHost) die() {
	if h.engine != nil {
		h.stopping, h.engine = h.engine.Stopping(), nil
	}
}

// start starts a new daemon with the contents of the store.
func (h *simHost) start() {
	h.die()
	s := State{
		Holds: maps.Clone(h.store.Holds), Stamps: maps.Clone(h.store.Stamps), Known: h.store.Known(), NextRun: h.store.NextRun,
		Marks:     slices.Collect(maps.Values(h.store.Marks)),
		Live:      slices.SortedFunc(maps.Values(h.store.Live), func(a, b job.Run) int { return int(a.ID - b.ID) }),
		Handed:    slices.SortedFunc(slices.Values(h.store.Handed()), func(a, b job.Run) int { return int(a.ID - b.ID) }),
		Summaries: slices.Collect(maps.Values(h.store.Summaries)),
		Backfills: slices.SortedFunc(maps.Values(h.store.Backfills), func(a, b job.Backfill) int { return int(a.ID - b.ID) }),
		Ran:       h.store.RanInBackfills(), NextBackfill: h.store.NextBackfill,
		LastSeen: h.lastSeen, Era: h.era, Booted: h.booted, Adopted: h.adopt(),
	}
	h.engine, h.members = New(s), claims.New()
	h.engine.Pace(max(h.pace, 1))
	h.owed, h.checking, h.measured = nil, map[job.RunID]string{}, map[job.RunID]bool{}
	h.booted = false
	h.step(h.load())
}

// load returns the event with the crontabs and the configuration: not prepared,
// prepared for what is installed, or for what was installed before.
func (h *simHost) load() event.Load {
	ev := event.Load{Crontabs: h.crontabs, Limits: h.limits, Blackouts: h.blackouts, Node: h.node, Labels: h.labels, Ring: h.ring, CatchupRate: h.rate}
	if h.engine == nil {
		return ev
	}
	before, now := h.stale, h.engine.View()
	h.stale = now
	switch h.loads++; {
	case h.loads%3 == 1:
		return now.Prepare(ev)
	case h.loads%3 == 2 && before != nil:
		return before.Prepare(ev)
	}
	return ev
}

// adopt lists the processes that the next daemon watches. It never gets events of the
// others.
func (h *simHost) adopt() []Adopted {
	var adopted []Adopted
	for id, p := range h.running {
		if h.adopted {
			adopted = append(adopted, Adopted{Run: id, PID: 1000 + int(id), Up: p.up, Stop: h.stopping[id]})
		} else {
			delete(h.running, id)
		}
	}
	h.adopted = false
	return adopted
}

// step is the daemon's loop: facts go to the store first, then effects are carried out,
// whose results are events of the next step.
func (h *simHost) step(events ...event.Event) []effect.Effect {
	events = append(h.owed, events...)
	h.owed = nil
	events = slices.DeleteFunc(events, func(e event.Event) bool {
		from, ok := e.(fromRing)
		if ok {
			h.members.Receive(from.received)
		}
		return ok
	})
	effects := h.engine.StepIn(h.members, h.now, events...)
	for _, x := range h.members.Effects() {
		effects = append(effects, toRing{sent: x})
	}
	h.lastSeen, h.era = h.now.Wall, h.engine.Era()
	for _, e := range effects {
		h.store.Keep(e)
	}
	for _, e := range effects {
		if h.log != nil {
			h.log(e)
		}
		switch e := e.(type) {
		case effect.Start:
			h.running[e.Run.ID] = process{e.Job.ID, h.now.Up}
			h.owed = append(h.owed, event.Started{Run: e.Run.ID, PID: 1000 + int(e.Run.ID)})
		case effect.Check:
			h.noteCheck(e.Run)
		case effect.Measure:
			h.measured[e.Run] = true
		case effect.Kill:
			if _, ok := h.checking[e.Run]; ok {
				h.answer(e.Run, job.Outcome{Kind: job.Signalled, Signal: 9})
			}
			if _, ok := h.running[e.Run]; ok && e.Signal == 9 {
				h.end(e.Run, job.Outcome{Kind: job.Signalled, Signal: 9})
			}
		}
	}
	if h.check != nil {
		h.check(h, effects)
	}
	return effects
}

// noteCheck notes that the command of if= begins, and checks invariant 39.
func (h *simHost) noteCheck(r job.Run) {
	n := 0
	for _, user := range h.checking {
		if user == r.User {
			n++
		}
	}
	if most := h.engine.slots.Limits.PerUser(r.User); most > 0 && n >= most {
		h.t.Errorf("invariant 39: run %d of %s is checked beside %d others of %s", r.ID, r.Job, n, r.User)
	}
	h.checking[r.ID] = r.User
}

// settle passes the results of effects to the engine.
func (h *simHost) settle() {
	for len(h.owed) > 0 {
		h.step()
	}
}

// answer ends the command of if=.
func (h *simHost) answer(id job.RunID, o job.Outcome) {
	delete(h.checking, id)
	h.owed = append(h.owed, event.Checked{Run: id, Outcome: o})
}

// meet ends the measurement of a run's conditions.
func (h *simHost) meet(id job.RunID, unmet event.Unmet) {
	delete(h.measured, id)
	h.owed = append(h.owed, event.Measured{Run: id, Unmet: unmet})
}

// end ends the process of a run.
func (h *simHost) end(id job.RunID, o job.Outcome) {
	delete(h.running, id)
	h.owed = append(h.owed, event.Ended{Run: id, Outcome: o})
}

// advance lets time pass until the wall clock reads at, and wakes the engine at each of
// its wake times.
func (h *simHost) advance(at time.Time) {
	for {
		h.settle()
		wake := h.engine.Wake()
		if wake.IsZero() || wake.After(at) {
			break
		}
		if wake.After(h.now.Wall) {
			h.pass(wake.Sub(h.now.Wall))
		}
		h.step(event.Tick{})
	}
	if at.After(h.now.Wall) {
		h.pass(at.Sub(h.now.Wall))
	}
}

// pass advances both clocks.
func (h *simHost) pass(d time.Duration) {
	h.now.Wall, h.now.Up = h.now.Wall.Add(d), h.now.Up+d
}

// sleep suspends the host.
func (h *simHost) sleep(d time.Duration) {
	h.pass(d)
	h.now.Slept += d
}

// set moves the wall clock alone.
func (h *simHost) set(by time.Duration) { h.now.Wall = h.now.Wall.Add(by) }

// notify describes an effect in one line.
func (h *simHost) notify(e effect.Effect) string {
	switch e := e.(type) {
	case effect.Fact:
		return h.tellRecord(e.Record)
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
	case effect.WatchFiles:
		line := "  watch files"
		for _, w := range e.Jobs {
			line += fmt.Sprintf(" %s %s since %s", w.Job.Job, strings.Join(w.Patterns, ","), w.Since.Format(time.TimeOnly))
		}
		return line
	case effect.Stamp:
		return fmt.Sprintf("  stamp %s %s", e.ID, e.Day)
	case effect.Check:
		return fmt.Sprintf("  check %d %s", e.Run.ID, e.Command)
	case effect.Measure:
		return fmt.Sprintf("  measure %d", e.Run)
	case effect.Notify:
		if e.Notice.Ping != "" {
			return fmt.Sprintf("  ping %s %s", e.Notice.On, e.Notice.Ping)
		}
		return fmt.Sprintf("  tell %s %s: %s", e.Notice.On, e.Notice.Job, e.Notice.Text)
	case toRing:
		return h.tellRing(e.sent)
	case effect.Roster, effect.Summary:
		return ""
	}
	return fmt.Sprintf("  %T", e)
}

func (h *simHost) tellRing(e holders.Effect) string {
	switch e := e.(type) {
	case holders.Claim:
		return h.tellClaim(e)
	case holders.Unstarted:
		line := fmt.Sprintf("  unstarted %d", len(e.Occurrences))
		for _, o := range e.Occurrences {
			slot, _ := h.engine.jobs.FindRing(o.Key)
			line += fmt.Sprintf("\n    %s %s attempt=%d lost=%d", h.engine.jobs.ID(slot), h.clock(o.Time()), o.Attempt, o.Lost)
		}
		return line
	case exchange.Progress:
		slot, _ := h.engine.jobs.FindRing(e.Key)
		if e.GivenUp {
			return fmt.Sprintf("  give up %s %s attempt=%d lost=%d", h.engine.jobs.ID(slot), h.clock(e.Time()), e.Attempt, e.Lost)
		}
		return fmt.Sprintf("  %s %s %s", []string{"", "take", "begin", "over"}[e.Phase], h.engine.jobs.ID(slot), h.clock(e.Time()))
	case holders.Holdings:
		return fmt.Sprintf("  hold %d", len(e.Holdings))
	}
	return fmt.Sprintf("  %T", e)
}

func (h *simHost) tellClaim(c holders.Claim) string {
	slot, _ := h.engine.jobs.FindRing(c.Key)
	line := fmt.Sprintf("%s claim %s %s", h.clock(h.now.Wall), h.engine.jobs.ID(slot), h.clock(c.Time()))
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

func (h *simHost) tellRecord(r job.Record) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s", h.clock(r.At), r.Kind)
	if r.Decision != "" {
		fmt.Fprintf(&b, " %s", r.Decision)
	}
	if r.Job != "" {
		fmt.Fprintf(&b, " %s", r.Job)
	}
	if r.Count > 1 {
		fmt.Fprintf(&b, " %d from %s to", r.Count, h.clock(r.First))
	}
	if !r.Due.IsZero() && (!r.Due.Equal(r.At) || r.Kind != job.Decided) {
		fmt.Fprintf(&b, " %s", h.clock(r.Due))
	}
	if !r.Was.IsZero() {
		fmt.Fprintf(&b, " from %s", h.clock(r.Was))
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

// clock formats an instant in the host's zone, with the date unless it is today.
func (h *simHost) clock(t time.Time) string {
	t = t.In(h.zone)
	if t.Format(time.DateOnly) == h.now.Wall.In(h.zone).Format(time.DateOnly) {
		return t.Format(time.TimeOnly)
	}
	return t.Format(time.DateTime)
}
