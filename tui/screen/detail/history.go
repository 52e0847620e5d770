package detail

import (
	"context"
	"slices"
	"time"

	"github.com/cronring/cronring/daemon/api"
	"github.com/cronring/cronring/daemon/display"
	"github.com/cronring/cronring/daemon/job"
	"github.com/cronring/cronring/tui/canvas"
	"github.com/cronring/cronring/tui/jobinfo"
	"github.com/cronring/cronring/tui/keys"
	"github.com/cronring/cronring/tui/page"
	"github.com/cronring/cronring/tui/screen"
	"github.com/cronring/cronring/tui/table"
)

// jobRuns is the newest runs of one job, with a cursor.
type jobRuns struct {
	table  table.Table[job.RunID, job.Run]
	list   table.Rows[job.RunID, job.Run] // newest first
	seen   jobinfo.Stamp                  // of the job when they were asked for
	known  bool
	asking bool
	err    error
}

// newJobRuns makes the list; zone returns the zone of the job.
func newJobRuns(zone func(w *screen.World) string) *jobRuns {
	r := &jobRuns{list: table.Rows[job.RunID, job.Run]{Key: func(r *job.Run) job.RunID { return r.ID }}}
	r.table = table.Table[job.RunID, job.Run]{Source: &r.list, Left: 1, Columns: []table.Column[job.Run]{
		{Width: 2, Text: func(w *screen.World, r *job.Run) (string, canvas.Style) { return screen.RunSign(w, r) }},
		{Width: 11, Text: func(w *screen.World, r *job.Run) (string, canvas.Style) {
			return runStart(w, zone(w), r), canvas.Style{}
		}},
		{Width: 16, Grow: 5, Text: func(w *screen.World, r *job.Run) (string, canvas.Style) {
			_, style := screen.RunSign(w, r)
			return runEnding(r), style
		}},
		{Width: 8, Text: func(w *screen.World, r *job.Run) (string, canvas.Style) { return w.Took(r), canvas.Style{} }},
		{Width: 26, Grow: 25, Text: table.Plain(func(r *job.Run) string { return jobinfo.UsageText(r.Usage) })},
		{Width: 11, Text: table.Plain(screen.TriggerText)},
		{Width: 12, Text: func(_ *screen.World, r *job.Run) (string, canvas.Style) { return "run " + r.ID.String(), screen.Dim }},
	}}
	for i := range r.table.Columns {
		r.table.Columns[i].Rank = i
	}
	return r
}

const slotJobRuns = "job-runs"

// manyRuns is the number of runs that are requested; the screen of runs shows all.
const manyRuns = 200

// ask requests the runs, again after another run has begun or ended.
func (r *jobRuns) ask(w *screen.World, id job.ID) []screen.Effect {
	row, ok := w.Board.Job(id)
	if !ok || r.asking || !w.Link.Live {
		return nil
	}
	if stamp := jobinfo.StampOf(&row); stamp != r.seen || !r.known && r.err == nil {
		r.seen, r.asking = stamp, true
		return []screen.Effect{screen.Ask{Slot: slotJobRuns, Call: func(ctx context.Context, d screen.Daemon) (any, error) {
			return d.History(ctx, api.Filter{Refs: []string{string(id)}, Limit: manyRuns})
		}}}
	}
	return nil
}

func (r *jobRuns) take(a screen.Answer) {
	r.asking = false
	if r.err = a.Err; a.Err != nil {
		return
	}
	first := r.table.Index() == 0
	runs := a.Value.(api.Runs).Runs
	slices.SortFunc(runs, func(a, b job.Run) int { return screen.CompareStarts(&a, &b) })
	r.table.SetRows(runs)
	r.known = true
	if first {
		r.table.Move(keys.First) // a cursor on the newest run stays on the newest run
	}
}

// act moves through the runs, and opens the output of one.
func (r *jobRuns) act(id job.ID, a keys.Action) ([]screen.Effect, bool) {
	switch a {
	case keys.PreviousRun:
		a = keys.Down // the list is newest first
	case keys.NextRun:
		a = keys.Up
	case keys.Open:
		if run, ok := r.table.Cursor(); ok {
			return []screen.Effect{screen.Press{Action: keys.ShowOutput, Subject: screen.Subject{Jobs: []job.ID{id}, Run: run}}}, true
		}
		return nil, true
	}
	return nil, r.table.Move(a)
}

// drawRuns draws the history: the strips, the runs, and the last days by hour
// where there is room for them, on the right or below.
func (s *Detail) drawRuns(v canvas.View, w *screen.World, row *api.Row) {
	if row.LastRun == 0 && row.Live == 0 && s.runs.list.Len() == 0 {
		notice := []string{string(row.Job) + ": " + jobinfo.Situation(w, row, s.file.Past)}
		if w.IsOfCron(row) {
			notice = append(notice, screen.CronKeeps)
		}
		page.DrawNotice(v, notice)
		return
	}
	chosen := -1
	if id, ok := s.runs.table.Cursor(); ok && s.file.Past != nil {
		cells := s.file.Past.Cells
		if i := slices.IndexFunc(cells, func(c api.Cell) bool { return c.Run == id }); i >= 0 {
			chosen = len(cells) - 1 - i
		}
	}
	top := v.In(1, 0, v.Width()-1, jobinfo.HistoryHeight)
	jobinfo.DrawHistory(top, w, row, &s.file, chosen)
	s.drawUsage(top.Row(jobinfo.HistoryHeight - 1))
	v = v.Below(jobinfo.HistoryHeight)
	const leastRuns, heatWidth = 3, 56
	switch heat := s.file.Hours != nil; {
	case heat && v.Width() >= 2*heatWidth && v.Height() > jobinfo.HoursHeight:
		left := v.Width() - heatWidth
		jobinfo.DrawHours(v.In(left, 0, heatWidth, v.Height()), w, row, &s.file)
		v = v.In(0, 0, left-1, v.Height())
	case heat && v.Height() >= 1+leastRuns+1+jobinfo.HoursHeight:
		jobinfo.DrawHours(v.Below(v.Height()-jobinfo.HoursHeight-1), w, row, &s.file)
		v = v.Above(v.Height() - jobinfo.HoursHeight - 1)
	}
	s.drawRunList(v, w)
}

// drawUsage draws what the runs in the list have used.
func (s *Detail) drawUsage(v canvas.View) {
	var cpu, longest time.Duration
	var memory int64
	for i := range s.runs.list.Len() {
		u := &s.runs.list.Row(i).Usage
		cpu, longest, memory = cpu+u.CPU, max(longest, u.CPU), max(memory, u.Memory)
	}
	if cpu == 0 {
		return
	}
	text := "cpu " + display.Brief(cpu) + " in " + display.Count(s.runs.list.Len(), "run") + ", most " + display.Brief(longest)
	if memory > 0 {
		text += "  memory at most " + display.Bytes(memory)
	}
	if page.Width(text) <= v.Width() {
		v.Put(0, 0, text, canvas.Style{})
	}
}

// drawRunList draws the runs in view under a line with what their columns are.
func (s *Detail) drawRunList(v canvas.View, w *screen.World) {
	if v.Height() < 2 {
		return
	}
	page.DrawRule(v.Row(0), "Runs, newest first", w.Glyphs)
	if s.runs.err != nil {
		v.PutCut(0, 1, v.Width(), s.runs.err.Error(), w.Glyphs.Ellipsis, canvas.Style{Role: canvas.Bad})
		return
	}
	v = v.Below(1)
	s.runs.table.Place(w, v.Width(), v.Width())
	s.runs.table.DrawRows(v, w)
}

// runStart returns when a run began, or when it will.
func runStart(w *screen.World, zone string, r *job.Run) string {
	switch {
	case !r.Started.IsZero():
		return w.Past(r.Started, zone)
	case r.State == job.RunWaiting && r.NotBefore.After(w.Now):
		return "in " + display.Away(r.NotBefore, w.Now)
	}
	return w.Past(r.Decided, zone)
}

// runEnding returns how a run ended, or its state while it lives.
func runEnding(r *job.Run) string {
	switch {
	case r.State.Live():
		return string(r.State)
	case r.State == job.RunDropped:
		return "never started"
	}
	return r.Ending()
}
