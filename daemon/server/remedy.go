package server

import (
	"fmt"

	"github.com/cronring/cronring/daemon/api"
	"github.com/cronring/cronring/daemon/job"
)

// remedies tells what can be done about it.
func (ev *evidence) remedies(cross api.StepName) []api.Remedy {
	switch cross {
	case "":
		return ev.afterRun()
	case api.StepEntry:
		return []api.Remedy{ev.lint(), ev.command("see when it is due", "next")}
	case api.StepEnabled:
		return ev.enable()
	case api.StepSchedule:
		return []api.Remedy{ev.command("see when it is due", "next"), ev.command("have the schedule explained", "explain")}
	case api.StepClock, api.StepDaemon:
		return []api.Remedy{ev.command("run it now", "run"), ev.edit("make up what was missed: write #@ catchup=once above the entry")}
	case api.StepOverlap:
		return ev.makeRoom()
	case api.StepParents:
		return []api.Remedy{ev.command("see whom it waits for, and how they are", "graph"), ev.command("run it now, without waiting", "run")}
	case api.StepNode, api.StepCheck: // which keep back what a person asks for, too
		return append(ev.afterRun(), ev.command("run it all the same", "run --force"))
	}
	return append(ev.afterRun(), ev.command("run it now", "run"))
}

// command is a remedy that is a verb of the command line.
func (ev *evidence) command(what, verb string) api.Remedy {
	return api.Remedy{What: what, Command: "cronring " + verb + " " + quote(string(ev.job.ID))}
}

func (ev *evidence) edit(what string) api.Remedy {
	return api.Remedy{What: what, Command: fmt.Sprintf("${EDITOR:-vi} +%d %s", ev.job.Line, quote(ev.job.Table))}
}

func (ev *evidence) lint() api.Remedy {
	return api.Remedy{What: "see what is wrong with the entry", Command: "cronring lint " + quote(ev.job.Table)}
}

func (ev *evidence) enable() []api.Remedy {
	switch {
	case ev.hold != nil:
		return []api.Remedy{ev.command("end the pause", "resume")}
	case ev.bar == job.NoAccount:
		return []api.Remedy{{What: "see whether the host knows the account", Command: "getent passwd " + quote(ev.job.User)}}
	case ev.bar == job.AccountRefused:
		return []api.Remedy{{What: "see the dates of the account", Command: "chage -l " + quote(ev.job.User)}}
	case ev.job.Held != "":
		return []api.Remedy{ev.lint()}
	case ev.job.Disabled:
		return []api.Remedy{ev.edit("let it run: take enabled=no out above the entry")}
	}
	return []api.Remedy{ev.command("run it now", "run")}
}

func (ev *evidence) makeRoom() []api.Remedy {
	switch ev.reason() {
	case job.Overlapping:
		return []api.Remedy{
			ev.command("see the run that was in the way", "history"),
			ev.edit("queue instead of skip: write #@ overlap=queue above the entry"),
		}
	case job.QueueFull:
		return []api.Remedy{
			ev.command("see the run that was in the way", "history"),
			ev.edit("queue more than one: write #@ overlap=queue-all above the entry"),
		}
	}
	return []api.Remedy{ev.command("see the run that is in the way", "history"), ev.command("end all its runs", "stop")}
}

// afterRun is what can be done when there was a run.
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
