package change

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/cronring/cronring/crontab/draft"
	"github.com/cronring/cronring/daemon/api"
	"github.com/cronring/cronring/daemon/display"
	"github.com/cronring/cronring/daemon/job"
	"github.com/cronring/cronring/tui/edit"
	"github.com/cronring/cronring/tui/screen"
)

// LoadZone loads a zone by its name in a crontab.
func LoadZone(name string) (*time.Location, error) {
	if name == "" || name == "Local" {
		return nil, fmt.Errorf("%q names no zone", name)
	}
	return time.LoadLocation(name)
}

// Install changes a crontab file.
func Install(r api.CrontabFileRequest, name string, command []string, slot string) screen.Do {
	undo := &screen.Do{Class: screen.Undoable, Question: "restored " + name}
	return screen.Do{
		Class: screen.Undoable, Question: "saved " + name, Command: command, Slot: slot, Undo: undo,
		Call: func(ctx context.Context, d screen.Daemon) (string, error) {
			done, err := d.InstallCrontabFile(ctx, r)
			if err != nil {
				return "", err
			}
			*undo = Restore(done.Before, name)
			message := fmt.Sprintf("saved %s, %s", name, display.Count(done.Entries, "entry"))
			if done.Notice != "" {
				message += "; " + done.Notice
			}
			return message, nil
		},
	}
}

// Restore puts a revision of a crontab file back.
func Restore(revision int64, name string) screen.Do {
	return screen.Do{
		Class: screen.Undoable, Question: "restored " + name, Command: []string{"cronring", "undo", fmt.Sprint(revision)},
		Call: func(ctx context.Context, d screen.Daemon) (string, error) {
			if revision == 0 {
				return "", &api.Error{Kind: api.Conflict, What: "cannot undo: no revision was kept"}
			}
			_, err := d.Undo(ctx, api.UndoRequest{Revision: revision})
			return fmt.Sprintf("restored %s as it was in revision %d", name, revision), err
		},
	}
}

// putBack takes a removal back, file by file.
func putBack(done []api.Installed, name string) screen.Do {
	d := screen.Do{Class: screen.Undoable, Question: "put " + name + " back", Command: []string{"cronring", "undo"}}
	for _, i := range done {
		d.Command = append(d.Command, fmt.Sprint(i.Before))
	}
	d.Call = func(ctx context.Context, daemon screen.Daemon) (string, error) {
		for _, i := range slices.Backward(done) {
			if _, err := daemon.Undo(ctx, api.UndoRequest{Revision: i.Before}); err != nil {
				return "", err
			}
		}
		return "put " + name + " back", nil
	}
	return d
}

// changeEntries changes the entries of jobs in their file.
func changeEntries(ctx context.Context, d screen.Daemon, file string, jobs []job.Job, change func(draft *draft.Draft, lines []int) error) (api.Installed, error) {
	t, err := d.CrontabText(ctx, file, "")
	if err != nil {
		return api.Installed{}, err
	}
	checked := edit.NewChecker(&t, LoadZone).Check(string(t.Text))
	var lines []int
	for _, j := range jobs {
		e := checked.Entry(j.Line - t.Above())
		if e == nil || e.Command() != j.Command {
			return api.Installed{}, &api.Error{
				Kind: api.Conflict, What: "cannot find " + string(j.ID) + " in " + file,
				Why: "the file was changed since the daemon read it", Fix: "cronring reload",
			}
		}
		lines = append(lines, e.Line())
	}
	draft := draft.New(string(t.Text), t.Config(LoadZone).Format)
	if err := change(draft, lines); err != nil {
		return api.Installed{}, err
	}
	return d.InstallCrontabFile(ctx, api.CrontabFileRequest{File: t.File, Text: []byte(draft.Text()), Base: t.Sum, Verb: "set"})
}

// FileName returns a crontab's name in lists: its path, or its user.
func FileName(t *api.CrontabFile) string {
	if t.User != "" {
		return "crontab " + t.User
	}
	return t.File
}
