package change

import (
	"context"
	"fmt"

	"github.com/cronring/cronring/crontab/draft"
	"github.com/cronring/cronring/daemon/api"
	"github.com/cronring/cronring/daemon/display"
	"github.com/cronring/cronring/daemon/job"
	"github.com/cronring/cronring/tui/keys"
	"github.com/cronring/cronring/tui/screen"
)

// Remove takes the entries of jobs out of their files.
func Remove(w *screen.World, about screen.Subject) screen.Do {
	const shown = 8
	files := map[string]bool{}
	var detail []string
	rows := w.Rows(about)
	for i, r := range rows {
		files[r.Crontab] = true
		if i < shown {
			detail = append(detail, fmt.Sprintf("- %s:%d  %s  %s", r.Crontab, r.Line, r.Schedule, r.Command))
		}
	}
	if more := len(rows) - shown; more > 0 {
		detail = append(detail, fmt.Sprintf("and %d more", more))
	}
	undo := &screen.Do{Class: screen.Undoable, Question: "put " + screen.JobsText(about) + " back", Command: []string{"cronring", "undo"}}
	return Guard(w, about, screen.Do{
		Class: screen.Removes, Count: len(about.Jobs), Command: Command("rm", about), Undo: undo,
		Question: fmt.Sprintf("Delete %s from %s?", display.Count(len(about.Jobs), "entry"), display.Count(len(files), "file")),
		Detail:   append(detail, "The old text is kept: "+w.KeyOf(keys.Undo)+" restores it, and so does cronring undo."),
		Call: func(ctx context.Context, d screen.Daemon) (string, error) {
			done, err := removeEntries(ctx, d, screen.Refs(about))
			*undo = putBack(done, screen.JobsText(about))
			return fmt.Sprintf("deleted %s", screen.JobsText(about)), err
		},
	})
}

// removeEntries removes the entries of jobs. With an error it returns the changes
// made before.
func removeEntries(ctx context.Context, d screen.Daemon, refs []string) ([]api.Installed, error) {
	jobs, err := d.List(ctx, api.Query{Refs: refs})
	if err != nil {
		return nil, err
	}
	byFile := map[string][]job.Job{}
	var files []string
	for i := range jobs {
		j := jobs[i].Job
		if byFile[j.Crontab] == nil {
			files = append(files, j.Crontab)
		}
		byFile[j.Crontab] = append(byFile[j.Crontab], j)
	}
	var done []api.Installed
	for _, file := range files {
		one, err := changeEntries(ctx, d, file, byFile[file], func(draft *draft.Draft, lines []int) error { return draft.Remove(lines...) })
		if err != nil {
			return done, err
		}
		done = append(done, one)
	}
	return done, nil
}
