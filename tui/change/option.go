package change

import (
	"context"
	"fmt"
	"slices"

	"github.com/cronring/cronring/crontab/draft"
	"github.com/cronring/cronring/daemon/api"
	"github.com/cronring/cronring/daemon/display"
	"github.com/cronring/cronring/daemon/job"
	"github.com/cronring/cronring/tui/screen"
)

// ForceRun runs a job although something keeps it back.
func ForceRun(id job.ID) screen.Do {
	return screen.Do{
		Class:    screen.Effects,
		Question: "Run " + display.Text(string(id)) + " now, although something keeps it back?",
		Detail:   []string{"Pauses, if=, host= and active runs are ignored."},
		Command:  []string{"cronring", "run", "--force", string(id)},
		Call: func(ctx context.Context, d screen.Daemon) (string, error) {
			runs, err := d.Run(ctx, api.RunRequest{Refs: []string{string(id)}, Force: true})
			return runsMessage("started", runs), err
		},
	}
}

// SetOption changes an option of a job in its crontab. It can be undone, and is
// asked about all the same: the key that does it here brings up a screen elsewhere.
func SetOption(w *screen.World, id job.ID, key, value string) screen.Do {
	setting := key + "=" + value
	about := screen.Subject{Jobs: []job.ID{id}}
	undo := &screen.Do{Class: screen.Undoable, Question: "take " + setting + " back", Command: []string{"cronring", "undo"}}
	return Guard(w, about, screen.Do{
		Class: screen.Effects, Question: fmt.Sprintf("Set %s of %s?", setting, id), Undo: undo,
		Detail:  []string{"The option is written above the entry. The current version of the file is kept: undo with z or cronring undo."},
		Command: []string{"cronring", "set", string(id), setting},
		Call: func(ctx context.Context, d screen.Daemon) (string, error) {
			done, err := installOption(ctx, d, id, key, value)
			if err != nil {
				return "", err
			}
			*undo = putBack([]api.Installed{done}, screen.JobsText(about))
			return fmt.Sprintf("%s has %s", id, setting), nil
		},
	})
}

func installOption(ctx context.Context, d screen.Daemon, id job.ID, key, value string) (api.Installed, error) {
	jobs, err := d.List(ctx, api.Query{Refs: []string{string(id)}})
	if err != nil {
		return api.Installed{}, err
	}
	if i := slices.IndexFunc(jobs, func(j job.Status) bool { return j.Job.ID == id }); i >= 0 {
		j := jobs[i].Job
		return changeEntries(ctx, d, j.Crontab, []job.Job{j}, func(draft *draft.Draft, lines []int) error {
			_, err := draft.Set(lines[0], key, value)
			return err
		})
	}
	return api.Installed{}, &api.Error{Kind: api.NotFound, What: fmt.Sprintf("cannot change %q: no such job", id), Fix: "cronring list"}
}
