// Package table owns the lists on the dashboard's screens, with their columns, order, cursor, marks
// and filter.
//
// A Source provides the rows. A screen embeds a Table, describes its columns, and adds
// what only its rows can do.
package table

import (
	"slices"
	"strings"

	"github.com/cronring/cronring/tui/canvas"
	"github.com/cronring/cronring/tui/keys"
	"github.com/cronring/cronring/tui/page"
	"github.com/cronring/cronring/tui/screen"
)

// Source provides the rows of a table in their order.
type Source[K comparable, R any] interface {
	Len() int
	At(i int) K
	Place(k K) int // -1: it is not shown
	Has(k K) bool  // false: it is not even hidden by a filter
	// Row returns the row at an index. It is valid until the source changes.
	Row(i int) *R
	// Filter keeps only rows that match a text.
	Filter(text string)
}

// Table is a list of rows of type R with a cursor, marks, a filter and columns.
// Each row has a key of type K: cursor and marks stay with their rows when the
// rows change. A screen embeds a Table and adds what is its own.
type Table[K comparable, R any] struct {
	Source  Source[K, R]
	Columns []Column[R]
	Left    int                                                 // column of the screen at which the first cell begins
	MarkAt  int                                                 // column of the screen that shows the sign of a marked row
	Titles  canvas.Style                                        // of the titles of columns
	Sorted  string                                              // title of the column that the rows are sorted by
	Falls   bool                                                // the greatest row comes first
	OnTitle func(w *screen.World, title string) []screen.Effect // answers to a click on the title of a column; nil: it sorts Rows
	OnRow   func(w *screen.World) []screen.Effect               // is called after a click has moved the cursor; nil: nothing is
	ToFirst bool                                                // when a filter hides the row under the cursor, the cursor moves to the first row

	In      keys.Scope             // scope of the screen's keys
	Keys    []keys.Action          // keys on the last line
	Refused map[keys.Action]string // why keys of lists do nothing here

	list[K]
	filter string // that the source was filtered by
	placed []placedColumn[R]
	field  Field
}

// TitleStyle is the style of most titles of columns.
var TitleStyle = canvas.Style{Role: canvas.Title, Bold: true}

// Scope returns the scope of the screen's keys, Foot the keys on the last line.
func (t *Table[K, R]) Scope() keys.Scope                { return t.In }
func (t *Table[K, R]) Foot(*screen.World) []keys.Action { return t.Keys }

// Refuses returns why a key does nothing here, or "".
func (t *Table[K, R]) Refuses(_ *screen.World, a keys.Action) string {
	if a == keys.Open && t.Current() == nil {
		return "nothing is selected"
	}
	return t.Refused[a]
}

// Act performs a key of lists.
func (t *Table[K, R]) Act(_ *screen.World, a keys.Action) ([]screen.Effect, bool) {
	return nil, t.Move(a)
}

// Refuse returns one reason for several keys.
func Refuse(reason string, actions ...keys.Action) map[keys.Action]string {
	refused := make(map[keys.Action]string, len(actions))
	for _, a := range actions {
		refused[a] = reason
	}
	return refused
}

// Type performs a key while the filter is typed.
func (t *Table[K, R]) Type(_ *screen.World, k screen.Key) ([]screen.Effect, bool) {
	ok := t.typed(k)
	t.refilter()
	return nil, ok
}

// Move performs a key of lists, and reports whether it is one. It reports false for
// keys.Back if no range, mark or filter is left to clear.
func (t *Table[K, R]) Move(a keys.Action) bool {
	ok := t.act(a) || t.reorder(a)
	t.refilter()
	return ok
}

// reorder sorts by the next visible column that has a Compare, or reverses the order. It reports whether
// it has sorted.
func (t *Table[K, R]) reorder(a keys.Action) bool {
	switch a {
	case keys.Reverse:
		return t.sortBy(t.Sorted)
	case keys.Sort:
		for i := range t.Columns {
			if next := &t.Columns[(t.column(t.Sorted)+1+i)%len(t.Columns)]; next.Title != t.Sorted && t.visible(next.Title) && t.sortBy(next.Title) {
				return true
			}
		}
	}
	return false
}

// visible reports whether a column was chosen by Place. Before the first Place, all are.
func (t *Table[K, R]) visible(title string) bool {
	return len(t.placed) == 0 || slices.ContainsFunc(t.placed, func(p placedColumn[R]) bool { return p.Title == title })
}

// sortBy sorts by a column, or the other way round if the rows are sorted by it already. It reports
// whether it has sorted: the source must be Rows, and the column must have a Compare.
func (t *Table[K, R]) sortBy(title string) bool {
	rows, ok := t.Source.(*Rows[K, R])
	i := t.column(title)
	switch {
	case !ok || i < 0 || t.Columns[i].Compare == nil:
		return false
	case t.Sorted == title:
		t.Falls = !t.Falls
	default:
		t.Sorted, t.Falls = title, t.Columns[i].Falls
	}
	t.SetRows(rows.all)
	return true
}

// column returns the index of the column with a title, or -1.
func (t *Table[K, R]) column(title string) int {
	return slices.IndexFunc(t.Columns, func(c Column[R]) bool { return c.Title == title })
}

// refilter passes a changed filter on to the source.
func (t *Table[K, R]) refilter() {
	if text := t.Filter(); text != t.filter {
		t.filter = text
		t.Source.Filter(text)
		t.Relist()
	}
}

// Relist adjusts the cursor after the choice or the order of rows has changed.
func (t *Table[K, R]) Relist() {
	if t.set && t.ToFirst && t.Source.Place(t.cursor) < 0 {
		t.act(keys.First)
	}
	t.Settle()
}

// SelectLine moves the cursor to the row on a line of those drawn last. It reports
// whether there is such a row, and whether the cursor was on it already.
func (t *Table[K, R]) SelectLine(y int) (ok, again bool) {
	first, last := t.Window(t.height)
	i := first + y
	if y < 0 || i >= last {
		return false, false
	}
	again = i == t.at
	t.Select(t.Source.At(i))
	return true, again
}

// clickRow moves the cursor to the row on a line, and opens it if the cursor was on it already.
func (t *Table[K, R]) clickRow(w *screen.World, y int) []screen.Effect {
	switch ok, again := t.SelectLine(y); {
	case again:
		return []screen.Effect{screen.Act{Action: keys.Open}}
	case ok && t.OnRow != nil:
		return t.OnRow(w)
	}
	return nil
}

// titleAt returns the title of the column that has a cell, or "".
func (t *Table[K, R]) titleAt(x int) string {
	for i := range t.placed {
		if p := &t.placed[i]; x >= p.x && x < p.x+p.width {
			return p.Title
		}
	}
	return ""
}

// Place chooses the columns for a view of some width on a screen of another width, and distributes the
// rest of the width.
func (t *Table[K, R]) Place(w *screen.World, screen, width int) {
	shown, total := t.placed[:0], t.Left
	for _, c := range t.Columns {
		if c.From > screen {
			continue
		}
		if c.Fit != Never {
			c = c.fitted(t.longest(w, &c) + 1)
		}
		shown = append(shown, placedColumn[R]{c, 0, c.Width})
		total += c.Width
	}
	for total > width {
		i := leastImportant(shown)
		if i < 0 {
			break
		}
		total -= shown[i].width
		shown = append(shown[:i], shown[i+1:]...)
	}
	distribute(shown, width-total)
	x := t.Left
	for i := range shown {
		shown[i].x = x
		x += shown[i].width
	}
	t.placed = shown
}

// longest returns the width of the longest text of a column in view.
func (t *Table[K, R]) longest(w *screen.World, c *Column[R]) (n int) {
	first, last := t.Seen()
	for i := first; i < last; i++ {
		n = max(n, c.length(w, t.Source.Row(i), &t.field))
	}
	return n
}

// Draw draws the titles of the columns and the rows in view.
func (t *Table[K, R]) Draw(v canvas.View, w *screen.World) {
	t.Place(w, v.Width(), v.Width())
	t.DrawTitles(v.Row(0), w)
	t.DrawRows(v.Below(1), w)
}

// DrawTitles draws the titles of the columns that Place has chosen.
func (t *Table[K, R]) DrawTitles(row canvas.View, w *screen.World) {
	w.OnClick(row, func(x, _ int) []screen.Effect {
		if t.OnTitle != nil {
			return t.OnTitle(w, t.titleAt(x))
		}
		t.sortBy(t.titleAt(x))
		return nil
	})
	for i := range t.placed {
		sign := ""
		if t.Sorted != "" && t.placed[i].Title == t.Sorted {
			sign = w.Glyphs.Ascends
			if t.Falls {
				sign = w.Glyphs.Descends
			}
		}
		t.placed[i].put(row, t.placed[i].Title+sign, t.Titles, w.Glyphs.Ellipsis)
	}
}

// DrawRows draws the rows in view in the columns that Place has chosen.
func (t *Table[K, R]) DrawRows(v canvas.View, w *screen.World) {
	w.OnClick(v, func(_, y int) []screen.Effect { return t.clickRow(w, y) })
	first, last := t.Window(v.Height())
	for i := first; i < last; i++ {
		row := v.Row(i - first)
		t.DrawCells(row, w, t.Source.Row(i))
		if t.Marked(i) {
			row.Put(t.MarkAt, 0, w.Glyphs.Mark, canvas.Style{Role: canvas.Match, Bold: true})
		}
		if i == t.Index() {
			row.Put(0, 0, w.Glyphs.Cursor, canvas.Style{Bold: true})
			row.Restyle(page.Selected)
		}
	}
}

// DrawCells draws one row.
func (t *Table[K, R]) DrawCells(row canvas.View, w *screen.World, r *R) {
	for i := range t.placed {
		t.placed[i].drawCell(row, w, r, &t.field)
	}
}

// Rows is a Source whose rows are in a slice.
type Rows[K comparable, R any] struct {
	Key   func(r *R) K
	Words func(r *R) string // text to search; nil: no filter

	all     []R               // in the order in which they were set
	shown   []int             // indexes of the rows that match the filter, sorted
	places  map[K]int         // of rows in shown; -1: it is hidden
	compare func(a, b *R) int // sorts shown; nil: it is in the order of all
	filter  string
}

// SetRows replaces the rows of a table whose source is Rows, and sorts them. Rows that are equal in the
// column Sorted are in the order of all, which does not change.
func (t *Table[K, R]) SetRows(all []R) {
	rows := t.Source.(*Rows[K, R])
	if i := t.column(t.Sorted); i >= 0 && t.Columns[i].Compare != nil {
		compare, falls := t.Columns[i].Compare, t.Falls
		rows.compare = func(a, b *R) int {
			if falls {
				a, b = b, a
			}
			return compare(a, b)
		}
	}
	rows.Set(all)
	t.Settle()
}

// Set replaces the rows. All returns all rows, including hidden ones, in the order in which they were set.
func (s *Rows[K, R]) Set(all []R) {
	s.all = all
	s.Filter(s.filter)
}
func (s *Rows[K, R]) All() []R { return s.all }

// Filter shows the rows that contain a text, in upper or lower case.
func (s *Rows[K, R]) Filter(text string) {
	s.filter = text
	text = strings.ToLower(text)
	s.shown, s.places = s.shown[:0], make(map[K]int, len(s.all))
	for i := range s.all {
		s.places[s.Key(&s.all[i])] = -1
		if text == "" || strings.Contains(strings.ToLower(s.Words(&s.all[i])), text) {
			s.shown = append(s.shown, i)
		}
	}
	if s.compare != nil {
		slices.SortStableFunc(s.shown, func(a, b int) int { return s.compare(&s.all[a], &s.all[b]) })
	}
	for place := range s.shown {
		s.places[s.At(place)] = place
	}
}

// Len counts the rows that are shown, At returns the key of one, and Row the row.
func (s *Rows[K, R]) Len() int     { return len(s.shown) }
func (s *Rows[K, R]) At(i int) K   { return s.Key(s.Row(i)) }
func (s *Rows[K, R]) Row(i int) *R { return &s.all[s.shown[i]] }

// Place returns the index of a row, or -1. Has reports whether there is such a row, including hidden ones.
func (s *Rows[K, R]) Place(k K) int {
	if i, ok := s.places[k]; ok {
		return i
	}
	return -1
}
func (s *Rows[K, R]) Has(k K) bool {
	_, ok := s.places[k]
	return ok
}
