package screen

import (
	"path/filepath"
	"strconv"
	"strings"

	"github.com/cronring/cronring/daemon/api"
	"github.com/cronring/cronring/daemon/job"
	"github.com/cronring/cronring/tui/canvas"
	"github.com/cronring/cronring/tui/safe"
	"github.com/cronring/cronring/tui/when"
)

// column is one column of the list of jobs.
type column struct {
	title string
	from  int // the narrowest screen that shows it
	rank  int // of two that do not both fit the higher one goes
	width int // with the blank behind it
	draw  func(f *field, s *Jobs, w *World)
}

// columns are those of the list from left to right. The first two stay where
// they are when the others are scrolled.
var columns = []column{
	{"STATE", 0, 1, 2, drawState},
	{"JOB", 0, 2, 18, func(f *field, s *Jobs, _ *World) { f.put(string(s.row.Job), canvas.Style{}) }},
	{"SCHEDULE", 80, 8, 14, drawSchedule},
	{"NEXT", 0, 3, 7, drawNext},
	{"NODE", 80, 7, 9, drawNode}, // in a ring
	{"LAST", 60, 5, 7, drawLast},
	{"TOOK", 80, 6, 7, drawTook},
	{"P95", 110, 10, 7, drawP95},
	{"LAST 12 RUNS", 80, 4, stripCells + 1, drawRuns},
	{"USER", 80, 9, 6, func(f *field, s *Jobs, _ *World) { f.put(s.row.User, canvas.Style{}) }},
	{"SOURCE", 110, 11, 13, drawSource},
	{"COMMAND", 110, 13, 12, func(f *field, s *Jobs, _ *World) { f.put(s.row.Command, canvas.Style{}) }},
}

// The places of columns whose width depends on what is shown.
const (
	columnState = iota
	columnJob
	columnSchedule
	columnNext
	columnNode
	columnLast
	columnUser    = 9
	columnSource  = 10
	columnCommand = 11

	fixedColumns = 2
)

// wordFrom is the narrowest screen on which the state is told by a word, too.
const wordFrom = 60

// placed is a column on the screen.
type placed struct {
	*column
	x, width int
}

// place chooses the columns for a list of some width on a screen of another:
// those that do not fit are left out by their rank, and what is to spare goes to
// the names, then to the schedules, and then to the commands.
func (s *Jobs) place(w *World, screen, width int) []placed {
	shown := s.placed[:0]
	total := 1
	for i := range columns {
		if i == columnNode && w.Board.Owned() == 0 {
			continue
		}
		if c := &columns[i]; s.wide || c.from <= screen {
			n := s.natural(w, i, screen)
			shown = append(shown, placed{c, 0, n})
			total += n
		}
	}
	if s.wide {
		shown = append(shown[:fixedColumns], shown[min(fixedColumns+s.shift, len(shown)-1):]...)
	} else {
		for total > width && len(shown) > fixedColumns {
			i := lowest(shown)
			total -= shown[i].width
			shown = append(shown[:i], shown[i+1:]...)
		}
		s.spend(shown, width-total)
	}
	x := 1
	for i := range shown {
		shown[i].x = x
		x += shown[i].width
	}
	s.placed = shown
	return shown
}

// natural is how wide a column is before anything is to spare.
func (s *Jobs) natural(w *World, i, screen int) int {
	const longest = 200
	n := columns[i].width
	switch {
	case i == columnState && screen >= wordFrom:
		n = 7
	case (i == columnNext || i == columnLast) && w.Absolute:
		n = when.PointWidth + 1
	case !s.wide:
	case i == columnJob, i == columnSchedule, i == columnNode, i == columnUser, i == columnSource, i == columnCommand:
		n = min(max(n, s.longest(i)+1), longest)
	}
	return n
}

// longest is the width of the longest text of a column in view.
func (s *Jobs) longest(i int) int {
	n := 0
	for r := range s.inView {
		switch i {
		case columnJob:
			n = max(n, cells(string(r.Job)))
		case columnSchedule:
			n = max(n, cells(r.Schedule))
		case columnNode:
			n = max(n, cells(r.Node))
		case columnUser:
			n = max(n, cells(r.User))
		case columnSource:
			n = max(n, cells(sourceName(r.Table))+len("crontab :")+5)
		case columnCommand:
			n = max(n, cells(r.Command))
		}
	}
	return n
}

// cells is how many cells foreign text takes.
func cells(text string) int { return safe.Width(safe.Text(text)) }

// spend gives columns what is to spare.
func (s *Jobs) spend(shown []placed, spare int) {
	const longestSchedule = 28
	for i := range shown {
		longest := 0
		switch shown[i].column {
		case &columns[columnJob]:
			longest = s.longest(columnJob)
		case &columns[columnSchedule]:
			longest = min(s.longest(columnSchedule), longestSchedule)
		case &columns[columnCommand]:
			shown[i].width += max(spare, 0)
		}
		more := min(max(longest+1-shown[i].width, 0), max(spare, 0))
		shown[i].width += more
		spare -= more
	}
}

// lowest is the place of the column that goes first.
func lowest(shown []placed) int {
	worst := 0
	for i := range shown {
		if shown[i].rank > shown[worst].rank {
			worst = i
		}
	}
	return worst
}

// field is a place for text that may be too long for it. Nothing is allocated
// for text in ASCII.
type field struct {
	view     canvas.View
	x        int
	ellipsis string
	number   [24]byte
}

func (f *field) put(text string, s canvas.Style) { f.x = f.view.Put(f.x, 0, text, s) }

func (f *field) bytes(text []byte, s canvas.Style) { f.x = f.view.PutBytes(f.x, 0, text, s) }

// end marks what is missing.
func (f *field) end() {
	if width := f.view.Width(); f.x > width && width > 0 {
		f.view.Put(width-1, 0, f.ellipsis, canvas.Style{})
	}
}

// drawSchedule draws what starts the job. Where only the seconds say something and
// there is no room for all, it draws them alone.
func drawSchedule(f *field, s *Jobs, _ *World) {
	text := s.row.Schedule
	if seconds, ok := strings.CutPrefix(text, "* * * * * "); ok && len(text) > f.view.Width() {
		text = seconds
	}
	f.put(text, canvas.Style{})
}

func drawState(f *field, s *Jobs, w *World) {
	sign, word, style := stateLook(w, s.row.State)
	f.put(sign, style)
	if f.view.Width() > 2 {
		f.put(" ", style)
		f.put(word, style)
	}
}

func drawNext(f *field, s *Jobs, w *World) { putNext(f, s.row, w) }

// putNext says when a job runs next, or until when it is held.
func putNext(f *field, r *api.Row, w *World) {
	switch {
	case r.State == job.StateHeld && !r.HeldUntil.IsZero() && !w.Absolute:
		f.bytes(when.AppendHour(f.number[:0], r.HeldUntil.In(w.In(r.Zone)), w.Now), canvas.Style{Role: canvas.Off})
	case r.State == job.StateHeld, r.State == job.StateDisabled:
		f.bytes(w.AppendNext(f.number[:0], r.HeldUntil, r.Zone), canvas.Style{Role: canvas.Off})
	case r.State == job.StateLate:
		f.bytes(w.AppendNext(f.number[:0], r.Next, r.Zone), canvas.Style{Role: canvas.Doubt, Bold: true})
	default:
		f.bytes(w.AppendNext(f.number[:0], r.Next, r.Zone), canvas.Style{})
	}
}

// drawNode names the member of the ring whose the next occurrence is: this host
// stands out.
func drawNode(f *field, s *Jobs, w *World) {
	style := canvas.Style{Role: canvas.Off}
	if s.row.Node == w.Status.Host {
		style = canvas.Style{}
	}
	f.put(s.row.Node, style)
}

func drawLast(f *field, s *Jobs, w *World) {
	if s.row.State == job.StateRunning {
		f.put("now", canvas.Style{Role: canvas.Busy})
		return
	}
	f.bytes(w.AppendPast(f.number[:0], s.row.Last, s.row.Zone), canvas.Style{})
}

func drawTook(f *field, s *Jobs, w *World) {
	r := s.row
	switch {
	case r.State == job.StateRunning && !r.Began.IsZero():
		f.bytes(when.AppendBrief(f.number[:0], w.since(r.Began)), canvas.Style{Role: canvas.Busy})
	case r.Took > 0:
		f.bytes(when.AppendBrief(f.number[:0], r.Took), canvas.Style{})
	default:
		f.put("-", canvas.Style{Role: canvas.Off})
	}
}

func drawP95(f *field, s *Jobs, _ *World) {
	if past := s.pasts.of(s.row.Job); past != nil && past.P95 > 0 {
		f.bytes(when.AppendBrief(f.number[:0], past.P95), canvas.Style{})
		return
	}
	f.put("-", canvas.Style{Role: canvas.Off})
}

func drawRuns(f *field, s *Jobs, w *World) {
	if past := s.pasts.of(s.row.Job); past != nil {
		drawStrip(f.view.In(0, 0, stripCells, 1), past.Cells, past.P95, w)
	}
}

// drawSource draws the file, cut so that the line behind it is seen.
func drawSource(f *field, s *Jobs, _ *World) {
	line := strconv.AppendInt(append(f.number[:0], ':'), int64(s.row.Line), 10)
	whole := f.view
	f.view = whole.In(0, 0, whole.Width()-len(line), 1)
	if isUsersTable(s.row.Table) {
		f.put("crontab ", canvas.Style{})
	}
	f.put(sourceName(s.row.Table), canvas.Style{})
	f.end()
	f.x, f.view = min(f.x, f.view.Width()), whole
	f.bytes(line, canvas.Style{})
}

// sourceName is a crontab file without its directory.
func sourceName(table string) string {
	return table[strings.LastIndexByte(table, filepath.Separator)+1:]
}

// isUsersTable tells the crontab of an account, which crontab -e edits, from a
// file of the system.
func isUsersTable(table string) bool { return strings.HasPrefix(table, "/var/spool/") }

// sourceOf names where a job stands, in a few cells: "etl:14", "crontab www:2".
func sourceOf(r *api.Row) string {
	name := sourceName(r.Table) + ":" + strconv.Itoa(r.Line)
	if isUsersTable(r.Table) {
		return "crontab " + name
	}
	return name
}
