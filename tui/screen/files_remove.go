package screen

import (
	"context"
	"fmt"

	"github.com/cronring/cronring/crontab"
	"github.com/cronring/cronring/daemon/api"
	"github.com/cronring/cronring/daemon/job"
)

// remove takes the entries of jobs out of their files.
func remove(w *World, about Subject) Do {
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
	return on(w, about, Do{
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
