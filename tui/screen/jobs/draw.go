package jobs

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/cronring/cronring/daemon/display"
	"github.com/cronring/cronring/daemon/job"
	"github.com/cronring/cronring/tui/board"
	"github.com/cronring/cronring/tui/canvas"
	"github.com/cronring/cronring/tui/jobinfo"
	"github.com/cronring/cronring/tui/keys"
	"github.com/cronring/cronring/tui/page"
	"github.com/cronring/cronring/tui/screen"
)

// From these sizes of the whole full on, which has a line above the body and
// one below it, there is room for more than the list.
const (
	SplitWidth  = 140
	splitHeight = 30
	PeekHeight  = 20 // below it the peek pane goes, and in the end the line of counts
	HeadHeight  = 14
)

// Draw draws the list and, below or beside it, what is known of the job under
// the cursor.
func (s *Jobs) Draw(v canvas.View, w *screen.World) {
	if s.rows.List == nil {
		return
	}
	full, height := v.Width(), v.Height()+2
	if s.split = s.isBeside(full, height); s.split {
		s.detail = true
		s.drawSplit(v, w)
		return
	}
	if full >= screen.WordFrom && height >= HeadHeight || full < screen.WordFrom && s.narrowed() {
		s.drawHead(v.Row(0), w)
		v = v.Below(1)
	}
	foot := s.footHeight(full, height)
	s.detail = foot > jobinfo.PeekLines
	s.drawList(v.Above(v.Height()-foot), full, w)
	s.drawBelow(v.Below(v.Height()-foot), w)
}

// narrowed reports whether the list has a filter, marks or an open menu, which must
// be visible on narrow screens too.
func (s *Jobs) narrowed() bool {
	return s.Typing() || s.query.Text != "" || len(s.query.States) > 0 || s.table.Marks() > 0
}

// footHeight returns the height of the menu of states, or of the peek pane.
func (s *Jobs) footHeight(full, height int) int {
	switch {
	case s.menu:
		return 1 + s.menuHeight(full)
	case s.rows.Len() == 0:
		return 0
	case full < screen.WordFrom && height < PeekHeight:
		return 1
	case full < screen.WordFrom:
		return 2
	case height < PeekHeight:
		return 0
	}
	return s.peekHeight(full, height)
}

func (s *Jobs) drawBelow(v canvas.View, w *screen.World) {
	if s.menu {
		s.drawMenu(v, w)
		return
	}
	s.drawDetails(v, w)
}

// drawSplit draws the list on the left, the job under the cursor on the right, on a very large screen
// its output below both, and what the failing jobs have in common at the end.
func (s *Jobs) drawSplit(v canvas.View, w *screen.World) {
	s.drawHead(v.Row(0), w)
	pane := s.paneWidth(v.Width())
	left := v.Width() - pane - 1
	foot := 2
	if s.menu {
		foot = s.menuHeight(v.Width()) + 1
	}
	middle := v.In(0, 2, v.Width(), v.Height()-3-foot)
	row := s.table.Current()
	third := row != nil && v.Width() >= thirdWidth && v.Height()+2 >= thirdHeight
	rule := canvas.Style{Role: canvas.Rule}
	if third {
		v.Row(2+middle.Height()).Fill(w.Glyphs.Across, rule)
		jobinfo.DrawOutput(middle.Below(paneHeight), w, row, &s.file)
		middle = middle.Above(paneHeight)
	}
	for _, end := range []struct {
		y    int
		sign string
	}{{1, w.Glyphs.Tee}, {2 + middle.Height(), w.Glyphs.Foot}} {
		if !third || end.y == 1 {
			v.Row(end.y).Fill(w.Glyphs.Across, rule)
		}
		v.Put(left, end.y, end.sign, rule)
	}
	divider := middle.In(left, 0, 1, middle.Height())
	divider.Fill(w.Glyphs.Down, rule)
	s.dividable(divider, w)
	s.drawList(middle.In(0, 0, left, middle.Height()), v.Width(), w)
	if row := s.table.Current(); row != nil { // drawList may have replaced the page of the other one
		jobinfo.DrawPane(middle.In(left+1, 0, pane, middle.Height()), w, row, &s.file, !third)
	}
	if s.menu {
		s.drawMenu(v.Below(v.Height()-foot-1), w)
		return
	}
	s.sums.draw(v.Row(v.Height()-2), w)
}

// drawHead draws how many jobs are in each state, and the filter and order.
func (s *Jobs) drawHead(row canvas.View, w *screen.World) {
	end := s.drawQuery(row, w)
	row = row.In(0, 0, max(end, 0), 1)
	if DrawFilterError(row, s.rows.List, w) || row.Width() < 20 {
		return
	}
	x := row.Put(1, 0, display.Count(w.Board.Len(), "job"), canvas.Style{Bold: true}) + 2
	for _, c := range []struct {
		state job.State
		word  string
		n     int
	}{
		{job.StateFailing, "failing", w.Board.Count(job.StateFailing)}, {job.StateLate, "late", w.Board.Count(job.StateLate)},
		{job.StateRunning, "running", w.Board.Count(job.StateRunning)}, {job.StatePaused, "paused", w.Board.Count(job.StatePaused)},
		{job.StateHeld, "held", w.Board.Count(job.StateHeld)}, {job.StateDisabled, "off", w.Board.Count(job.StateDisabled)},
	} {
		sign, _, style := screen.StateLook(w, c.state)
		text := sign + " " + strconv.Itoa(c.n) + " " + c.word
		if c.n > 0 && x+page.Width(text) <= row.Width() {
			x = row.Put(x, 0, text, style) + 2
		}
	}
	if text := dayText(w); text != "" && x+3+page.Width(text) <= row.Width() {
		row.Put(x+3, 0, text, canvas.Style{})
	}
}

// DrawFilterError draws what is wrong with the filter of a list, and reports whether something is.
func DrawFilterError(row canvas.View, l *board.List, w *screen.World) bool {
	err := l.Err()
	if err != nil {
		row.PutCut(1, 0, row.Width()-1, w.Glyphs.Failed+" "+err.Error(), w.Glyphs.Ellipsis, canvas.Style{Role: canvas.Bad, Bold: true})
	}
	return err != nil
}

// dayText sums up the last 24 hours, for accounts that see them.
func dayText(w *screen.World) string {
	d := w.Status.Day
	if d == nil || d.Runs == 0 {
		return ""
	}
	return fmt.Sprintf("24 h: %s, %s ok, lag p99 %s", display.Count(d.Runs, "run"), page.Percent(d.OK, d.Runs), display.Lag(d.LagP99))
}

// drawQuery draws the order and the filter at the right, and returns the column
// before them.
func (s *Jobs) drawQuery(row canvas.View, w *screen.World) int {
	place := 0
	if s.rows.Len() > 0 {
		place = s.table.Index() + 1
	}
	text := strconv.Itoa(place) + "/" + strconv.Itoa(s.rows.Len())
	end := row.PutRight(0, text+" ", canvas.Style{}) - 1
	part := func(text string, style canvas.Style, acts keys.Action) {
		if n := page.Width(text); end-n >= 0 {
			if acts != "" {
				w.ClickActs(row.In(end-n, 0, n, 1), acts)
			}
			end = row.In(0, 0, end, 1).PutRight(0, text, style) - 1
		}
	}
	if n := s.table.Marks(); n > 0 {
		part(strconv.Itoa(n)+" marked", canvas.Style{Bold: true}, "")
	}
	if s.table.Typing() || s.query.Text != "" {
		room := min(max(page.Width(s.table.Filter())+2, 8), max(30, row.Width()/2), max(end, 0))
		s.table.DrawFilter(row, end-room+1, 0, room, w)
		end -= room + 1
	} else if row.Width() >= SplitWidth && len(s.query.States) == 0 {
		part("filter none", canvas.Style{Role: canvas.Off}, keys.Filter)
	}
	if len(s.query.States) > 0 {
		part("only "+StateWords(s.query.States), canvas.Style{Role: canvas.Match}, keys.States)
	}
	if s.rows.List.Err() != nil {
		return end // the rest of the line is for the error
	}
	if text := s.rows.NoteText(); text != "" {
		part(text, canvas.Style{Role: canvas.Doubt}, "")
	}
	if row.Width() >= screen.WordFrom {
		sorted := "sort " + string(s.order())
		if s.query.Reverse {
			sorted += " reversed"
		}
		part(sorted, canvas.Style{}, keys.Sort)
	}
	if w.Absolute {
		part("times "+w.ZoneWord(), canvas.Style{}, keys.Times)
	}
	return end
}

// NoteText returns what the list waits for, that it contains jobs with similar names, or "".
func (r *Rows) NoteText() string {
	switch {
	case r.List.Searching():
		return "searching"
	case r.List.Stale():
		return "re-sort pending"
	case r.List.Similar():
		return "similar names"
	}
	return ""
}

func StateWords(states []job.State) string {
	words := make([]string, len(states))
	for i, s := range states {
		words[i] = string(s)
	}
	return strings.Join(words, ", ")
}

// drawList draws the names of the columns and the rows in view.
func (s *Jobs) drawList(v canvas.View, full int, w *screen.World) {
	body := v
	if full >= screen.WordFrom && v.Height() > 4 {
		body = v.Below(1)
	}
	if s.rows.Len() == 0 || body.Height() <= 0 {
		page.DrawNotice(v, s.rows.EmptyText(w))
		return
	}
	s.fit(w, full, v.Width())
	if body.Height() < v.Height() {
		s.table.DrawTitles(v.Row(0), w)
	}
	s.table.DrawRows(body, w)
	s.drawUnseen(body.Below(s.rows.Len()), w)
}

// drawUnseen reports, below a short list, that the user does not see all jobs.
func (s *Jobs) drawUnseen(v canvas.View, w *screen.World) {
	if st := &w.Status; v.Height() > 1 && st.Loaded > st.Jobs {
		text := fmt.Sprintf("you see %d of %d jobs: your own. Root sees all.", st.Jobs, st.Loaded)
		v.PutCut(1, 1, v.Width()-2, text, w.Glyphs.Ellipsis, canvas.Style{Role: canvas.Off})
	}
}

// EmptyText returns why the list is empty, and what to do.
func (r *Rows) EmptyText(w *screen.World) []string {
	st := &w.Status
	switch {
	case r.List.Searching():
		return []string{"Searching " + display.Count(w.Board.Len(), "job") + " ..."}
	case w.Board.Len() > 0:
		what := "match"
		if r.Query.Text != "" {
			what += " /" + r.Query.Text
		}
		if len(r.Query.States) > 0 {
			what += " with state " + StateWords(r.Query.States)
		}
		return []string{fmt.Sprintf("0 of %d %s. esc clears", w.Board.Len(), what)}
	case !w.Board.Complete() && w.Link.Tried && !w.Link.Live:
		return nil // the shell reports it
	case !w.Board.Complete():
		return []string{"Asking cronringd ..."}
	case st.Loaded > 0:
		return []string{
			fmt.Sprintf("You see none of %s: they belong to other users.", display.Count(st.Loaded, "job")),
			"Root sees all; crontab -e begins a crontab of your own.",
		}
	}
	return []string{
		fmt.Sprintf("No crontab entries found (%s read).", display.Count(st.Crontabs, "crontab file")),
		w.KeyOf(keys.Add) + " adds one, or: cronring import cron",
	}
}

// menuHeight returns the height of the menu of states or columns.
func (s *Jobs) menuHeight(width int) int {
	n := len(stateKeys)
	if s.chooser != nil {
		n = len(s.chooser.choices)
	}
	return (n+menuColumns(width)-1)/menuColumns(width) + 1
}

func menuColumns(width int) int { return max(width/menuCell, 1) }

// menuCell is the width of one state in the menu.
const menuCell = 20

// drawMenu draws the states or columns that can be chosen.
func (s *Jobs) drawMenu(v canvas.View, w *screen.World) {
	if s.chooser != nil {
		s.drawChooser(v, w)
		return
	}
	page.DrawRule(v.Row(0), "Show only", w.Glyphs)
	across := menuColumns(v.Width())
	for i, c := range stateKeys {
		x, y := i%across*menuCell+1, i/across+1
		w.ClickTypes(v.In(x, y, menuCell-1, 1), screen.KeyNamed(c.key))
		box := "[ ] "
		for _, chosen := range s.query.States {
			if chosen == c.state {
				box = "[" + w.Glyphs.Mark + "] "
			}
		}
		x = v.Put(x, y, box, canvas.Style{})
		x = v.Put(x, y, c.key, canvas.Style{Bold: true})
		_, _, style := screen.StateLook(w, c.state)
		x = v.Put(x+1, y, string(c.state), style)
		v.Put(x+1, y, strconv.Itoa(w.Board.Count(c.state)), canvas.Style{})
	}
	page.DrawHints(v, 1, v.Height()-1, w, canvas.Style{Role: canvas.Off}, "a", "all", "enter", "done")
}
