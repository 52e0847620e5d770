package screen

import (
	"context"
	"fmt"
	"slices"

	"github.com/cronring/cronring/crontab"
	"github.com/cronring/cronring/daemon/api"
	"github.com/cronring/cronring/daemon/job"
	"github.com/cronring/cronring/tui/edit"
)

// placed is a subject with the place of its entry: that of the job where the
// screen named none.
func (w *World) placed(s Subject) Subject {
	if row, ok := w.row(s); ok && s.File == "" {
		s.File, s.Line = row.Table, row.Line
	}
	return s
}

// room is where an entry is added: in the file of the subject, or in the person's
// own if that is not theirs to change.
func (w *World) room(s Subject) Subject {
	if row, ok := w.row(s); ok && row.Fixed {
		return Subject{}
	}
	return w.placed(s)
}

// remove takes the entries of jobs out of their files.
func (w *World) remove(about Subject) Do {
	const shown = 8
	files := map[string]bool{}
	var detail []string
	rows := w.rows(about)
	for i, r := range rows {
		files[r.Table] = true
		if i < shown {
			detail = append(detail, fmt.Sprintf("- %s:%d  %s  %s", r.Table, r.Line, r.Schedule, r.Command))
		}
	}
	if more := len(rows) - shown; more > 0 {
		detail = append(detail, fmt.Sprintf("and %d more", more))
	}
	undo := &Do{Class: Undoable, Question: "put " + what(about) + " back", Command: []string{"cronring", "undo"}}
	return w.on(about, Do{
		Class: Removes, Count: len(about.Jobs), Command: command("rm", about), Undo: undo,
		Question: fmt.Sprintf("Delete %s from %s?", counted(len(about.Jobs), "entry"), counted(len(files), "file")),
		Detail:   append(detail, "What the files say is kept: z undoes it, or cronring undo."),
		Call: func(ctx context.Context, d Daemon) (string, error) {
			done, err := removeEntries(ctx, d, refs(about))
			*undo = putBack(done, what(about))
			return fmt.Sprintf("deleted %s", what(about)), err
		},
	})
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

// removeEntries removes the entries of jobs. What was done before something went
// wrong is told with it.
func removeEntries(ctx context.Context, d Daemon, refs []string) ([]api.Installed, error) {
	jobs, err := d.List(ctx, api.Query{Refs: refs})
	if err != nil {
		return nil, err
	}
	byFile := map[string][]job.Job{}
	var files []string
	for i := range jobs {
		j := jobs[i].Job
		if byFile[j.Table] == nil {
			files = append(files, j.Table)
		}
		byFile[j.Table] = append(byFile[j.Table], j)
	}
	var done []api.Installed
	for _, file := range files {
		one, err := removeFrom(ctx, d, file, byFile[file])
		if err != nil {
			return done, err
		}
		done = append(done, one)
	}
	return done, nil
}

func removeFrom(ctx context.Context, d Daemon, file string, jobs []job.Job) (api.Installed, error) {
	return changeEntries(ctx, d, file, jobs, func(draft *crontab.Draft, lines []int) error { return draft.Remove(lines...) })
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
