package table

import (
	"github.com/cronring/cronring/daemon/display"
	"github.com/cronring/cronring/tui/canvas"
	"github.com/cronring/cronring/tui/edit"
	"github.com/cronring/cronring/tui/keys"
	"github.com/cronring/cronring/tui/page"
	"github.com/cronring/cronring/tui/screen"
)

// Items is a sequence whose items have keys.
type Items[K comparable] interface {
	Len() int
	At(i int) K
	Place(k K) int // -1: it is not there
}

// list is a cursor, marks, a range and a filter text over items. Cursor, marks and
// range refer to keys, so they stay with their items when the order changes. The zero
// value is ready to use.
//
// The owner calls Settle after items have changed, and draws the items of Window. It
// filters the items itself after Filter has changed.
type list[K comparable] struct {
	cursor K
	at     int // place of the cursor; 0 when there is nothing
	set    bool
	top    int
	height int // as drawn last

	marks  map[K]struct{}
	anchor K // the other end of a range
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
// loses its mark, and a cursor on it stays at its index. The cursor keeps its line on
// the screen, unless the first item is in view.
func (l *list[K]) Settle(items Items[K]) {
	l.known = false
	l.dropMarks(items)
	if l.ranged {
		if l.from = items.Place(l.anchor); l.from < 0 {
			l.ranged = false
		}
	}
	place := -1
	if l.set {
		place = items.Place(l.cursor)
	}
	if place < 0 {
		place = l.at
	}
	old := l.at
	l.move(items, place)
	if l.top > 0 {
		l.top += l.at - old
	}
}

// dropMarks takes the marks of what is gone, in one pass over the items: all of
// them may be marked.
func (l *list[K]) dropMarks(items Items[K]) {
	if len(l.marks) == 0 {
		return
	}
	here := make(map[K]struct{}, len(l.marks))
	for i := range items.Len() {
		k := items.At(i)
		if _, ok := l.marks[k]; ok {
			here[k] = struct{}{}
		}
	}
	l.marks = here
}

// Select moves the cursor to an item; false: it is not there.
func (l *list[K]) Select(items Items[K], k K) bool {
	l.known = false
	place := items.Place(k)
	if place >= 0 {
		l.move(items, place)
	}
	return place >= 0
}

// Cursor is the item under the cursor; false: there is none.
func (l *list[K]) Cursor() (k K, ok bool) { return l.cursor, l.set }

// Index is the place of the cursor.
func (l *list[K]) Index() int { return l.at }

// move puts the cursor on a place, or on the nearest that there is.
func (l *list[K]) move(items Items[K], place int) {
	n := items.Len()
	if n == 0 {
		l.at, l.set, l.top = 0, false, 0
		return
	}
	l.at = min(max(place, 0), n-1)
	l.cursor, l.set = items.At(l.at), true
}

// Window returns the range of items to draw on a number of lines. The cursor is in
// it.
func (l *list[K]) Window(items Items[K], height int) (first, last int) {
	l.height = max(height, 1)
	n := items.Len()
	l.top = min(max(l.top, l.at-l.height+1), l.at)
	l.top = max(min(l.top, n-l.height), 0)
	return l.top, min(l.top+max(height, 0), n)
}

// Seen is the items that were in view when they were drawn last, with as many
// before and after as a page may bring up.
func (l *list[K]) Seen(items Items[K]) (first, last int) {
	page := l.page()
	top := min(max(l.top, l.at-page+1), l.at)
	return max(top, 0), min(top+page, items.Len())
}

func (l *list[K]) page() int {
	if l.height == 0 {
		return unseen
	}
	return l.height
}

// Act answers to a key of lists. false: it means nothing to a listing, or, for
// keys.Back, there is nothing to clear.
func (l *list[K]) Act(items Items[K], a keys.Action) bool {
	l.known = false
	switch a {
	case keys.Down:
		l.move(items, l.at+1)
	case keys.Up:
		l.move(items, l.at-1)
	case keys.First:
		l.move(items, 0)
	case keys.Last:
		l.move(items, items.Len()-1)
	case keys.HalfDown:
		l.leap(items, max(l.page()/2, 1))
	case keys.HalfUp:
		l.leap(items, -max(l.page()/2, 1))
	case keys.PageDown:
		l.leap(items, l.page())
	case keys.PageUp:
		l.leap(items, -l.page())
	case keys.Mark:
		l.mark(items)
	case keys.Range:
		l.stretch(items)
	case keys.MarkAll:
		l.markAll(items)
	case keys.Filter:
		l.typing = true
	case keys.Back:
		return l.clear()
	default:
		return false
	}
	return true
}

// leap moves the cursor and what is in view alike.
func (l *list[K]) leap(items Items[K], by int) {
	old := l.at
	l.move(items, l.at+by)
	l.top += l.at - old
}

// mark marks the item under the cursor or removes its mark, and moves to the next. It
// marks a range as a whole.
func (l *list[K]) mark(items Items[K]) {
	if l.ranged {
		l.stretch(items)
		return
	}
	if !l.set {
		return
	}
	if _, marked := l.marks[l.cursor]; marked {
		delete(l.marks, l.cursor)
	} else {
		l.put(l.cursor)
	}
	l.move(items, l.at+1)
}

// stretch begins a range at the cursor, or ends it: what is in it is marked.
func (l *list[K]) stretch(items Items[K]) {
	if !l.ranged {
		l.anchor, l.from, l.ranged = l.cursor, l.at, l.set
		return
	}
	l.ranged = false
	for i := min(l.from, l.at); i <= max(l.from, l.at); i++ {
		l.put(items.At(i))
	}
}

// markAll marks every item, or takes all marks where every one has it.
func (l *list[K]) markAll(items Items[K]) {
	l.ranged = false
	if len(l.marks) == items.Len() {
		clear(l.marks)
		return
	}
	for i := range items.Len() {
		l.put(items.At(i))
	}
}

func (l *list[K]) put(k K) {
	if l.marks == nil {
		l.marks = map[K]struct{}{}
	}
	l.marks[k] = struct{}{}
}

// clear takes back one thing: a range, else the marks, else the filter.
func (l *list[K]) clear() bool {
	switch {
	case l.ranged:
		l.ranged = false
	case len(l.marks) > 0:
		clear(l.marks)
	case l.Filter() != "":
		l.input = edit.Line{}
	default:
		return false
	}
	return true
}

// Unmark takes all marks, as after an action on them.
func (l *list[K]) Unmark() {
	l.ranged, l.known = false, false
	clear(l.marks)
}

// Marked reports whether the item at a place is marked, or in the range.
func (l *list[K]) Marked(items Items[K], i int) bool {
	if l.ranged && i >= min(l.from, l.at) && i <= max(l.from, l.at) {
		return true
	}
	if len(l.marks) == 0 {
		return false
	}
	_, ok := l.marks[items.At(i)]
	return ok
}

// Chosen returns what an action applies to, in order: the marked items and those in
// the range, or the item under the cursor. marked reports which. The result is
// cached, because every key on the last line needs it.
func (l *list[K]) Chosen(items Items[K]) (chosen []K, marked bool) {
	marked = l.ranged || len(l.marks) > 0
	if !l.known {
		l.chosen, l.known = l.choose(items, marked), true
	}
	return l.chosen, marked
}

func (l *list[K]) choose(items Items[K], marked bool) []K {
	switch {
	case marked:
	case l.set:
		return []K{l.cursor}
	default:
		return nil
	}
	var chosen []K
	for i := range items.Len() {
		if l.Marked(items, i) {
			chosen = append(chosen, items.At(i))
		}
	}
	return chosen
}

// Marks returns how many items are marked or in the range.
func (l *list[K]) Marks(items Items[K]) int {
	if !l.ranged {
		return len(l.marks)
	}
	n := len(l.marks)
	for i := min(l.from, l.at); i <= max(l.from, l.at); i++ {
		if _, ok := l.marks[items.At(i)]; !ok {
			n++
		}
	}
	return n
}

// Filter returns the filter, also while it is typed. SetFilter replaces it.
func (l *list[K]) Filter() string        { return l.input.Text() }
func (l *list[K]) SetFilter(text string) { l.input.Set(text) }

// Typing reports that keys go to the filter.
func (l *list[K]) Typing() bool { return l.typing }

// Type performs a key while the filter is typed. Enter keeps the filter, esc clears
// it, and keys that do not edit text move the cursor.
func (l *list[K]) Type(items Items[K], k screen.Key) bool {
	switch k.Name {
	case "enter":
		l.typing = false
	case "esc":
		l.input, l.typing = edit.Line{}, false
	case "down":
		l.Act(items, keys.Down)
	case "up":
		l.Act(items, keys.Up)
	case "pgdown":
		l.Act(items, keys.PageDown)
	case "pgup":
		l.Act(items, keys.PageUp)
	default:
		return page.TypeInto(&l.input, k)
	}
	return true
}

// DrawFilter draws the filter if there is one, with a caret while it is typed, and
// returns the column after it.
func (l *list[K]) DrawFilter(v canvas.View, x, y, width int, w *screen.World) int {
	if l.typing {
		x = v.Put(x, y, "/", canvas.Style{Role: canvas.Match})
		return page.DrawInput(v, x, y, width-1, &l.input, w)
	}
	text := l.Filter()
	if text == "" {
		return x
	}
	w.ClickActs(v.In(x, y, width, 1), keys.Filter)
	x = v.Put(x, y, "/", canvas.Style{Role: canvas.Match})
	v.PutCut(x, y, width-1, text, w.Glyphs.Ellipsis, canvas.Style{Role: canvas.Match})
	return x + min(display.Width(display.Text(text)), width-1)
}
