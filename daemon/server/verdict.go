package server

import (
	"fmt"
	"slices"
	"time"

	"github.com/cronring/cronring/daemon/api"
	"github.com/cronring/cronring/daemon/job"
)

// stamp writes an instant in the zone of the entry.
func (ev *evidence) stamp(t time.Time) string {
	return t.In(ev.entry.Zone().Location()).Format("Mon 2 Jan 2006 15:04:05 MST")
}

// verdict says what became of the occurrence.
func (ev *evidence) verdict(cross api.StepName) string {
	switch {
	case ev.run != nil && ev.run.State == job.RunQueued:
		return "It is late, not lost. " + job.WaitsForRun.Sentence()
	case cross == api.StepGate && ev.run != nil && ev.run.Outcome.Kind == job.NotStarted:
		return "It could not be started. " + capital(ev.run.Outcome.Error) + "."
	case cross == "" && ev.run != nil:
		return ev.told()
	case cross == "":
		return "It has not come yet: it is due in " + length(ev.at.Sub(ev.now)) + "."
	case !ev.decided && cross == api.StepSchedule:
		return "It was not due then: the schedule does not name that instant."
	case !ev.decided && ev.at.After(ev.now):
		return "It will not start. " + capital(ev.crossFact(cross)) + "."
	case !ev.decided:
		return "It did not start. " + capital(ev.crossFact(cross)) + "."
	}
	return "It did not start. " + ev.reason().Sentence()
}

// told says how the run of the occurrence went.
func (ev *evidence) told() string {
	r := ev.run
	switch {
	case r.Started.IsZero():
		return "It is about to start. " + ev.reason().Sentence()
	case r.State.Live():
		return fmt.Sprintf("It is running, since %s. %s", length(ev.now.Sub(r.Started)), ev.reason().Sentence())
	case r.Outcome.OK():
		return fmt.Sprintf("It ran. %s Run %s ended well after %s.", ev.reason().Sentence(), r.ID, length(r.Ended.Sub(r.Started)))
	}
	return fmt.Sprintf("It ran, and failed. %s Run %s ended after %s: %s.",
		ev.reason().Sentence(), r.ID, length(r.Ended.Sub(r.Started)), r.Outcome)
}

func capital(text string) string {
	if text == "" || text[0] < 'a' || text[0] > 'z' {
		return text
	}
	return string(text[0]-'a'+'A') + text[1:]
}

// facts tells what else bears on it.
func (ev *evidence) facts(cross api.StepName, again int) []string {
	var facts []string
	if again > 1 {
		facts = append(facts, fmt.Sprintf("this happened %d times in 30 days", again))
	}
	if cross == api.StepOverlap {
		facts = append(facts, ev.durations()...)
	}
	if ev.record.Count > 1 {
		facts = append(facts, fmt.Sprintf("it is one of %d occurrences from %s to %s that were skipped alike",
			ev.record.Count, ev.stamp(ev.record.First), ev.stamp(ev.record.Due)))
	}
	if !ev.next.IsZero() {
		facts = append(facts, fmt.Sprintf("the next one is %s, in %s", ev.stamp(ev.next), length(ev.next.Sub(ev.now))))
	}
	return facts
}

// durations compares how long runs take with how far apart they are.
func (ev *evidence) durations() []string {
	if len(ev.past) == 0 {
		return nil
	}
	took := make([]time.Duration, len(ev.past))
	for i, r := range ev.past {
		took[i] = r.Ended.Sub(r.Started)
	}
	slices.Sort(took)
	fact := fmt.Sprintf("of its last %s the median took %s, the longest %s",
		count(len(took), "run"), length(took[len(took)/2]), length(took[len(took)-1]))
	if before := previous(ev.entry.Schedule, ev.at); !before.IsZero() {
		fact += "; the occurrence before was " + length(ev.at.Sub(before)) + " earlier"
	}
	return []string{fact}
}

// remedies tells what can be done about it.
func (ev *evidence) remedies(cross api.StepName) []api.Remedy {
	name := quote(string(ev.job.ID))
	edit := func(what, directive string) api.Remedy {
		return api.Remedy{
			What:    what + ": write #@ " + directive + " above the entry",
			Command: fmt.Sprintf("${EDITOR:-vi} +%d %s", ev.job.Line, quote(ev.job.Table)),
		}
	}
	runNow := api.Remedy{What: "run it now", Command: "cronring run " + name}
	history := api.Remedy{What: "see what was there instead", Command: "cronring history " + name}
	lint := api.Remedy{What: "see what is wrong with the entry", Command: "cronring lint " + quote(ev.job.Table)}
	coming := api.Remedy{What: "see when it is due", Command: "cronring next " + name}
	switch cross {
	case "":
		return ev.afterRun()
	case api.StepEntry:
		return []api.Remedy{lint, coming}
	case api.StepEnabled:
		switch {
		case ev.hold != nil:
			return []api.Remedy{{What: "end the pause", Command: "cronring resume " + name}}
		case ev.job.Held != "":
			return []api.Remedy{lint}
		case ev.job.Disabled:
			return []api.Remedy{edit("let it run again", "enabled=yes, in place of enabled=no,")}
		}
		return []api.Remedy{runNow}
	case api.StepSchedule:
		return []api.Remedy{coming, {What: "have the schedule explained", Command: "cronring explain " + name}}
	case api.StepClock, api.StepDaemon:
		return []api.Remedy{runNow, edit("have missed occurrences made up", "catchup=once")}
	case api.StepOverlap:
		return []api.Remedy{history, edit("queue instead of skip", "overlap=queue")}
	}
	if ev.run != nil {
		return append(ev.afterRun(), runNow)
	}
	return []api.Remedy{runNow}
}

// afterRun is what can be done when there was a run.
func (ev *evidence) afterRun() []api.Remedy {
	if ev.run == nil || ev.run.Outcome.OK() {
		return nil
	}
	if ev.run.State.Live() {
		return []api.Remedy{{What: "watch it", Command: "cronring logs -f " + ev.run.ID.String()}}
	}
	return []api.Remedy{{What: "see its output", Command: "cronring logs " + ev.run.ID.String()}}
}
