package table

import (
	"maps"
	"slices"

	"github.com/cronring/cronring/daemon/display"
	"github.com/cronring/cronring/daemon/job"
	"github.com/cronring/cronring/tui/canvas"
	"github.com/cronring/cronring/tui/edit"
	"github.com/cronring/cronring/tui/keys"
	"github.com/cronring/cronring/tui/page"
	"github.com/cronring/cronring/tui/screen"
)

// list is the state of a table apart from its rows and columns: cursor, marks, a range and a filter
// text. Cursor, marks and range refer to keys, so they stay with their rows when the order changes.
type list[K comparable] struct {
	cursor K
	at     int // place of the cursor; 0 when there is nothing
	set    bool
	top    int
	height int // as drawn last
	marks  map[K]struct{}
	hidden int // marks of rows that are not shown: no action applies to them
	anchor K   // the other end of a range
	from   int
	ranged bool
	chosen []K // see Chosen
	known  bool
	input  edit.Line
	typing bool
}

// unseen is the assumed height of a list that was not drawn yet.
const unseen = 50

// Settle adjusts cursor, marks and range after items have changed. A removed item
// loses its mark, and a cursor on it stays at its index. An item that a filter hides has
// its mark again when it is shown. The cursor keeps its line on the screen, unless the
// first item is in view.
func (t *Table[K, R]) Settle() {
	t.known = false
	t.dropMarks()
	if t.ranged {
		if t.from = t.Source.Place(t.anchor); t.from < 0 {
			t.ranged = false
		}
	}
	place := -1
	if t.set {
		place = t.Source.Place(t.cursor)
	}
	if place < 0 {
		place = t.at
	}
	old := t.at
	t.moveTo(place)
	if t.top > 0 {
		t.top += t.at - old
	}
}

// dropMarks removes the marks of removed items, and counts those of hidden ones.
func (t *Table[K, R]) dropMarks() {
	if len(t.marks) == 0 {
		return
	}
	maps.DeleteFunc(t.marks, func(k K, _ struct{}) bool { return !t.Source.Has(k) })
	t.hidden = len(t.marks)
	for i := range t.Source.Len() {
		if _, ok := t.marks[t.Source.At(i)]; ok {
			t.hidden--
		}
	}
}

// Select moves the cursor to an item; false: it is not there.
func (t *Table[K, R]) Select(k K) bool {
	t.known = false
	place := t.Source.Place(k)
	if place >= 0 {
		t.moveTo(place)
	}
	return place >= 0
}

// Cursor returns the key of the row under the cursor, Index its index, and Current
// the row, which is nil in an empty table.
func (t *Table[K, R]) Cursor() (k K, ok bool) { return t.cursor, t.set }
func (t *Table[K, R]) Index() int             { return t.at }
func (t *Table[K, R]) Current() *R {
	if !t.set || t.at >= t.Source.Len() {
		return nil
	}
	return t.Source.Row(t.at)
}

// moveTo puts the cursor on a place, or on the nearest that there is.
func (t *Table[K, R]) moveTo(place int) {
	n := t.Source.Len()
	if n == 0 {
		t.at, t.set, t.top = 0, false, 0
		return
	}
	t.at = min(max(place, 0), n-1)
	t.cursor, t.set = t.Source.At(t.at), true
}

// Window returns the range of items to draw on a number of lines. The cursor is in
// it.
func (t *Table[K, R]) Window(height int) (first, last int) {
	t.height = max(height, 1)
	n := t.Source.Len()
	t.top = min(max(t.top, t.at-t.height+1), t.at)
	t.top = max(min(t.top, n-t.height), 0)
	return t.top, min(t.top+max(height, 0), n)
}

// Seen is the items that were in view when they were drawn last, with as many
// before and after as a page may bring up.
func (t *Table[K, R]) Seen() (first, last int) {
	page := t.page()
	top := min(max(t.top, t.at-page+1), t.at)
	return max(top, 0), min(top+page, t.Source.Len())
}

func (t *Table[K, R]) page() int {
	if t.height == 0 {
		return unseen
	}
	return t.height
}

// act answers to a key of lists. false: it is none, or, for keys.Back, there is nothing to clear.
func (t *Table[K, R]) act(a keys.Action) bool {
	t.known = false
	switch a {
	case keys.Down:
		t.moveTo(t.at + 1)
	case keys.Up:
		t.moveTo(t.at - 1)
	case keys.First:
		t.moveTo(0)
	case keys.Last:
		t.moveTo(t.Source.Len() - 1)
	case keys.HalfDown:
		t.leap(max(t.page()/2, 1))
	case keys.HalfUp:
		t.leap(-max(t.page()/2, 1))
	case keys.PageDown:
		t.leap(t.page())
	case keys.PageUp:
		t.leap(-t.page())
	case keys.Mark:
		t.mark()
	case keys.Range:
		t.stretch()
	case keys.MarkAll:
		t.markAll()
	case keys.Filter:
		t.typing = true
	case keys.Back:
		return t.clear()
	default:
		return false
	}
	return true
}

// leap moves the cursor and what is in view alike.
func (t *Table[K, R]) leap(by int) {
	old := t.at
	t.moveTo(t.at + by)
	t.top += t.at - old
}

// mark marks the item under the cursor or removes its mark, and moves to the next. It
// marks a range as a whole.
func (t *Table[K, R]) mark() {
	if t.ranged {
		t.stretch()
		return
	}
	if !t.set {
		return
	}
	if _, marked := t.marks[t.cursor]; marked {
		delete(t.marks, t.cursor)
	} else {
		t.put(t.cursor)
	}
	t.moveTo(t.at + 1)
}

// stretch begins a range at the cursor, or ends it: what is in it is marked.
func (t *Table[K, R]) stretch() {
	if !t.ranged {
		t.anchor, t.from, t.ranged = t.cursor, t.at, t.set
		return
	}
	t.ranged = false
	for i := min(t.from, t.at); i <= max(t.from, t.at); i++ {
		t.put(t.Source.At(i))
	}
}

// markAll marks every item, or takes all marks where every one has it.
func (t *Table[K, R]) markAll() {
	t.ranged = false
	if len(t.marks)-t.hidden == t.Source.Len() {
		t.Unmark()
		return
	}
	for i := range t.Source.Len() {
		t.put(t.Source.At(i))
	}
}

func (t *Table[K, R]) put(k K) {
	if t.marks == nil {
		t.marks = map[K]struct{}{}
	}
	t.marks[k] = struct{}{}
}

// clear takes back one thing: a range, else the marks, else the filter.
func (t *Table[K, R]) clear() bool {
	switch {
	case t.ranged:
		t.ranged = false
	case len(t.marks) > t.hidden:
		t.Unmark()
	case t.Filter() != "":
		t.input = edit.Line{}
	default:
		return false
	}
	return true
}

// Unmark takes all marks, as after an action on them.
func (t *Table[K, R]) Unmark() {
	t.ranged, t.known, t.hidden = false, false, 0
	clear(t.marks)
}

// Ranged reports whether a range is open. What is in it depends on the order of the items.
func (t *Table[K, R]) Ranged() bool { return t.ranged }

// Marked reports whether the item at a place is marked, or in the range.
func (t *Table[K, R]) Marked(i int) bool {
	if t.ranged && i >= min(t.from, t.at) && i <= max(t.from, t.at) {
		return true
	}
	if len(t.marks) == 0 {
		return false
	}
	_, ok := t.marks[t.Source.At(i)]
	return ok
}

// Chosen returns what an action applies to, in order: the marked items and those in
// the range, or the item under the cursor. marked reports which. The result is
// cached, because every key on the last line needs it.
func (t *Table[K, R]) Chosen() (chosen []K, marked bool) {
	marked = t.ranged || len(t.marks) > t.hidden
	if !t.known {
		t.chosen, t.known = t.choose(marked), true
	}
	return t.chosen, marked
}

// ChosenJobs returns the jobs of the rows that an action applies to, each once.
func (t *Table[K, R]) ChosenJobs(of func(r *R) job.ID) screen.Subject {
	chosen, marked := t.Chosen()
	subject := screen.Subject{Marked: marked}
	for _, k := range chosen {
		if i := t.Source.Place(k); i >= 0 && !slices.Contains(subject.Jobs, of(t.Source.Row(i))) {
			subject.Jobs = append(subject.Jobs, of(t.Source.Row(i)))
		}
	}
	return subject
}

func (t *Table[K, R]) choose(marked bool) []K {
	switch {
	case marked:
	case t.set:
		return []K{t.cursor}
	default:
		return nil
	}
	var chosen []K
	for i := range t.Source.Len() {
		if t.Marked(i) {
			chosen = append(chosen, t.Source.At(i))
		}
	}
	return chosen
}

// Marks returns how many of the shown items are marked or in the range.
func (t *Table[K, R]) Marks() int {
	n := len(t.marks) - t.hidden
	if !t.ranged {
		return n
	}
	for i := min(t.from, t.at); i <= max(t.from, t.at); i++ {
		if _, ok := t.marks[t.Source.At(i)]; !ok {
			n++
		}
	}
	return n
}

// Filter returns the filter, also while it is typed. SetFilter replaces the text of a
// source that is filtered already.
func (t *Table[K, R]) Filter() string { return t.input.Text() }
func (t *Table[K, R]) SetFilter(text string) {
	t.input.Set(text)
	t.filter = t.Filter()
}

// Typing reports that keys go to the filter.
func (t *Table[K, R]) Typing() bool { return t.typing }

// typed performs a key while the filter is typed. Enter keeps the filter, esc clears
// it, and keys that do not edit text move the cursor.
func (t *Table[K, R]) typed(k screen.Key) bool {
	switch k.Name {
	case "enter":
		t.typing = false
	case "esc":
		t.input, t.typing = edit.Line{}, false
	case "down":
		t.act(keys.Down)
	case "up":
		t.act(keys.Up)
	case "pgdown":
		t.act(keys.PageDown)
	case "pgup":
		t.act(keys.PageUp)
	default:
		return page.TypeInto(&t.input, k)
	}
	return true
}

// DrawFilter draws the filter if there is one, with a caret while it is typed, and
// returns the column after it.
func (t *Table[K, R]) DrawFilter(v canvas.View, x, y, width int, w *screen.World) int {
	if t.typing {
		x = v.Put(x, y, "/", canvas.Style{Role: canvas.Match})
		return page.DrawInput(v, x, y, width-1, &t.input, w)
	}
	text := t.Filter()
	if text == "" {
		return x
	}
	w.ClickActs(v.In(x, y, width, 1), keys.Filter)
	x = v.Put(x, y, "/", canvas.Style{Role: canvas.Match})
	v.PutCut(x, y, width-1, text, w.Glyphs.Ellipsis, canvas.Style{Role: canvas.Match})
	return x + min(display.Width(display.Text(text)), width-1)
}
