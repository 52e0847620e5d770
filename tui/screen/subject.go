package screen

import (
	"fmt"
	"strings"

	"github.com/cronring/cronring/daemon/api"
	"github.com/cronring/cronring/daemon/job"
	"github.com/cronring/cronring/tui/keys"
)

// Denied returns why the user must not change what an action changes, as reported by
// the daemon, or "". The daemon checks it again.
func (w *World) Denied(a keys.Action, about Subject) string {
	denied := &w.Status.Denied
	switch a {
	case keys.Edit, keys.Delete:
		for _, r := range w.Rows(about) {
			switch {
			case r.Fixed && len(about.Jobs) > 1:
				return string(r.Job) + ": " + denied.Entries
			case r.Fixed:
				return denied.Entries
			}
		}
		return denied.Crontab
	case keys.Add, keys.External, keys.Revisions, keys.Restore:
		return denied.Crontab
	}
	return ""
}

// Rows are those of the jobs that an action is about.
func (w *World) Rows(about Subject) []api.Row {
	rows := make([]api.Row, 0, len(about.Jobs))
	for _, id := range about.Jobs {
		if row, ok := w.Board.Job(id); ok {
			rows = append(rows, row)
		}
	}
	return rows
}

// Names lists some of many jobs.
func Names(jobs []job.ID) string {
	const shown = 20
	words := make([]string, 0, shown)
	for _, id := range jobs[:min(len(jobs), shown)] {
		words = append(words, string(id))
	}
	text := strings.Join(words, ", ")
	if more := len(jobs) - shown; more > 0 {
		text += fmt.Sprintf(", and %d more", more)
	}
	return text
}

// JobsText returns the name of the only job of a subject, or the number of jobs.
func JobsText(about Subject) string {
	if len(about.Jobs) == 1 {
		return string(about.Jobs[0])
	}
	return fmt.Sprintf("%d jobs", len(about.Jobs))
}

func Refs(about Subject) []string {
	all := make([]string, len(about.Jobs))
	for i, id := range about.Jobs {
		all[i] = string(id)
	}
	return all
}

// Row is the job of a subject on the board.
func (w *World) Row(s Subject) (api.Row, bool) {
	if len(s.Jobs) == 0 {
		return api.Row{}, false
	}
	return w.Board.Job(s.Jobs[0])
}

// Placed is a subject with the place of its entry: that of the job where the
// screen named none.
func (w *World) Placed(s Subject) Subject {
	if row, ok := w.Row(s); ok && s.File == "" {
		s.File, s.Line = row.Crontab, row.Line
	}
	return s
}

// JobZone is the zone of a job.
func (w *World) JobZone(id job.ID) string {
	row, _ := w.Board.Job(id)
	return row.Zone
}
