package screen

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/cronring/cronring/crontab"
	"github.com/cronring/cronring/daemon/api"
	"github.com/cronring/cronring/daemon/job"
	"github.com/cronring/cronring/tui/edit"
)

// loadZone finds a zone by the name that a crontab gives it.
func loadZone(name string) (*time.Location, error) {
	if name == "" || name == "Local" {
		return nil, fmt.Errorf("%q names no zone", name)
	}
	return time.LoadLocation(name)
}

// installs changes a crontab file.
func installs(r api.TableRequest, name string, command []string, slot string) Do {
	undo := &Do{Class: Undoable, Question: "restored " + name}
	return Do{
		Class: Undoable, Question: "saved " + name, Command: command, Slot: slot, Undo: undo,
		Call: func(ctx context.Context, d Daemon) (string, error) {
			done, err := d.InstallTable(ctx, r)
			if err != nil {
				return "", err
			}
			*undo = restores(done.Before, name)
			said := fmt.Sprintf("saved %s, %s", name, counted(done.Entries, "entry"))
			if done.Notice != "" {
				said += "; " + done.Notice
			}
			return said, nil
		},
	}
}

// restores puts a revision of a crontab file back.
func restores(revision int64, name string) Do {
	return Do{
		Class: Undoable, Question: "restored " + name, Command: []string{"cronring", "undo", fmt.Sprint(revision)},
		Call: func(ctx context.Context, d Daemon) (string, error) {
			if revision == 0 {
				return "", &api.Error{Kind: api.Conflict, What: "cannot undo: no revision was kept"}
			}
			_, err := d.Undo(ctx, api.UndoRequest{Revision: revision})
			return fmt.Sprintf("restored %s as it was in revision %d", name, revision), err
		},
	}
}

// putBack takes a removal back, file by file.
func putBack(done []api.Installed, name string) Do {
	d := Do{Class: Undoable, Question: "put " + name + " back", Command: []string{"cronring", "undo"}}
	for _, i := range done {
		d.Command = append(d.Command, fmt.Sprint(i.Before))
	}
	d.Call = func(ctx context.Context, daemon Daemon) (string, error) {
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
func changeEntries(ctx context.Context, d Daemon, file string, jobs []job.Job, change func(draft *crontab.Draft, lines []int) error) (api.Installed, error) {
	t, err := d.Table(ctx, file, "")
	if err != nil {
		return api.Installed{}, err
	}
	checked := edit.NewChecker(&t, loadZone).Check(string(t.Text))
	var lines []int
	for _, j := range jobs {
		e := checked.Entry(j.Line - t.Above)
		if e == nil || e.Command() != j.Command {
			return api.Installed{}, &api.Error{
				Kind: api.Conflict, What: "cannot find " + string(j.ID) + " in " + file,
				Why: "the file was changed since the daemon read it", Fix: "cronring reload",
			}
		}
		lines = append(lines, e.Line())
	}
	draft := crontab.NewDraft(string(t.Text), t.Config(loadZone).Format)
	if err := change(draft, lines); err != nil {
		return api.Installed{}, err
	}
	return d.InstallTable(ctx, api.TableRequest{File: t.File, Text: []byte(draft.Text()), Base: t.Sum})
}

// shortFile is what a crontab is called in a list: the path, or whose it is.
func shortFile(t *api.Table) string {
	if t.User != "" {
		return "crontab " + t.User
	}
	return t.File
}
