package detail

import (
	"slices"

	"github.com/cronring/cronring/daemon/api"
	"github.com/cronring/cronring/tui/canvas"
	"github.com/cronring/cronring/tui/jobinfo"
	"github.com/cronring/cronring/tui/page"
	"github.com/cronring/cronring/tui/screen"
)

// drawHistory draws the strips, the runs, and the last days by hour where there is room for them, on the
// right or below.
func (s *Detail) drawHistory(v canvas.View, w *screen.World, row *api.Row) {
	filtered := s.runs.Typing() || s.runs.Filter() != "" // the list shows what is typed
	if row.LastRun == 0 && row.Live == 0 && s.runs.Source.Len() == 0 && s.runs.IsAll() && !filtered {
		notice := []string{string(row.Job) + ": " + jobinfo.Situation(w, row, s.file.Past)}
		if w.IsOfCron(row) {
			notice = append(notice, screen.CronKeeps)
		}
		page.DrawNotice(v, notice)
		return
	}
	chosen := -1
	if id := s.runs.Subject(w).Run; id != 0 && s.file.Past != nil {
		cells := s.file.Past.Cells
		if i := slices.IndexFunc(cells, func(c api.Cell) bool { return c.Run == id }); i >= 0 {
			chosen = len(cells) - 1 - i
		}
	}
	top := v.In(1, 0, v.Width()-1, jobinfo.HistoryHeight)
	jobinfo.DrawHistory(top, w, row, &s.file, chosen)
	if used := s.runs.Used(); page.Width(used) <= top.Width() {
		top.Put(0, jobinfo.HistoryHeight-1, used, canvas.Style{})
	}
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
	s.runs.Draw(v, w)
}
