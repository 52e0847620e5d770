package timeline

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/cronring/cronring/daemon/api"
	"github.com/cronring/cronring/daemon/display"
	"github.com/cronring/cronring/daemon/job"
	"github.com/cronring/cronring/tui/canvas"
	"github.com/cronring/cronring/tui/keys"
	"github.com/cronring/cronring/tui/page"
	"github.com/cronring/cronring/tui/screen"
	"github.com/cronring/cronring/tui/screen/jobs"
	"github.com/cronring/cronring/tui/table"
)

// linePlaces are the columns of the time line.
type linePlaces struct {
	name  int // width
	left  int // column of the first cell
	cells int // how many there is room for; the line of now takes one column more
	next  int // column
}

// placeLine finds the columns for a width of the screen.
func placeLine(width int, w *screen.World) linePlaces {
	p := linePlaces{name: 17}
	next := 11
	switch {
	case width < screen.FullWidth:
		p.name, next = 13, 7
	case width >= jobs.SplitWidth:
		p.name = 30
	case width >= 110:
		p.name = 24
	}
	if w.Absolute {
		next = max(next, w.Clock.PointWidth()+1)
	}
	p.left = p.name + 2
	p.cells = max(width-p.left-2-next, 2) &^ 1
	p.next = p.left + p.cells + 2
	return p
}

// Draw draws the axis, the starts of all jobs, the jobs, and what is known of
// what is under the cursor.
func (s *Timeline) Draw(v canvas.View, w *screen.World) {
	if s.rows.List == nil {
		return
	}
	p := placeLine(v.Width(), w)
	s.cells, s.left = p.cells, p.left
	a := s.axis(w)
	screen := v.Height() + 2
	if screen >= jobs.HeadHeight {
		s.drawHead(v.Row(0), a, w)
		v = v.Below(1)
	}
	s.drawAxis(v.Row(0), a, p, w)
	s.drawStarts(v.Row(1), a, p, w)
	v = v.Below(2)
	foot := 0
	if screen >= jobs.PeekHeight {
		foot = 3
	}
	s.drawRows(v.Above(v.Height()-foot), a, p, w)
	if foot > 0 {
		s.drawFoot(v.Below(v.Height()-foot), a, w)
	}
}

// drawHead draws the time range, the length of a cell and the number of jobs.
func (s *Timeline) drawHead(row canvas.View, a axis, w *screen.World) {
	loc := w.OneZone()
	right := s.countText(w)
	room := row.Width() - page.Width(right) - 2
	if s.table.Typing() || w.Query.Text != "" {
		field := min(max(page.Width(s.table.Filter())+2, 8), max(24, row.Width()/2))
		room -= field + 1
		s.table.DrawFilter(row, room+1, 0, field, w)
	}
	row.PutRight(0, right+" ", canvas.Style{})
	row = row.In(0, 0, room, 1)
	if jobs.DrawFilterError(row, s.rows.List, w) {
		return
	}
	x := row.Put(1, 0, a.rangeText(loc, w.Clock), canvas.Style{Bold: true})
	if row.Width() < screen.FullWidth-10 {
		return
	}
	x = row.Put(x+2, 0, "1 cell = "+display.RoundLength(a.step), canvas.Style{})
	for _, hint := range []struct {
		one, other keys.Action
		text       string
	}{{keys.Earlier, keys.Later, " scroll"}, {keys.ZoomIn, keys.ZoomOut, " zoom"}, {keys.Now, "", " now"}} {
		first, text := keyText(w, hint.one), hint.text
		if hint.other != "" {
			text = "/" + keyText(w, hint.other) + text
		}
		if x+2+page.Width(first+text) > row.Width() {
			continue
		}
		x += 2
		middle := row.Put(x, 0, first, canvas.Style{Role: canvas.Off})
		end := row.Put(middle, 0, text, canvas.Style{Role: canvas.Off})
		w.ClickActs(row.In(x, 0, middle-x, 1), hint.one)
		w.ClickActs(row.In(middle, 0, end-middle, 1), cmp.Or(hint.other, hint.one))
		x = end
	}
}

// keyText is the first key of an action of the time line.
func keyText(w *screen.World, a keys.Action) string { return cmp.Or(w.Keys.Key(a), "-") }

// countText returns the number of jobs.
func (s *Timeline) countText(w *screen.World) string {
	parts := []string{}
	if n := s.table.Marks(); n > 0 {
		parts = append(parts, strconv.Itoa(n)+" marked")
	}
	if text := s.rows.NoteText(); text != "" {
		parts = append(parts, text)
	}
	if len(w.Query.States) > 0 {
		parts = append(parts, "only "+jobs.StateWords(w.Query.States))
	}
	if n, all := s.rows.Len(), w.Board.Len(); n != all {
		parts = append(parts, strconv.Itoa(n)+" of "+strconv.Itoa(all))
	} else {
		parts = append(parts, display.Count(all, "job"))
	}
	return strings.Join(parts, "  ")
}

// column returns the column of a cell.
func (p linePlaces) column(cell, present int) int {
	if present >= 0 && cell >= present {
		cell++
	}
	return p.left + cell
}

// present returns the cell of now, or -1 if it is not on the axis. The line of now is
// drawn before it.
func (a axis) present(now time.Time) int {
	if i := a.index(now); i >= 0 && i < a.cells {
		return i
	}
	return -1
}

func (s *Timeline) drawAxis(row canvas.View, a axis, p linePlaces, w *screen.World) {
	present := a.present(w.Now)
	style := canvas.Style{Role: canvas.Title}
	end := p.column(a.cells-1, present) + 1
	for _, l := range a.labels(w.OneZone(), w.Clock) {
		from, to := p.column(l.cell, present), p.column(min(l.cell+len(l.text), a.cells)-1, present)+1
		if to-from == len(l.text) && to <= end { // neither cut nor across the line of now
			row.Put(from, 0, l.text, style)
		}
	}
	drawPresent(row, p, present, w)
	if !s.cell.IsZero() {
		row.In(p.column(a.index(s.cell), present), 0, 1, 1).Restyle(page.Selected)
	}
	row.PutCut(p.next, 0, row.Width()-p.next, "NEXT", w.Glyphs.Ellipsis, canvas.Style{Role: canvas.Title, Bold: true})
}

func drawPresent(row canvas.View, p linePlaces, present int, w *screen.World) {
	if present >= 0 {
		row.Put(p.left+present, 0, w.Glyphs.Down, canvas.Style{Role: canvas.Rule})
	}
}

// drawStarts draws how many jobs start in each cell, against the fullest of
// them; or what is wrong.
func (s *Timeline) drawStarts(row canvas.View, a axis, p linePlaces, w *screen.World) {
	if s.err != nil {
		x := row.Put(1, 0, w.Glyphs.Failed+" ", canvas.Style{Role: canvas.Bad, Bold: true})
		row.PutCut(x, 0, row.Width()-x-1, page.Reason(s.err), w.Glyphs.Ellipsis, canvas.Style{Role: canvas.Bad})
		return
	}
	row.Put(1, 0, "starts", canvas.Style{})
	present := a.present(w.Now)
	drawPresent(row, p, present, w)
	line := &s.line.line
	if s.line.axis.step != a.step || len(line.Load) == 0 {
		return
	}
	level := barsOf(line.Load, len(w.Glyphs.Bars))
	shift := s.line.axis.index(a.from)
	for i := range a.cells {
		if at := i + shift; at >= 0 && at < len(line.Load) && line.Load[at] > 0 {
			row.Put(p.column(i, present), 0, w.Glyphs.Bars[level(line.Load[at])], canvas.Style{})
		}
	}
	if line.Peak > 0 {
		row.PutCut(p.next, 0, row.Width()-p.next, "peak "+strconv.Itoa(line.Peak), w.Glyphs.Ellipsis, canvas.Style{})
	}
}

// barsOf returns the height of bars above the emptiest cell, so that full cells stand
// out where all have many starts. The range from the lowest to the highest bar covers
// at least a quarter of the maximum: a small difference stays small.
func barsOf(counts []int, bars int) func(n int) int {
	least, most := slices.Min(counts), slices.Max(counts)
	spread := max(most-least, most/4, 1)
	return func(n int) int { return (n - least) * (bars - 1) / spread }
}

func (s *Timeline) drawRows(v canvas.View, a axis, p linePlaces, w *screen.World) {
	w.OnClick(v, func(x, y int) []screen.Effect { return s.click(w, x, y) })
	first, last := s.table.Window(v.Height())
	if first == last {
		page.DrawNotice(v, s.rows.EmptyText(w))
		return
	}
	for i := first; i < last; i++ {
		s.drawRow(v.Row(i-first), i, a, p, w)
	}
	present := a.present(w.Now)
	for y := last - first; y < v.Height(); y++ {
		drawPresent(v.Row(y), p, present, w)
	}
}

func (s *Timeline) drawRow(row canvas.View, i int, a axis, p linePlaces, w *screen.World) {
	r := s.rows.Row(i)
	row.PutCut(1, 0, p.name, string(r.Job), w.Glyphs.Ellipsis, canvas.Style{})
	present := a.present(w.Now)
	drawPresent(row, p, present, w)
	for c, at := range s.line.of(r.Job, a) {
		sign, style := screen.OutcomeLook(w, c.Kind)
		row.Put(p.column(at, present), 0, sign, style)
	}
	drawLineNext(row.In(p.next, 0, row.Width()-p.next, 1), r, w)
	if s.table.Marked(i) {
		row.Put(p.name+1, 0, w.Glyphs.Mark, canvas.Style{Role: canvas.Match, Bold: true})
	}
	if i != s.table.Index() {
		return
	}
	row.Put(0, 0, w.Glyphs.Cursor, canvas.Style{Bold: true})
	if s.cell.IsZero() {
		row.In(0, 0, p.name+1, 1).Restyle(page.Selected)
		row.In(p.next, 0, row.Width()-p.next, 1).Restyle(page.Selected)
		return
	}
	row.In(p.column(a.index(s.cell), present), 0, 1, 1).Restyle(page.Selected)
}

// drawLineNext draws when a job runs next, with a sign if it is paused.
func drawLineNext(v canvas.View, r *api.Row, w *screen.World) {
	f := table.NewField(v, w.Glyphs.Ellipsis)
	if r.Paused || r.State == job.StateHeld || r.State == job.StateDisabled {
		f.Put(w.Glyphs.Held+" ", canvas.Style{Role: canvas.Off})
	}
	jobs.DrawNext(f, w, r)
	f.End()
}

// cellWord is a kind of cell with its word in the legend.
type cellWord struct {
	kind api.CellKind
	word string
}

// legend explains the signs of cells; legendOfCron, those on a host without a daemon.
var (
	legend = []cellWord{
		{api.CellOK, "ran"}, {api.CellRunning, "runs"}, {api.CellSpan, "long"}, {api.CellFailed, "fail"}, {api.CellLate, "late"},
		{api.CellSkipped, "skip"}, {api.CellPlanned, "planned"}, {api.CellExpected, "expected"}, {api.CellPaused, "paused"},
	}
	legendOfCron = []cellWord{{api.CellStarted, "started by cron"}, {api.CellPlanned, "planned"}}
)

// drawFoot draws details of the cell under the cursor, the busiest minute and a
// legend.
func (s *Timeline) drawFoot(v canvas.View, a axis, w *screen.World) {
	page.DrawRule(v.Row(0), s.cursorText(a, w), w.Glyphs)
	v.PutCut(1, 1, v.Width()-2, s.peakText(w), w.Glyphs.Ellipsis, canvas.Style{})
	w.ClickActs(v.Row(1), keys.Clashes)
	x, words := 1, legend
	if w.Status.NoDaemon != "" {
		words = legendOfCron
	}
	for _, k := range words {
		sign, style := screen.OutcomeLook(w, k.kind)
		style.Bold = style.Role == canvas.Bad || style.Role == canvas.Doubt
		if x+2+page.Width(k.word) > v.Width() {
			return
		}
		v.Put(x, 2, sign, style)
		x = v.Put(x+2, 2, k.word, canvas.Style{}) + 2
	}
}

// cursorText describes the cell under the cursor.
func (s *Timeline) cursorText(a axis, w *screen.World) string {
	row := s.table.Current()
	if row == nil {
		return ""
	}
	if c, ok := s.under(w); ok && !isAhead(c.Kind) {
		return pastText(w, row, &c, w.OneZone())
	}
	m := s.minutes(w)
	switch {
	case m.from.IsZero() && s.cell.IsZero():
		return string(row.Job) + "  nothing is planned"
	case m.from.IsZero():
		return w.Minute(a.at(a.index(s.cell)), w.OneZone()) + "  nothing of " + string(row.Job)
	case !s.clashed:
		return w.Minute(m.from, w.OneZone())
	}
	return s.togetherText(w, row, m)
}

// isAhead reports whether a kind is in the future.
func isAhead(k api.CellKind) bool {
	return k == api.CellPlanned || k == api.CellExpected || k == api.CellPaused
}

// pastWords say what became of an occurrence.
var pastWords = map[api.CellKind]string{
	api.CellFailed: "failed", api.CellLate: "is late", api.CellRunning: "is running", api.CellOK: "ran", api.CellStarted: "was started by cron",
	api.CellSpan: "was still running", api.CellSkipped: "was not run",
}

// pastText describes a past cell.
func pastText(w *screen.World, r *api.Row, c *api.TimelineCell, loc *time.Location) string {
	text := string(r.Job) + " " + pastWords[c.Kind]
	if !c.Due.IsZero() {
		text = w.Minute(c.Due, loc) + "  " + text
	}
	if c.Run != 0 {
		text += ", run " + c.Run.String()
	}
	if c.Count > 1 {
		text += fmt.Sprintf("  (the worst of %d here)", c.Count)
	}
	return text
}

// togetherText lists the jobs that start together in a cell.
func (s *Timeline) togetherText(w *screen.World, r *api.Row, m minutes) string {
	if len(s.clash.Clashes) > 0 {
		c := &s.clash.Clashes[0]
		return w.Minute(c.At, w.OneZone()) + "  " + clashText(c)
	}
	at := w.Minute(m.from, w.OneZone())
	switch {
	case s.cell.IsZero():
		return at + "  " + string(r.Job) + " starts alone"
	case s.clash.Starts == 0:
		return at + "  nothing starts"
	case s.clash.Starts == 1:
		return at + "  one start"
	}
	return fmt.Sprintf("%s  %d starts, no two in one minute", at, s.clash.Starts)
}

// mostClashNames is the number of jobs of one clash that the daemon names.
const mostClashNames = 20

// clashText returns how many starts a clash has, and the names of its jobs. A job
// that is due several times is named once.
func clashText(c *api.Clash) string {
	switch n := len(c.Jobs); {
	case n == c.Starts:
		return fmt.Sprintf("%d jobs start together: %s", n, screen.Names(c.Jobs))
	case n < mostClashNames:
		return fmt.Sprintf("%d starts of %s: %s", c.Starts, display.Count(n, "job"), screen.Names(c.Jobs))
	}
	return fmt.Sprintf("%d starts: %s", c.Starts, namesText(c))
}

// peakText returns the busiest minute and a quiet one.
func (s *Timeline) peakText(w *screen.World) string {
	line := &s.line.line
	list := keyText(w, keys.Clashes) + " clash list"
	switch {
	case s.rows.Len() == 0:
		return ""
	case s.line.axis.cells == 0 && s.err != nil:
		return list
	case s.line.axis.cells == 0:
		return "Asking cronringd ..."
	case line.Peak == 0:
		return "nothing starts in this time to come   " + list
	case line.Peak == 1:
		return "no two jobs start in one minute   " + list
	}
	text := "busiest minute " + clockText(w, line.PeakAt, w.OneZone()) + " with " + strconv.Itoa(line.Peak) + " starts"
	if !line.Quiet.IsZero() && !line.Quiet.Equal(line.PeakAt) {
		text += "   quietest near by " + line.Quiet.In(w.OneZone()).Format(w.Clock.Layout("15:04"))
	}
	return text + "   " + list
}

// clockText returns a minute, with its day if it is more than a day away.
func clockText(w *screen.World, t time.Time, loc *time.Location) string {
	if d := t.Sub(w.Now); d > day || d < -day {
		return w.Minute(t, loc)
	}
	return t.In(loc).Format(w.Clock.Layout("15:04"))
}
