package why

import (
	"time"

	"github.com/cronring/cronring/crontab/option"
	"github.com/cronring/cronring/crontab/timetable"
	"github.com/cronring/cronring/daemon/api"
	"github.com/cronring/cronring/daemon/display"
	"github.com/cronring/cronring/daemon/job"
)

// remedies returns what can be done about it.
func (ev *evidence) remedies(cross job.Step) []api.Remedy {
	switch cross {
	case "":
		return append(ev.afterRun(), ev.again()...)
	case job.StepEntry:
		return []api.Remedy{ev.lint(), ev.command("see when it is due", "next")}
	case job.StepEnabled:
		return ev.enable()
	case job.StepSchedule:
		if !lastBefore(ev.entry, ev.at).IsZero() {
			return []api.Remedy{ev.command("explain the schedule", "explain"), ev.command("run it now", "run")}
		}
		return []api.Remedy{ev.command("see when it is due", "next"), ev.command("explain the schedule", "explain")}
	case job.StepClock, job.StepDaemon:
		return append(ev.missed(), ev.catchUp()...)
	case job.StepOverlap:
		return ev.makeRoom()
	case job.StepParents:
		return []api.Remedy{ev.command("see the jobs that it waits for", "report graph"), ev.command("run it now, without waiting", "run")}
	case job.StepHost:
		switch {
		case ev.isElsewhere():
			return ev.askThere()
		case ev.run != nil && ev.run.WaitsOn() == job.WaitsOnClaim: // it will still start here or on another member
			return ev.afterRun()
		}
		return append(ev.afterRun(), ev.command("run it anyway", "run --force"))
	case job.StepCheck: // it also prevents manual runs
		return append(ev.afterRun(), ev.command("run it anyway", "run --force"))
	}
	return append(ev.afterRun(), ev.command("run it now", "run"))
}

// command is a remedy that is a verb of the command line.
func (ev *evidence) command(what, verb string) api.Remedy {
	return api.Remedy{What: what, Command: "cronring " + verb + " " + display.Quote(string(ev.job.ID))}
}

// set is an option that changes what becomes of the next ones.
func (ev *evidence) set(what, option string) api.Remedy {
	return api.Remedy{What: what, Command: "cronring set " + display.Quote(string(ev.job.ID)) + " " + option}
}

// missed runs the occurrence that did not come. What the schedule does not name,
// or what runs at any time of its period, cannot be made up.
func (ev *evidence) missed() []api.Remedy {
	if !ev.named || ev.entry.Options().Period != nil || timetable.IsTimeless(ev.entry.Schedule) {
		return []api.Remedy{ev.command("run it now", "run")}
	}
	const minute = "2006-01-02T15:04"
	loc := ev.entry.Zone().Location()
	at := ev.at.In(loc).Format(minute)
	if t, err := timetable.ParseLocal(minute, at, loc); err != nil || !t.Equal(ev.at) { // it has seconds, or the clock shows it twice
		at = ev.at.In(loc).Format(time.RFC3339)
	}
	return []api.Remedy{{What: "run the missed one now", Command: "cronring backfill " + display.Quote(string(ev.job.ID)) + " --at " + at}}
}

// catchUp returns the option that would have had the occurrence caught up, if there is one.
func (ev *evidence) catchUp() []api.Remedy {
	o := ev.entry.Options()
	switch ev.reason() {
	case job.Superseded:
		if o.Period != nil || o.Catchup == option.CatchupAll {
			return nil
		}
		return []api.Remedy{ev.set("catch up all missed occurrences in future", "catchup=all")}
	case job.OverLimit, job.PastDeadline:
		return nil
	}
	return []api.Remedy{ev.set("catch up missed occurrences in future", "catchup=once")}
}

func (ev *evidence) lint() api.Remedy {
	return api.Remedy{What: "see what is wrong with the entry", Command: "cronring lint " + display.Quote(ev.job.Crontab)}
}

func (ev *evidence) enable() []api.Remedy {
	switch {
	case ev.blackout != "":
		return []api.Remedy{{What: "see the blackouts of the host", Command: "cronring config show"}}
	case ev.decided && ev.reason() == job.OutsideHours:
		return []api.Remedy{ev.command("see when it is due", "next"), ev.command("run it anyway", "run --force")}
	case ev.hold != nil && ev.decided && ev.reason() == job.Broken:
		return []api.Remedy{
			{What: "see the output of the last failure", Command: "cronring logs " + display.Quote(string(ev.job.ID)+"@failed")},
			ev.command("reset the breaker", "resume"),
		}
	case ev.hold != nil:
		return []api.Remedy{ev.command("end the pause", "resume")}
	case ev.barred == job.NoUser:
		return []api.Remedy{{What: "check that the user exists", Command: "getent passwd " + display.Quote(ev.job.User)}}
	case ev.barred == job.AccountRefused:
		return []api.Remedy{{What: "see when the account expires", Command: "chage -l " + display.Quote(ev.job.User)}}
	case ev.job.Held != "":
		return []api.Remedy{ev.lint()}
	case ev.job.Disabled:
		return []api.Remedy{ev.set("enable it", "enabled=yes")}
	}
	return []api.Remedy{ev.command("run it now", "run")}
}

func (ev *evidence) makeRoom() []api.Remedy {
	switch ev.reason() {
	case job.Overlapping:
		if ev.entry.Options().OncePer != option.OncePerNone { // after a success, the queued run would be skipped too
			return append([]api.Remedy{ev.command("see the run that was in the way", "history")}, ev.missed()...)
		}
		return append([]api.Remedy{
			ev.command("see the run that was in the way", "history"),
			ev.set("queue instead of skip", "overlap=queue"),
		}, ev.missed()...)
	case job.QueueFull:
		return append([]api.Remedy{
			ev.command("see the run that was in the way", "history"),
			ev.set("queue more than one", "overlap=queue-all"),
		}, ev.missed()...)
	}
	return []api.Remedy{ev.command("see the run that is in the way", "history"), ev.command("end all its runs", "stop")}
}

// afterRun returns what can be done if there was a run.
func (ev *evidence) afterRun() []api.Remedy {
	r := ev.run
	switch {
	case r == nil, r.State == job.RunDropped, !r.State.Live() && !r.Failed():
		return nil
	case r.State.Live():
		return []api.Remedy{{What: "watch it", Command: "cronring logs -f " + r.ID.String()}}
	}
	return []api.Remedy{{What: "see its output", Command: "cronring logs " + r.ID.String()}}
}

// again runs a failed run once more if no attempt of it follows.
func (ev *evidence) again() []api.Remedy {
	r := ev.run
	if r != nil && ev.last != nil {
		r = ev.last
	}
	if r == nil || r.State != job.RunEnded || !r.Failed() || r.Verdict == job.VerdictRetry || ev.isElsewhere() {
		return nil
	}
	return []api.Remedy{{What: "run it again", Command: "cronring retry " + r.ID.String()}}
}
