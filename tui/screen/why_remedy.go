package screen

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/cronring/cronring/crontab"
	"github.com/cronring/cronring/daemon/api"
	"github.com/cronring/cronring/daemon/job"
	"github.com/cronring/cronring/tui/keys"
	"github.com/cronring/cronring/tui/safe"
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
		return []Effect{Goto{NewRunsOf(s.answer.Job)}}
	case verb == "set" && isOption && !strings.Contains(value, " "):
		return []Effect{w.setOption(s.answer.Job, key, value)}
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

// forcedRun runs a job although something keeps it back.
func forcedRun(id job.ID) Do {
	return Do{
		Class:    Effects,
		Question: "Run " + safe.Text(string(id)) + " now, although something keeps it back?",
		Detail:   []string{"Pauses, if=, host= and runs that are going are passed over."},
		Command:  []string{"cronring", "run", "--force", string(id)},
		Call: func(ctx context.Context, d Daemon) (string, error) {
			runs, err := d.Run(ctx, api.RunRequest{Refs: []string{string(id)}, Force: true})
			return runsSaid("started", runs), err
		},
	}
}

// setOption changes an option of a job in its crontab. It can be undone, and is
// asked about all the same: the key that does it here brings up a screen elsewhere.
func (w *World) setOption(id job.ID, key, value string) Do {
	setting := key + "=" + value
	about := Subject{Jobs: []job.ID{id}}
	undo := &Do{Class: Undoable, Question: "take " + setting + " back", Command: []string{"cronring", "undo"}}
	return w.on(about, Do{
		Class: Effects, Question: fmt.Sprintf("Set %s of %s?", setting, id), Undo: undo,
		Detail:  []string{"It is kept above its line in the crontab. What the file says now is kept: z undoes it, or cronring undo."},
		Command: []string{"cronring", "set", string(id), setting},
		Call: func(ctx context.Context, d Daemon) (string, error) {
			done, err := installOption(ctx, d, id, key, value)
			if err != nil {
				return "", err
			}
			*undo = putBack([]api.Installed{done}, what(about))
			return fmt.Sprintf("%s has %s", id, setting), nil
		},
	})
}

func installOption(ctx context.Context, d Daemon, id job.ID, key, value string) (api.Installed, error) {
	jobs, err := d.List(ctx, api.Query{Refs: []string{string(id)}})
	if err != nil {
		return api.Installed{}, err
	}
	if i := slices.IndexFunc(jobs, func(j job.Status) bool { return j.Job.ID == id }); i >= 0 {
		j := jobs[i].Job
		return changeEntries(ctx, d, j.Table, []job.Job{j}, func(draft *crontab.Draft, lines []int) error {
			_, err := draft.Set(lines[0], key, value)
			return err
		})
	}
	return api.Installed{}, &api.Error{Kind: api.NotFound, What: fmt.Sprintf("cannot change %q: no such job", id), Fix: "cronring list"}
}
