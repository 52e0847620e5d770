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

// columns returns the columns of the list. The list of one job has room for more of them.
func (s *Runs) columns(w *screen.World) []table.Column[runRow] {
	dim := func(text func(r *job.Run) string) func(*screen.World, *runRow) (string, canvas.Style) {
		return func(_ *screen.World, r *runRow) (string, canvas.Style) { return text(&r.run), screen.Dim }
	}
	from := func(all, ofOne int) int {
		if s.only == "" {
			return all
		}
		return ofOne
	}
	if s.preset == missedRuns {
		return []table.Column[runRow]{
			{Width: 2, Text: signText},
			{Title: "DUE", Width: startWidth(w), Text: func(w *screen.World, r *runRow) (string, canvas.Style) {
				return w.Past(r.run.Due, w.JobZone(r.run.Job)), canvas.Style{}
			}},
			{Title: "JOB", From: from(0, table.Hidden), Width: 16, Text: table.Plain((*runRow).job)},
			{Title: "WHY IT WAS NOT RUN", Fill: true, Text: table.Plain((*runRow).outcome)},
		}
	}
	return []table.Column[runRow]{
		{Width: 2, Text: signText},
		{Title: "START", Width: startWidth(w), Fit: table.Always, Most: 12, Text: startText}, // a long one: "in 10m52s"
		{Title: "JOB", From: from(0, table.Hidden), Fill: true, Fit: table.IfRoom, Least: 31, Text: table.Plain((*runRow).job)},
		{Title: "OUTCOME", Width: 13, Fill: s.only != "", Fit: table.IfRoom, Least: 13, Text: outcomeText}, // a long one: "not started: ..."
		{Title: "TOOK", From: from(60, 0), Width: 7, Text: func(w *screen.World, r *runRow) (string, canvas.Style) { return w.Took(&r.run), canvas.Style{} }},
		{Title: "CPU", From: 80, Width: 7, Text: dim(cpuText)},
		{Title: "MEM", From: 80, Width: 6, Text: dim(func(r *job.Run) string { return display.Bytes(r.Usage.Memory) })},
		{Title: "READ", From: from(table.Hidden, 100), Width: 6, Text: dim(func(r *job.Run) string { return display.Bytes(r.Usage.Read) })},
		{Title: "WRITTEN", From: from(table.Hidden, 100), Width: 8, Text: dim(func(r *job.Run) string { return display.Bytes(r.Usage.Write) })},
		{Title: "TRIGGER", From: 60, Width: 11, Text: dim(screen.TriggerText)},
		{Title: "NODE", From: 110, Width: 9, Text: func(w *screen.World, _ *runRow) (string, canvas.Style) { return w.Status.Host, screen.Dim }},
		{Title: "USER", From: 110, Width: 9, Text: dim(func(r *job.Run) string { return r.User })},
		{Title: "RUN", From: from(110, 60), Width: 9, Text: dim(func(r *job.Run) string { return r.ID.String() })},
	}
}

// signText is the sign of a row.
func signText(w *screen.World, r *runRow) (string, canvas.Style) {
	if r.missed != nil {
		return w.Glyphs.Skipped, screen.Dim
	}
	return screen.RunSign(w, &r.run)
}

// startText returns when a run began, or when it will.
func startText(w *screen.World, r *runRow) (string, canvas.Style) {
	at, waits := r.run.Started, r.run.State == job.RunWaiting && r.run.NotBefore.After(w.Now)
	switch {
	case waits && w.Absolute:
		at = r.run.NotBefore
	case waits:
		return "in " + display.Away(r.run.NotBefore, w.Now), canvas.Style{}
	case at.IsZero():
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
