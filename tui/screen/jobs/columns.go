package jobs

import (
	"strconv"
	"strings"
	"time"

	"github.com/cronring/cronring/daemon/api"
	"github.com/cronring/cronring/daemon/display"
	"github.com/cronring/cronring/daemon/job"
	"github.com/cronring/cronring/tui/board"
	"github.com/cronring/cronring/tui/canvas"
	"github.com/cronring/cronring/tui/jobinfo"
	"github.com/cronring/cronring/tui/page"
	"github.com/cronring/cronring/tui/screen"
	"github.com/cronring/cronring/tui/settings"
	"github.com/cronring/cronring/tui/table"
)

// jobColumn names a column of the list of jobs.
type jobColumn int

// The columns of the list from left to right. The first two stay when the others are
// scrolled.
const (
	columnState jobColumn = iota
	columnJob
	columnSchedule
	columnNext
	columnNode // in a ring, or of several hosts
	columnLast
	columnTook
	columnP95
	columnRuns
	columnUser
	columnLabels // if a job has any
	columnOwner
	columnSource
	columnCommand

	fixedColumns = 2
)

// datedWidth is the width from which the list shows the time of day also for dates further away, although
// other columns then have less room.
const datedWidth = 110

// longestWide limits the width of columns when all are shown.
const longestWide = settings.MostColumn

// allColumns returns the columns for a list of some width on a screen of another.
func (s *Jobs) allColumns(w *screen.World, full, width int) []table.Column[api.Row] {
	filled := func(field string, from int) int {
		if w.Board.Filled(field) == 0 {
			return table.Hidden
		}
		return from
	}
	point, fitNext := 7, table.Never
	if w.Absolute {
		point, fitNext = w.Clock.PointWidth()+1, table.IfRoom
		if width >= datedWidth {
			fitNext = table.Always
		}
	}
	columns := []table.Column[api.Row]{
		columnState:    {Title: "STATE", Width: stateWidth(w, full), Draw: drawState},
		columnJob:      {Title: "JOB", Width: 16, Fit: table.BeforeFill, Text: table.Plain(s.jobName)},
		columnSchedule: {Title: "SCHEDULE", From: 80, Rank: 8, Width: 14, Fit: table.IfRoom, Most: 29, Draw: drawSchedule},
		columnNext:     {Title: "NEXT", Rank: 3, Width: point, Fit: fitNext, Least: point, Most: 20, Draw: DrawNext},
		columnNode:     {Title: "NODE", From: filled("host", 80), Rank: 7, Width: 5, Fit: table.Always, Most: 9, Draw: drawNode},
		columnLast:     {Title: "LAST", From: 60, Rank: 5, Width: point, Draw: drawLast},
		columnTook:     {Title: "TOOK", From: 80, Rank: 6, Width: 7, Draw: drawTook},
		columnP95:      {Title: "P95", From: 110, Rank: 10, Width: 7, Draw: s.drawP95},
		columnRuns:     {Title: "LAST 12 RUNS", From: 80, Rank: 4, Width: stripCells + 1, Draw: s.drawRuns},
		columnUser:     {Title: "USER", From: 80, Rank: 9, Width: 6, Fit: table.IfRoom, Text: table.Plain(func(r *api.Row) string { return r.User })},
		columnLabels:   {Title: "LABELS", From: filled("label", 110), Rank: 12, Width: 12, Fit: table.IfRoom, Text: table.Plain(func(r *api.Row) string { return r.Labels })},
		columnOwner:    {Title: "OWNER", From: filled("owner", 110), Rank: 13, Width: 12, Fit: table.IfRoom, Text: table.Plain(func(r *api.Row) string { return r.Contact })},
		columnSource:   {Title: "SOURCE", From: 110, Rank: 11, Width: 13, Fit: table.IfRoom, Draw: drawSource},
		columnCommand:  {Title: "COMMAND", From: 110, Rank: 14, Width: 12, Least: 32, Fill: true, Text: table.Plain(func(r *api.Row) string { return r.Command })},
	}
	if s.age != nil {
		most := 24
		if full < screen.WordFrom {
			most = 12
		}
		columns[columnNode] = table.Column[api.Row]{Title: "HOST", From: filled("host", 0), Rank: 2, Width: 9, Fit: table.Always, Most: most, Draw: s.drawHost}
	}
	if w.Status.NoDaemon != "" && s.chosen == nil { // most jobs of another cron have no name: their command is shown on small screens too
		columns[columnJob].Width = 14
		columns[columnCommand].From, columns[columnCommand].Rank = 80, 4
		columns[columnTook].From, columns[columnP95].From, columns[columnRuns].From = table.Hidden, table.Hidden, table.Hidden
	}
	return columns
}

// stateWidth returns the width of the column of states, with room for the mark of a pause if a job has one.
func stateWidth(w *screen.World, full int) int {
	paused := w.Board.Count(job.StatePaused) > 0
	switch {
	case full >= screen.WordFrom && paused:
		return 9
	case full >= screen.WordFrom:
		return 7
	case paused:
		return 3
	}
	return 2
}

// jobName returns the name of a job, without its host.
func (s *Jobs) jobName(r *api.Row) string {
	if s.age == nil {
		return string(r.Job)
	}
	id, _ := board.SplitHost(r.Job)
	return string(id)
}

// fit chooses the columns for a list of some width on a screen of another. The list
// of all columns is as wide as they are, and can be scrolled.
func (s *Jobs) fit(w *screen.World, full, width int) {
	all, columns := s.allColumns(w, full, width), s.table.Columns[:0]
	for _, choice := range s.chosenColumns(w) {
		c := all[choice.column]
		if c.From == table.Hidden {
			continue
		}
		if s.wide {
			if c.Fit != table.Never || c.Fill {
				c.Fit, c.Most = table.Always, longestWide
			}
			c.From, c.Rank, c.Fill = 0, 0, false
		}
		s.applyChoice(w, &c, choice)
		columns = append(columns, c)
	}
	if s.wide {
		columns = append(columns[:fixedColumns], columns[min(fixedColumns+s.shift, len(columns)-1):]...)
	}
	s.table.Columns, s.table.MarkAt = columns, columns[0].Width
	s.table.Sorted, s.table.Falls = strings.ToUpper(string(s.order())), !s.query.Reverse
	s.table.Place(w, full, width)
}

// drawSchedule draws the schedule. If the whole does not fit and only its seconds
// differ from "every minute", it draws the seconds.
func drawSchedule(f *table.Field, _ *screen.World, r *api.Row) {
	text := r.Schedule
	if seconds, ok := strings.CutPrefix(text, "* * * * * "); ok && len(text) > f.Width() {
		text = seconds
	}
	f.Put(text, canvas.Style{})
}

// drawState draws the state. The mark of a pause is between its sign and its word.
func drawState(f *table.Field, w *screen.World, r *api.Row) {
	sign, word, style := screen.JobLook(w, r)
	width := f.Width()
	f.Put(sign, style)
	switch {
	case r.Paused && r.State != job.StatePaused:
		mark, _, dim := screen.StateLook(w, job.StatePaused)
		f.Put(mark, dim)
	case width > 1:
		f.Put(" ", style)
	}
	if width > 2 {
		f.Put(word, style)
	}
}

// DrawNext writes when a job runs next, or until when it is paused.
func DrawNext(f *table.Field, w *screen.World, r *api.Row) {
	switch {
	case r.Paused && !r.HeldUntil.IsZero() && !w.Absolute:
		f.Bytes(w.Clock.AppendHour(f.Buffer(), r.HeldUntil.In(w.In(r.Zone)), w.Now), canvas.Style{Role: canvas.Off})
	case r.Paused, r.State == job.StateHeld, r.State == job.StateDisabled:
		putNext(f, w, r.HeldUntil, r.Zone, canvas.Style{Role: canvas.Off})
	case r.State == job.StateLate:
		putNext(f, w, r.Next, r.Zone, canvas.Style{Role: canvas.Doubt, Bold: true})
	case r.FollowsEnd():
		f.Put(job.AfterEnd(r.Schedule), canvas.Style{})
	default:
		putNext(f, w, r.Next, r.Zone, canvas.Style{})
	}
}

// putNext writes a time, with the time of a day if there is room.
func putNext(f *table.Field, w *screen.World, t time.Time, zone string, style canvas.Style) {
	text := w.AppendDated(f.Buffer(), t, zone)
	if len(text) > f.Width() {
		text = w.AppendNext(f.Buffer(), t, zone)
	}
	f.Bytes(text, style)
}

// drawNode draws the member of the ring that owns the next occurrence. This host
// stands out.
func drawNode(f *table.Field, w *screen.World, r *api.Row) {
	style := canvas.Style{Role: canvas.Off}
	if r.Node == w.Status.Host {
		style = canvas.Style{}
	}
	f.Put(r.Node, style)
}

// drawHost draws the host of a job, and how old its data is if it is not reached.
func (s *Jobs) drawHost(f *table.Field, w *screen.World, r *api.Row) {
	mark := s.ageMark(w, r.Node)
	if mark == "" {
		f.Put(r.Node, canvas.Style{})
		return
	}
	f.Reserve(page.Width(mark), func() { f.Put(r.Node, canvas.Style{Role: canvas.Off}) })
	f.Put(mark, canvas.Style{Role: canvas.Doubt, Bold: true})
}

// ageMark returns how old the data of a host is, with a sign; empty: it is current.
func (s *Jobs) ageMark(w *screen.World, host string) string {
	if s.age == nil {
		return ""
	}
	if age := s.age(w, host); age != "" {
		return " " + w.Glyphs.Late + " " + age
	}
	return ""
}

func drawLast(f *table.Field, w *screen.World, r *api.Row) {
	if r.State == job.StateRunning {
		f.Put("now", canvas.Style{Role: canvas.Busy})
		return
	}
	if r.Last.IsZero() && (w.IsOfCron(r) || r.Elsewhere != "") {
		f.Put("-", canvas.Style{Role: canvas.Off}) // cron's log may be shorter; another member ran it
		return
	}
	f.Bytes(w.AppendPast(f.Buffer(), r.Last, r.Zone), canvas.Style{})
}

func drawTook(f *table.Field, w *screen.World, r *api.Row) {
	switch {
	case r.State == job.StateRunning && !r.Began.IsZero():
		f.Bytes(display.AppendBrief(f.Buffer(), w.Since(r.Began)), canvas.Style{Role: canvas.Busy})
	case r.Took > 0:
		f.Bytes(display.AppendBrief(f.Buffer(), r.Took), canvas.Style{})
	default:
		f.Put("-", canvas.Style{Role: canvas.Off})
	}
}

func (s *Jobs) drawP95(f *table.Field, _ *screen.World, r *api.Row) {
	if past := s.pasts.of(r.Job); past != nil && past.P95 > 0 {
		f.Bytes(display.AppendBrief(f.Buffer(), past.P95), canvas.Style{})
		return
	}
	f.Put("-", canvas.Style{Role: canvas.Off})
}

func (s *Jobs) drawRuns(f *table.Field, w *screen.World, r *api.Row) {
	if past := s.pasts.of(r.Job); past != nil {
		jobinfo.DrawStrip(f.View().In(0, 0, stripCells, 1), past.Cells, past.P95, w)
	}
}

// drawSource draws the file, cut so that the line behind it is seen.
func drawSource(f *table.Field, _ *screen.World, r *api.Row) {
	line := strconv.AppendInt(append(f.Buffer(), ':'), int64(r.Line), 10)
	f.Reserve(len(line), func() {
		if jobinfo.IsUserCrontab(r.Crontab) {
			f.Put("crontab ", canvas.Style{})
		}
		f.Put(jobinfo.SourceName(r.Crontab), canvas.Style{})
	})
	f.Bytes(line, canvas.Style{})
}
