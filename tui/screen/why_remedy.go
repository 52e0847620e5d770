package screen

import (
	"strings"

	"github.com/cronring/cronring/daemon/api"
	"github.com/cronring/cronring/daemon/job"
	"github.com/cronring/cronring/tui/keys"
)

// remedy does what is proposed: what the dashboard can do, it does itself, with
// its questions; the rest goes to the clipboard. The proposal is looked at, not
// run: only words that are known, about this very job, do anything.
func (s *Why) remedy(w *World, r api.Remedy) []Effect {
	subject := s.Subject(w)
	program, rest, _ := strings.Cut(r.Command, " ")
	verb, rest, _ := strings.Cut(rest, " ")
	name := shellWord(string(s.answer.Job))
	about, option, _ := strings.Cut(rest, " ")
	key, value, isOption := strings.Cut(option, "=")
	switch {
	case program == "${EDITOR:-vi}":
		return []Effect{Press{keys.Edit, subject}}
	case program != "cronring":
	case verb == "logs" && s.answer.Run != nil && strings.HasSuffix(rest, s.answer.Run.ID.String()):
		return []Effect{Press{keys.ShowOutput, subject}}
	case verb == "run" && rest == "--force "+name:
		return []Effect{forcedRun(s.answer.Job)}
	case about != name:
	case verb == "history" && option == "":
		return []Effect{Show{keys.ShowRuns, Subject{Jobs: []job.ID{s.answer.Job}}}}
	case verb == "set" && isOption && !strings.Contains(value, " "):
		return []Effect{setOption(w, s.answer.Job, key, value)}
	case verb == "backfill" && strings.HasPrefix(option, "--at "):
		return []Effect{Press{keys.Backfill, Subject{Jobs: []job.ID{s.answer.Job}, At: s.answer.At}}}
	case option == "" && remedyKeys[verb] != "":
		return []Effect{Press{remedyKeys[verb], Subject{Jobs: []job.ID{s.answer.Job}}}}
	}
	return []Effect{Clip{Text: w.inShell(r.Command), What: "the command"}}
}

// edits reports whether a proposal is about what the crontab says.
func edits(r api.Remedy) bool {
	return strings.HasPrefix(r.Command, "cronring set ") || strings.HasPrefix(r.Command, "${EDITOR:-vi} ")
}

// remedyKeys are the verbs of remedies that a key does to the job.
var remedyKeys = map[string]keys.Action{"run": keys.Run, "resume": keys.Pause, "stop": keys.Stop}
