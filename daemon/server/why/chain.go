package why

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/cronring/cronring/crontab/timetable"
	"github.com/cronring/cronring/daemon/api"
	"github.com/cronring/cronring/daemon/display"
	"github.com/cronring/cronring/daemon/job"
)

// links is the chain, in order: the name of each step, and its text for an occurrence that passes
// it.
var links = []struct {
	name    job.Step
	passed  func(*evidence) string
	options []string // of the entry, without all of which the step is left out; nil: never
}{
	{job.StepEntry, (*evidence).entryFact, nil},
	{job.StepEnabled, func(*evidence) string { return "not disabled, not held, not paused" }, nil},
	{job.StepSchedule, (*evidence).scheduleFact, nil},
	{job.StepClock, (*evidence).clockFact, nil},
	{job.StepDaemon, (*evidence).daemonFact, nil},
	{job.StepHost, (*evidence).nodeFact, nil},
	{job.StepOverlap, (*evidence).overlapFact, nil},
	{job.StepCheck, (*evidence).checkFact, []string{"if", "load", "pressure", "need-memory", "need-disk", "on-battery"}},
	{job.StepParents, (*evidence).parentsFact, []string{"after"}},
	{job.StepSlot, (*evidence).placeFact, []string{"pool"}},
	{job.StepGate, (*evidence).gateFact, nil},
}

// chain returns all steps; after the crossed one none is reached.
func (ev *evidence) chain(cross job.Step) []api.Step {
	steps := make([]api.Step, 0, len(links))
	state := api.Passed
	for _, l := range links {
		if l.options != nil && l.name != cross && !slices.ContainsFunc(l.options, func(key string) bool { return ev.job.Options[key] != "" }) {
			continue
		}
		switch {
		case l.name == cross:
			state = api.Crossed
			steps = append(steps, api.Step{Name: l.name, State: state, Fact: ev.crossFact(cross)})
			state = api.NotReached
		case state == api.Passed:
			steps = append(steps, api.Step{Name: l.name, State: state, Fact: l.passed(ev)})
		default:
			steps = append(steps, api.Step{Name: l.name, State: state, Fact: "not reached"})
		}
	}
	return steps
}

// crossed is the step at which the occurrence stopped or will stop, or "" if it passed
// them all, or nothing is known that will stop it.
func (ev *evidence) crossed() job.Step {
	switch {
	case !ev.decided && !ev.named:
		return job.StepSchedule
	case !ev.decided && (ev.job.Disabled || ev.job.Held != "" || ev.pausedAt() || ev.blackout != ""):
		return job.StepEnabled
	case ev.isAhead():
		return ev.reason().Step() // "" if nothing is known that prevents it
	case !ev.decided && (ev.up == nil || ev.stops):
		return job.StepDaemon
	case ev.isElsewhere():
		return job.StepHost
	case !ev.decided:
		return job.StepEntry
	case ev.run != nil && ev.run.Outcome.Kind == job.NotStarted:
		return job.StepGate
	case ev.run != nil && ev.run.State != job.RunQueued && ev.run.State != job.RunDropped && !waitsForOthers(ev.run):
		return ""
	}
	return ev.stepOf(ev.reason())
}

// waitsForOthers reports whether a run waits for more than a time.
func waitsForOthers(r *job.Run) bool {
	on := r.WaitsOn()
	return on == job.WaitsOnParents || on == job.WaitsOnCheck || on == job.WaitsOnConditions
}

func (ev *evidence) pausedAt() bool {
	h := ev.hold
	return h != nil && !ev.at.Before(h.Since) && h.Covers(ev.at)
}

// reason returns why the occurrence is in its state: the decision, or the later fate of the run.
func (ev *evidence) reason() job.Reason {
	if ev.run != nil && ev.run.Reason != "" {
		return ev.run.Reason
	}
	return ev.record.Reason
}

// stepOf returns the step that a reason belongs to. Of what was noticed too late, it depends on the
// cause.
func (ev *evidence) stepOf(r job.Reason) job.Step {
	switch r {
	case job.PastDeadline:
		if ev.run != nil {
			return job.StepOverlap // it was queued for too long
		}
		return ev.whyLate()
	case job.Late, job.Superseded, job.OverLimit:
		return ev.whyLate()
	}
	return r.Step()
}

// whyLate distinguishes a clock that jumped over the occurrence from a daemon that was not running.
func (ev *evidence) whyLate() job.Step {
	if ev.stepped != nil && ev.up != nil {
		return job.StepClock
	}
	return job.StepDaemon
}

// crossFact describes why the occurrence stopped at a step.
func (ev *evidence) crossFact(step job.Step) string {
	switch {
	case step == job.StepSchedule:
		return mismatch(ev.entry, ev.at) + ev.neighbours()
	case step == job.StepEntry && !ev.decided:
		return "no decision is recorded although the daemon was up: " + ev.absence()
	case step == job.StepHost && !ev.decided:
		return ev.ownership.words(ev.host)
	case step == job.StepEnabled && !ev.decided:
		return ev.notInForce()
	case step == job.StepDaemon && !(ev.up != nil && ev.decided && !ev.late()):
		return ev.daemonFact()
	case step == job.StepClock:
		return ev.stepped.Detail.Words() + " at " + ev.stamp(ev.stepped.At)
	case step == job.StepParents && ev.run != nil && len(ev.run.Parents) > 0:
		return display.Clause(ev.reason().Sentence()) + ": " + ev.parentWords(ev.run.Parents)
	case step == job.StepGate && ev.run != nil && ev.run.Outcome.Kind == job.NotStarted:
		return "the command could not be started: " + ev.run.Outcome.Error
	}
	return ev.because()
}

// because returns the reason with its numbers and names.
func (ev *evidence) because() string {
	fact := display.Clause(ev.reason().Sentence())
	switch {
	case ev.run != nil && ev.run.Detail != "":
		fact += ": " + ev.clause(ev.run.Detail)
	case ev.record.Detail != "" && ev.reason() == ev.record.Reason:
		fact += ": " + ev.clause(ev.record.Detail)
	}
	if late := ev.record.At.Sub(ev.at); ev.run == nil && ev.reason() == job.OutsideHours && late > ev.entry.Options().Grace {
		fact += fmt.Sprintf("; it was noticed only at %s, %s", ev.stamp(ev.record.At), lateness(late))
	}
	return fact
}

// clause writes a detail in the zone of the entry.
func (ev *evidence) clause(d job.Detail) string {
	return display.Clause(d.WordsIn(ev.entry.Zone().Location()))
}

func (ev *evidence) late() bool {
	switch ev.reason() {
	case job.Late, job.Superseded, job.OverLimit, job.PastDeadline:
		return true
	}
	return false
}

func (ev *evidence) absence() string {
	if ev.reload != nil {
		return "the crontabs were changed at " + ev.stamp(ev.reload.At) + "; before that the entry was different or missing"
	}
	return "the entry was not loaded then, or the history of that time is no longer kept"
}

func (ev *evidence) notInForce() string {
	switch {
	case ev.job.Disabled:
		return display.Clause(job.IsDisabled.Sentence())
	case ev.job.Held != "":
		return "the entry is held: " + display.Clause(ev.job.Held)
	case !ev.pausedAt():
		return "the host is in a blackout: " + ev.blackout
	}
	fact := fmt.Sprintf("paused by %s since %s", ev.hold.By, ev.stamp(ev.hold.Since))
	if !ev.hold.From.IsZero() {
		fact = fmt.Sprintf("paused by %s from %s", ev.hold.By, ev.stamp(ev.hold.From))
	}
	if !ev.hold.Until.IsZero() {
		fact += " until " + ev.stamp(ev.hold.Until)
	}
	if ev.hold.Reason != "" {
		fact += ": " + ev.hold.Reason.Words()
	}
	return fact
}

func (ev *evidence) neighbours() string {
	text := ""
	if before := timetable.Previous(ev.entry.Schedule, ev.at); !before.IsZero() {
		text += "; the occurrence before is " + ev.stamp(before)
	}
	after := ev.entry.Schedule.Next(ev.at)
	if timetable.DelayOf(ev.entry.Schedule) > 0 {
		after = ev.next
	}
	if !after.IsZero() {
		text += "; the next one is " + ev.stamp(after)
	}
	return text
}

func (ev *evidence) entryFact() string {
	return fmt.Sprintf("%s:%d  %s  as %s", ev.job.Crontab, ev.job.Line, ev.job.StartsOn(), ev.job.User)
}

func (ev *evidence) scheduleFact() string {
	if ev.run != nil {
		switch ev.run.Trigger {
		case job.TriggerManual:
			return "not by the clock: " + ev.run.By + " started it"
		case job.TriggerBoot:
			return "not by the clock: the host started"
		case job.TriggerEvent:
			return "not by the clock: an event in on= started it"
		case job.TriggerDependency:
			return "not by the clock: " + ev.parentWords(ev.run.Parents[:min(1, len(ev.run.Parents))])
		}
	}
	switch {
	case ev.named:
		return ev.entry.Meaning()
	case ev.entry.Options().Period != nil && ev.run != nil && ev.run.Trigger == job.TriggerCatchup:
		return "its period was over when the daemon checked: " + ev.entry.Meaning()
	}
	return "it was scheduled when it was decided; the schedule is different now: " + timetable.Describe(ev.entry.Schedule)
}

func (ev *evidence) clockFact() string {
	fact := wallFact(ev.entry.Zone(), ev.at)
	switch {
	case ev.at.After(ev.now):
		return fact
	case ev.stepped != nil:
		return fact + "; " + ev.stepped.Detail.Words()
	}
	return fact + "; the clock was not changed"
}

func (ev *evidence) daemonFact() string {
	switch {
	case ev.foreign:
		return "none runs here: another cron runs the job, and logs only its starts"
	case ev.at.After(ev.now):
		return "up"
	case ev.up == nil && ev.before == nil && ev.after == nil:
		return "there is no record of that time"
	case ev.up == nil && ev.before == nil:
		return "down: its first start on record was at " + ev.stamp(ev.after.Up)
	case ev.up == nil && ev.after != nil && ev.before.Clean && ev.at.Before(ev.before.Down):
		return fmt.Sprintf("it was stopping, and started no more jobs: it ended at %s, and started again at %s", ev.stamp(ev.before.Down), ev.stamp(ev.after.Up))
	case ev.up == nil && ev.after == nil:
		return "down since " + ev.stamp(ended(*ev.before))
	case ev.up == nil:
		return fmt.Sprintf("down from %s%s to %s", ev.stamp(ended(*ev.before)), lastSign(ev.before.Clean), ev.stamp(ev.after.Up))
	case ev.decided && ev.late():
		return fmt.Sprintf("up since %s, but it noticed it only at %s, %s late: the host was suspended or stalled",
			ev.stamp(ev.up.Up), ev.stamp(ev.record.At), display.Length(ev.record.At.Sub(ev.at)))
	case ev.decided:
		return fmt.Sprintf("up since %s, decided it %s", ev.stamp(ev.up.Up), lateness(ev.record.At.Sub(ev.at)))
	case ev.stops:
		return "about to stop: it starts no more jobs"
	}
	return "up since " + ev.stamp(ev.up.Up)
}

func lateness(d time.Duration) string {
	if d < time.Millisecond {
		return "immediately"
	}
	return display.Length(d) + " after its time"
}

// lastSign marks the end of a life that was not recorded.
func lastSign(clean bool) string {
	if clean {
		return ""
	}
	return " (its last sign of life)"
}

func (ev *evidence) overlapFact() string {
	rule := ev.job.Options["overlap"]
	if rule == "" {
		rule = ev.entry.Options().BuiltIn("overlap")
	}
	if ev.decided && ev.record.Decision == job.DecideHold && ev.record.Reason == job.WaitsForRun {
		return "waited for the previous run to end (overlap=" + rule + ")"
	}
	if rule == "allow" {
		return "overlap=allow: other runs do not prevent it"
	}
	return "no other run was active (overlap=" + rule + ")"
}

// isAhead reports whether the occurrence is not due yet.
func (ev *evidence) isAhead() bool { return !ev.decided && ev.at.After(ev.now) }

// checkFact describes whether the conditions were measured and the if= command ran.
func (ev *evidence) checkFact() string {
	if ev.isAhead() {
		return "it is checked when it is due"
	}
	if ev.job.Options["if"] == "" {
		if ev.run == nil || ev.run.Trigger == job.TriggerRetry {
			return "the conditions of the host were not measured"
		}
		return "the host met the conditions"
	}
	if ev.run == nil || ev.run.Trigger == job.TriggerRetry {
		return "the command of if= did not run"
	}
	return "the command of if= did not prevent it"
}

// parentsFact describes how the runs ended that it waited for.
func (ev *evidence) parentsFact() string {
	if ev.isAhead() {
		return "when it is due, it waits for after=" + ev.job.Options["after"]
	}
	if ev.run == nil || len(ev.run.Parents) == 0 {
		return "it waited for no other job"
	}
	return ev.parentWords(ev.run.Parents)
}

// placeFact describes whether the run had to wait for others of its pool.
func (ev *evidence) placeFact() string {
	pool := ev.job.Options["pool"]
	switch {
	case ev.isAhead():
		return "when it is due, it needs a free slot in pool=" + pool
	case ev.run == nil:
		return "pool=" + pool + ": it did not get as far as the pool"
	case ev.run.Reason == job.RanAfterSlot:
		return "it waited for a slot of pool=" + pool
	}
	return "a slot was free in pool=" + pool
}

// mostParents is the maximum number of runs in an answer.
const mostParents = 20

func (ev *evidence) parentWords(parents []job.Parent) string {
	var words []string
	for i, p := range parents {
		if i == mostParents {
			words = append(words, fmt.Sprintf("and %d more", len(parents)-i))
			break
		}
		word := string(p.Job) + " " + p.Verdict.Words()
		if p.Run != 0 {
			word += fmt.Sprintf(" (run %d)", p.Run)
		}
		if at := ev.ends[p.Run]; !at.IsZero() {
			word += " at " + ev.stamp(at)
		}
		words = append(words, word)
	}
	return strings.Join(words, ", ")
}

func (ev *evidence) gateFact() string {
	switch {
	case ev.run == nil:
		return "nothing is known that prevents it"
	case ev.run.State == job.RunWaiting:
		return "it will be started as " + ev.run.User + " at " + ev.stamp(ev.run.NotBefore)
	case ev.run.Started.IsZero():
		return "about to be started as " + ev.run.User
	case ev.run.PID != 0:
		return fmt.Sprintf("started as %s at %s with pid %d", ev.run.User, ev.stamp(ev.run.Started), ev.run.PID)
	}
	return fmt.Sprintf("started as %s at %s", ev.run.User, ev.stamp(ev.run.Started))
}
