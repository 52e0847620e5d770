package why

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/cronring/cronring/crontab/option"
	"github.com/cronring/cronring/crontab/timetable"
	"github.com/cronring/cronring/daemon/display"
	"github.com/cronring/cronring/daemon/engine/agenda"
	"github.com/cronring/cronring/daemon/engine/live"
	"github.com/cronring/cronring/daemon/job"
)

// stamp writes an instant in the zone of the entry.
func (ev *evidence) stamp(t time.Time) string {
	return job.FormatTime(t, ev.entry.Zone().Location())
}

// verdict returns what happened to the occurrence.
func (ev *evidence) verdict(cross job.Step) string {
	switch {
	case ev.foreign && ev.run != nil:
		return "Cron started it at " + ev.stamp(ev.run.Started) + ". Cron does not log how it ended."
	case ev.foreign && cross == job.StepDaemon:
		return "It is not known whether it ran: the log of cron has no start of it."
	case ev.run != nil && ev.run.State == job.RunQueued:
		return "It is late, not lost. " + ev.reason().Sentence()
	case ev.run != nil && waitsForOthers(ev.run):
		return "It has not started yet. " + ev.reason().Sentence()
	case cross == job.StepGate && ev.run != nil && ev.run.Reason == job.HandedOver:
		return "It could not be started. " + display.Sentence(ev.run.Outcome.Error) + " " + ev.run.Reason.Sentence()
	case cross == job.StepGate && ev.run != nil && ev.run.Outcome.Kind == job.NotStarted:
		return "It could not be started. " + display.Sentence(ev.run.Outcome.Error)
	case cross == "" && ev.run != nil:
		return ev.describeRun()
	case cross == "":
		return "It is due in " + display.Length(ev.at.Sub(ev.now)) + "."
	case !ev.decided && cross == job.StepSchedule && timetable.IsTimeless(ev.entry.Schedule):
		return "It was not due then: nothing started it."
	case !ev.decided && cross == job.StepSchedule && !lastBefore(ev.entry, ev.at).IsZero():
		return "It was not due then: its last occurrence was " + ev.stamp(lastBefore(ev.entry, ev.at)) + "."
	case !ev.decided && cross == job.StepSchedule:
		return "It was not due then: the schedule does not include that time."
	case !ev.decided && ev.counts && ev.pausedAt():
		return "It waits for the end of the pause. " + ev.afterPause() + "."
	case ev.isAhead():
		return "It will not start. " + display.Sentence(ev.crossFact(cross))
	case !ev.decided && cross == job.StepEntry:
		return "It did not start, and no decision about it is recorded."
	case !ev.decided && cross == job.StepHost && ev.ownership.taker != "":
		return "It is another member's. On " + ev.ownership.taker + ": " + ev.ownership.verdict
	case !ev.decided && cross == job.StepHost:
		return "It was not decided here. " + display.Sentence(ev.crossFact(cross))
	case !ev.decided:
		return "It did not start. " + display.Sentence(ev.crossFact(cross))
	}
	return "It did not start. " + ev.reason().Sentence()
}

// afterPause describes what becomes at the end of a pause of what came due in it.
func (ev *evidence) afterPause() string {
	o, text := ev.entry.Options(), ""
	switch o.Catchup {
	case option.CatchupSkip:
		return "Then catchup=skip skips what came due in the pause"
	case option.CatchupAll:
		text = fmt.Sprintf("Then catchup=all starts a run for each of the newest %d that came due in the pause", o.MaxMade)
	case option.CatchupOnce:
		text = "Then catchup=once starts one run for the newest that came due in the pause"
	default:
		limit := agenda.CronLimit(timetable.FixedTime(ev.entry.Schedule))
		text = "Then catchup=cron starts one run for the newest that came due in the pause, if it is at most " + timetable.DurationText(limit) + " late"
	}
	if o.Deadline > 0 {
		text += "; deadline= skips what is more than " + timetable.DurationText(o.Deadline) + " late"
	}
	return text
}

// describeRun describes the result of the occurrence's run.
func (ev *evidence) describeRun() string {
	r := ev.run
	switch {
	case r.State == job.RunWaiting:
		return "It has not started yet: it will start at " + ev.stamp(r.NotBefore) + ". " + ev.reason().Sentence()
	case r.State == job.RunEnded && r.Started.IsZero():
		return fmt.Sprintf("It is lost: it is unknown whether run %s started. %s%s", r.ID, ev.reason().Sentence(), ev.follows())
	case r.Started.IsZero():
		return "It is about to start. " + ev.reason().Sentence()
	case r.State.Live():
		return fmt.Sprintf("It has been running for %s. %s", display.Length(ev.now.Sub(r.Started)), ev.reason().Sentence())
	case r.Outcome.OK() && r.OK():
		return fmt.Sprintf("It ran. %s Run %s succeeded after %s.", ev.reason().Sentence(), r.ID, display.Length(r.Length()))
	case !r.Failed():
		return fmt.Sprintf("It ran. %s Run %s ended after %s: %s.%s",
			ev.reason().Sentence(), r.ID, display.Length(r.Length()), r.Ending(), ev.follows())
	}
	return fmt.Sprintf("It ran, and failed. %s Run %s ended after %s: %s.%s",
		ev.reason().Sentence(), r.ID, display.Length(r.Length()), r.Ending(), ev.follows())
}

// follows describes what comes after a failure.
func (ev *evidence) follows() string {
	if ev.run.Verdict != job.VerdictRetry {
		return ev.outOfTime()
	}
	switch r := ev.last; {
	case r == nil:
		return " Another attempt follows."
	case r.State == job.RunWaiting:
		return fmt.Sprintf(" Attempt %d, run %s, will start at %s.", r.Attempt, r.ID, ev.stamp(r.NotBefore))
	case r.State == job.RunQueued:
		return fmt.Sprintf(" Attempt %d, run %s, is waiting: %s.", r.Attempt, r.ID, display.Clause(r.Reason.Sentence()))
	case r.State.Live():
		return fmt.Sprintf(" Attempt %d, run %s, is under way.", r.Attempt, r.ID)
	case r.State == job.RunDropped:
		return fmt.Sprintf(" Attempt %d, run %s, did not start: %s.", r.Attempt, r.ID, display.Clause(r.Reason.Sentence()))
	default:
		return fmt.Sprintf(" Attempt %d, run %s, was the last: %s.", r.Attempt, r.ID, r.Ending())
	}
}

// outOfTime reports that the time of retry-for= was over before retry= was used up.
func (ev *evidence) outOfTime() string {
	o, r := ev.entry.Options(), ev.run
	if o.RetryFor == 0 || !r.Failed() || r.Attempt-r.Lost > o.Retry || live.RetriesInTime(o, r) {
		return ""
	}
	return " No further attempt follows, because it would begin later than retry-for=" + timetable.DurationText(o.RetryFor) + " after the first."
}

// facts returns other relevant facts.
func (ev *evidence) facts(cross job.Step, again int) []string {
	var facts []string
	if again > 1 && cross != "" {
		facts = append(facts, fmt.Sprintf("this happened %d times in 30 days", again))
	}
	if ev.fault != "" {
		facts = append(facts, "files are not watched now: "+display.Clause(ev.fault))
	}
	if cross == job.StepOverlap {
		facts = append(facts, ev.durations()...)
	}
	if r := ev.run; r != nil && r.Failed() && ev.ack.Covers(r.ID) {
		facts = append(facts, ev.acknowledged())
	}
	if r := ev.run; r != nil && r.Stop != nil {
		facts = append(facts, "a stop was requested at "+ev.stamp(r.Stop.At)+" "+r.Stop.Detail().Words())
	}
	if r := ev.run; r != nil && len(r.Env) > 0 {
		facts = append(facts, "for this run "+cmp.Or(r.By, "the event")+" set "+strings.Join(r.Env, " "))
	}
	if ev.run != nil && ev.run.Trimmed {
		facts = append(facts, "the variables of this run, and the runs that it waited for, were removed from the history to limit its size")
	}
	if ev.twin != "" {
		facts = append(facts, ev.twin+": the two members did not see each other")
	}
	if ev.ownership != nil {
		facts = append(facts, ev.ownership.unasked...)
	}
	if ev.record.Count > 1 {
		facts = append(facts, fmt.Sprintf("it is one of %d occurrences from %s to %s that were skipped alike",
			ev.record.Count, ev.stamp(ev.record.First), ev.stamp(ev.record.Due)))
	}
	for i, r := range ev.waiting {
		if i == mostWaiting {
			facts = append(facts, fmt.Sprintf("%d more occurrences are waiting", len(ev.waiting)-i))
			break
		}
		rest := ""
		if r.State == job.RunWaiting && !waitsForOthers(&r) && r.NotBefore.After(ev.now) {
			rest = " for another " + display.Length(r.NotBefore.Sub(ev.now))
		}
		facts = append(facts, fmt.Sprintf("the occurrence of %s is waiting%s, as run %d: %s", ev.stamp(r.Due), rest, r.ID, display.Clause(r.Reason.Sentence())))
	}
	if !ev.next.IsZero() && cross != job.StepSchedule {
		facts = append(facts, fmt.Sprintf("the next one is %s, in %s", ev.stamp(ev.next), display.Length(ev.next.Sub(ev.now))))
	}
	if delay := timetable.DelayOf(ev.entry.Schedule); delay > 0 && ev.live != nil {
		facts = append(facts, fmt.Sprintf("the next one is due %s after the end of run %d", timetable.DurationText(delay), ev.live.ID))
	}
	return facts
}

// mostWaiting is the maximum number of waiting occurrences in an answer.
const mostWaiting = 10

// acknowledged reports who acknowledged the failure of the run.
func (ev *evidence) acknowledged() string {
	a := ev.ack
	fact := fmt.Sprintf("%s acknowledged at %s that run %d failed", a.By, ev.stamp(a.At), a.Run)
	if a.Reason != "" {
		fact += ": " + a.Reason
	}
	return fact
}

// durations compares how long runs take with how far apart they are.
func (ev *evidence) durations() []string {
	if len(ev.past) == 0 {
		return nil
	}
	took := make([]time.Duration, len(ev.past))
	for i, r := range ev.past {
		took[i] = r.Length()
	}
	slices.Sort(took)
	fact := "its last run took " + display.Length(took[0])
	if n := len(took); n > 1 {
		fact = fmt.Sprintf("of its last %d runs the median took %s, the longest %s", n, display.Length(took[n/2]), display.Length(took[n-1]))
	}
	if before := timetable.Previous(ev.entry.Schedule, ev.at); !before.IsZero() {
		fact += "; the occurrence before was " + display.Length(ev.at.Sub(before)) + " earlier"
	}
	return []string{fact}
}
