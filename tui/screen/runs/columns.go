package runs

import (
	"github.com/cronring/cronring/daemon/display"
	"github.com/cronring/cronring/daemon/job"
	"github.com/cronring/cronring/tui/canvas"
	"github.com/cronring/cronring/tui/screen"
	"github.com/cronring/cronring/tui/table"
)

// startWidth is the width of the column with the time of a row.
func startWidth(w *screen.World) int {
	if w.Absolute {
		return w.Clock.PointWidth() + 1
	}
	return 9
}

// runColumns are the columns of the list of runs.
func runColumns(w *screen.World) []table.Column[runRow] {
	dim := func(text func(r *job.Run) string) func(*screen.World, *runRow) (string, canvas.Style) {
		return func(_ *screen.World, r *runRow) (string, canvas.Style) { return text(&r.run), screen.Dim }
	}
	return []table.Column[runRow]{
		{Width: 2, Text: signText},
		{Title: "START", Width: startWidth(w), Text: startText},
		{Title: "JOB", Fill: true, Fit: table.IfRoom, Least: 31, Text: table.Plain((*runRow).job)},
		{Title: "OUTCOME", Width: 13, Fit: table.IfRoom, Least: 13, Text: outcomeText}, // a long one: "not started: ..."
		{Title: "TOOK", From: 60, Width: 7, Text: func(w *screen.World, r *runRow) (string, canvas.Style) { return w.Took(&r.run), canvas.Style{} }},
		{Title: "CPU", From: 80, Width: 7, Text: dim(cpuText)},
		{Title: "MEM", From: 80, Width: 6, Text: dim(func(r *job.Run) string { return display.Bytes(r.Usage.Memory) })},
		{Title: "TRIGGER", From: 60, Width: 11, Text: dim(screen.TriggerText)},
		{Title: "NODE", From: 110, Width: 9, Text: func(w *screen.World, _ *runRow) (string, canvas.Style) { return w.Status.Host, screen.Dim }},
		{Title: "USER", From: 110, Width: 9, Text: dim(func(r *job.Run) string { return r.User })},
		{Title: "RUN", From: 110, Width: 9, Text: dim(func(r *job.Run) string { return r.ID.String() })},
	}
}

// missedColumns are the columns of the list of what was not run.
func missedColumns(w *screen.World) []table.Column[runRow] {
	return []table.Column[runRow]{
		{Width: 2, Text: signText},
		{Title: "DUE", Width: startWidth(w), Text: func(w *screen.World, r *runRow) (string, canvas.Style) {
			return w.Past(r.run.Due, w.JobZone(r.run.Job)), canvas.Style{}
		}},
		{Title: "JOB", Width: 16, Text: table.Plain((*runRow).job)},
		{Title: "WHY IT WAS NOT RUN", Fill: true, Text: table.Plain((*runRow).outcome)},
	}
}

// signText is the sign of a row.
func signText(w *screen.World, r *runRow) (string, canvas.Style) {
	if r.missed != nil {
		return w.Glyphs.Skipped, screen.Dim
	}
	return screen.RunSign(w, &r.run)
}

func startText(w *screen.World, r *runRow) (string, canvas.Style) {
	at := r.run.Started
	if at.IsZero() {
		at = r.run.Decided
	}
	return w.Past(at, w.JobZone(r.run.Job)), canvas.Style{}
}

func outcomeText(w *screen.World, r *runRow) (string, canvas.Style) {
	_, style := screen.RunSign(w, &r.run)
	return r.outcome(), style
}

func cpuText(r *job.Run) string {
	if r.Usage.CPU == 0 {
		return ""
	}
	return display.Brief(r.Usage.CPU)
}
