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

// sortColumns are the columns that show what an order sorts by.
var sortColumns = map[board.Order]jobColumn{
	board.ByState: columnState, board.ByName: columnJob, board.ByNext: columnNext, board.ByLast: columnLast, board.ByTook: columnTook,
	board.ByUser: columnUser, board.ByCrontab: columnSource, board.ByHost: columnNode,
}

// optionalColumns are the columns that are shown if a job has a text there, with its field.
var optionalColumns = map[jobColumn]string{columnNode: "host", columnLabels: "label", columnOwner: "owner"}

// makeColumns returns the columns of the list.
func (s *Jobs) makeColumns() []table.Column[api.Row] {
	plain := func(text func(r *api.Row) string) func(*table.Field, *screen.World, *api.Row) {
		return func(f *table.Field, _ *screen.World, r *api.Row) { f.Put(text(r), canvas.Style{}) }
	}
	columns := []table.Column[api.Row]{
		columnState:    {Title: "STATE", Width: 2, Draw: drawState},
		columnJob:      {Title: "JOB", Width: 16, Draw: plain(s.jobName)},
		columnSchedule: {Title: "SCHEDULE", From: 80, Rank: 8, Width: 14, Draw: drawSchedule},
		columnNext:     {Title: "NEXT", Rank: 3, Width: 7, Draw: DrawNext},
		columnNode:     {Title: "NODE", From: 80, Rank: 7, Width: 9, Draw: drawNode},
		columnLast:     {Title: "LAST", From: 60, Rank: 5, Width: 7, Draw: drawLast},
		columnTook:     {Title: "TOOK", From: 80, Rank: 6, Width: 7, Draw: drawTook},
		columnP95:      {Title: "P95", From: 110, Rank: 10, Width: 7, Draw: s.drawP95},
		columnRuns:     {Title: "LAST 12 RUNS", From: 80, Rank: 4, Width: stripCells + 1, Draw: s.drawRuns},
		columnUser:     {Title: "USER", From: 80, Rank: 9, Width: 6, Draw: plain(func(r *api.Row) string { return r.User })},
		columnLabels:   {Title: "LABELS", From: 110, Rank: 12, Width: 12, Draw: plain(func(r *api.Row) string { return r.Labels })},
		columnOwner:    {Title: "OWNER", From: 110, Rank: 13, Width: 12, Draw: plain(func(r *api.Row) string { return r.Contact })},
		columnSource:   {Title: "SOURCE", From: 110, Rank: 11, Width: 13, Draw: drawSource},
		columnCommand:  {Title: "COMMAND", From: 110, Rank: 14, Width: 12, Least: 32, Fill: true, Draw: plain(func(r *api.Row) string { return r.Command })},
	}
	if s.age != nil {
		columns[columnNode] = table.Column[api.Row]{Title: "HOST", Rank: 2, Width: 10, Draw: s.drawHost}
	}
	return columns
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
	columns := s.table.Columns[:0]
	for _, choice := range s.chosenColumns(w) {
		column, c := choice.column, s.columns[choice.column]
		if field := optionalColumns[column]; field != "" && w.Board.Filled(field) == 0 {
			continue
		}
		if cron := w.Status.NoDaemon != "" && s.chosen == nil; cron && forCron(column, &c) {
			continue
		}
		switch {
		case column == columnState && full >= screen.WordFrom && w.Board.Count(job.StatePaused) > 0:
			c.Width = 9
		case column == columnState && full >= screen.WordFrom:
			c.Width = 7
		case column == columnState && w.Board.Count(job.StatePaused) > 0:
			c.Width = 3
		case column == columnNode && s.age != nil:
			c.Width = hostWidth(full, s.longest(w, column))
		case column == columnNode:
			c.Width = min(max(s.longest(w, column), len(c.Title))+1, c.Width)
		case (column == columnNext || column == columnLast) && w.Absolute:
			c.Width = w.Clock.PointWidth() + 1
			if width >= datedWidth {
				c.Width = max(c.Width, s.longest(w, column)+1)
			}
		}
		if s.wide {
			c.From, c.Rank, c.Fill = 0, 0, false
			c.Width = max(c.Width, min(s.longest(w, column)+1, longestWide))
		} else {
			c.Grow = s.growth(w, column, c.Width)
		}
		s.applyChoice(w, &c, choice)
		columns = append(columns, c)
	}
	if s.wide {
		columns = append(columns[:fixedColumns], columns[min(fixedColumns+s.shift, len(columns)-1):]...)
	}
	s.table.Columns, s.table.MarkAt = columns, columns[0].Width
	s.table.Sorted, s.table.Falls = s.columns[sortColumns[s.order()]].Title, !s.query.Reverse
	s.table.Place(full, width)
}

// forCron fits a column to the jobs of another cron, and reports whether it shows nothing of them. Most
// of these jobs have no name, so their command is shown on small screens too.
func forCron(column jobColumn, c *table.Column[api.Row]) (omitted bool) {
	switch column {
	case columnJob:
		c.Width = 14
	case columnCommand:
		c.From, c.Rank = 80, 4
	}
	return column == columnTook || column == columnP95 || column == columnRuns
}

// hostWidth returns the width of the column of hosts on a screen of some width, by its longest text.
func hostWidth(full, longest int) int {
	most := 24
	if full < screen.WordFrom {
		most = 12
	}
	return min(max(longest+1, 9), most)
}

// datedWidth is the width from which the list shows the time of day also for dates further away, although
// other columns then have less room.
const datedWidth = 110

// Limits of the width of a column that grows with its longest text: with all columns
// shown, and for schedules otherwise.
const (
	longestWide     = settings.MostColumn
	longestSchedule = 28
)

// growth returns how much wider a column becomes where there is room, or how much narrower it is without
// a loss: its title with the sign of the order always fits.
func (s *Jobs) growth(w *screen.World, column jobColumn, width int) int {
	needed := max(s.longest(w, column), len(s.columns[column].Title)+1)
	switch column {
	case columnJob, columnUser, columnLabels, columnOwner, columnSource:
		return needed + 1 - width
	case columnNext:
		return max(needed+1-width, 0)
	case columnSchedule:
		return min(needed, longestSchedule) + 1 - width
	}
	return 0
}

// longest returns the width of the longest text of a column in view; 0 for columns
// of a fixed width.
func (s *Jobs) longest(w *screen.World, column jobColumn) int {
	var text func(r *api.Row) int
	switch column {
	case columnJob:
		text = func(r *api.Row) int { return page.Width(s.jobName(r)) }
	case columnNext:
		if !w.Absolute {
			return 0
		}
		var room [24]byte
		text = func(r *api.Row) int { return len(w.AppendDated(room[:0], nextOf(r), r.Zone)) }
	case columnSchedule:
		text = func(r *api.Row) int { return page.Width(r.Schedule) }
	case columnNode:
		text = func(r *api.Row) int { return page.Width(r.Node) + page.Width(s.ageMark(w, r.Node)) }
	case columnUser:
		text = func(r *api.Row) int { return page.Width(r.User) }
	case columnLabels:
		text = func(r *api.Row) int { return page.Width(r.Labels) }
	case columnOwner:
		text = func(r *api.Row) int { return page.Width(r.Contact) }
	case columnSource:
		text = func(r *api.Row) int {
			n := page.Width(jobinfo.SourceName(r.Crontab)) + len(":") + len(strconv.Itoa(r.Line))
			if jobinfo.IsUserCrontab(r.Crontab) {
				n += len("crontab ")
			}
			return n
		}
	case columnCommand:
		text = func(r *api.Row) int { return page.Width(r.Command) }
	default:
		return 0
	}
	n := 0
	for r := range s.inView {
		n = max(n, text(r))
	}
	return n
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
		putNext(f, w, nextOf(r), r.Zone, canvas.Style{Role: canvas.Off})
	case r.State == job.StateLate:
		putNext(f, w, r.Next, r.Zone, canvas.Style{Role: canvas.Doubt, Bold: true})
	case r.FollowsEnd():
		f.Put(job.AfterEnd(r.Schedule), canvas.Style{})
	default:
		putNext(f, w, r.Next, r.Zone, canvas.Style{})
	}
}

// nextOf returns when a job runs next, or until when it is paused.
func nextOf(r *api.Row) time.Time {
	if r.Paused || r.State == job.StateHeld || r.State == job.StateDisabled {
		return r.HeldUntil
	}
	return r.Next
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
