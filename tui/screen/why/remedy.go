package why

import (
	"strconv"
	"strings"

	"github.com/cronring/cronring/daemon/api"
	"github.com/cronring/cronring/daemon/display"
	"github.com/cronring/cronring/daemon/job"
	"github.com/cronring/cronring/tui/change"
	"github.com/cronring/cronring/tui/keys"
	"github.com/cronring/cronring/tui/screen"
)

// remedy performs a proposal. What the dashboard can do it does itself, with the
// usual questions; any other command goes to the clipboard. Nothing is executed: only
// known words about this job have an effect.
func (s *Why) remedy(w *screen.World, r api.Remedy) []screen.Effect {
	subject := s.Subject(w)
	program, rest, _ := strings.Cut(r.Command, " ")
	verb, rest, _ := strings.Cut(rest, " ")
	name := display.Quote(string(s.answer.Job))
	about, option, _ := strings.Cut(rest, " ")
	key, value, isOption := strings.Cut(option, "=")
	run, err := strconv.ParseInt(rest, 10, 64)
	isNumber := err == nil
	switch {
	case program == "${EDITOR:-vi}":
		return []screen.Effect{screen.Press{Action: keys.Edit, Subject: subject}}
	case program != "cronring":
	case verb == "logs" && s.answer.Run != nil && strings.HasSuffix(rest, s.answer.Run.ID.String()):
		return []screen.Effect{screen.Press{Action: keys.ShowOutput, Subject: subject}}
	case verb == "logs" && rest == display.Quote(string(s.answer.Job)+"@failed"):
		return []screen.Effect{screen.Press{Action: keys.ShowOutput, Subject: screen.Subject{Jobs: []job.ID{s.answer.Job}}}}
	case verb == "retry" && isNumber:
		return []screen.Effect{screen.Press{Action: keys.Retry, Subject: screen.Subject{Jobs: []job.ID{s.answer.Job}, Run: job.RunID(run)}}}
	case verb == "run" && rest == "--force "+name:
		return []screen.Effect{change.ForceRun(s.answer.Job)}
	case about != name:
	case verb == "history" && option == "":
		return []screen.Effect{screen.Show{Action: keys.ShowRuns, Subject: screen.Subject{Jobs: []job.ID{s.answer.Job}}}}
	case verb == "set" && isOption && !strings.Contains(value, " "):
		return []screen.Effect{change.SetOption(w, s.answer.Job, key, value)}
	case verb == "backfill" && strings.HasPrefix(option, "--at "):
		return []screen.Effect{screen.Press{Action: keys.Backfill, Subject: screen.Subject{Jobs: []job.ID{s.answer.Job}, At: s.answer.At}}}
	case option == "" && remedyKeys[verb] != "":
		return []screen.Effect{screen.Press{Action: remedyKeys[verb], Subject: screen.Subject{Jobs: []job.ID{s.answer.Job}}}}
	}
	return []screen.Effect{screen.Clip{Text: w.InShell(r.Command), What: "the command"}}
}

// edits reports whether a proposal changes the crontab.
func edits(r api.Remedy) bool {
	return strings.HasPrefix(r.Command, "cronring set ") || strings.HasPrefix(r.Command, "${EDITOR:-vi} ")
}

// remedyActions are the actions of the first proposals.
var remedyActions = []keys.Action{keys.Remedy1, keys.Remedy2, keys.Remedy3, keys.Remedy4}

// remedyKeys are the verbs of remedies that a key does to the job.
var remedyKeys = map[string]keys.Action{"run": keys.Run, "resume": keys.Pause, "stop": keys.Stop}
