package table

import (
	"strings"
	"testing"

	"github.com/cronring/cronring/tui/canvas"
	"github.com/cronring/cronring/tui/keys"
	"github.com/cronring/cronring/tui/screen"
	"github.com/cronring/cronring/tui/screen/screentest"
)

// Slice is a slice as items of a listing.
type Slice[K comparable] []K

// Len returns the number of rows, At the identity of one.
func (s Slice[K]) Len() int   { return len(s) }
func (s Slice[K]) At(i int) K { return s[i] }

// Place returns the position of a row.
func (s Slice[K]) Place(k K) int {
	for i := range s {
		if s[i] == k {
			return i
		}
	}
	return -1
}

func letters(text string) Slice[string] { return strings.Split(text, "") }

// press sends keys to a listing, by their actions, separated by blanks.
func press(t *testing.T, l *list[string], items Slice[string], actions ...keys.Action) {
	t.Helper()
	for _, a := range actions {
		if !l.Act(items, a) {
			t.Fatalf("%s: got no answer, want one", a)
		}
	}
}

func wantCursor(t *testing.T, l *list[string], want string) {
	t.Helper()
	if got, _ := l.Cursor(); got != want {
		t.Errorf("cursor: got %q, want %q", got, want)
	}
}

func wantChosen(t *testing.T, l *list[string], items Slice[string], want string) {
	t.Helper()
	chosen, _ := l.Chosen(items)
	if got := strings.Join(chosen, ""); got != want {
		t.Errorf("chosen: got %q, want %q", got, want)
	}
}

func TestListingMoves(t *testing.T) {
	items := letters("abcdefghijklmnopqrstuvwxyz")
	for _, tc := range []struct {
		actions []keys.Action
		cursor  string
		view    string // of six lines
	}{
		{nil, "a", "abcdef"},
		{[]keys.Action{keys.Up}, "a", "abcdef"},
		{[]keys.Action{keys.Down, keys.Down}, "c", "abcdef"},
		{[]keys.Action{keys.Last}, "z", "uvwxyz"},
		{[]keys.Action{keys.Last, keys.Down, keys.First}, "a", "abcdef"},
		{[]keys.Action{keys.HalfDown}, "d", "defghi"},
		{[]keys.Action{keys.HalfDown, keys.HalfUp, keys.HalfUp}, "a", "abcdef"},
		{[]keys.Action{keys.PageDown, keys.PageDown}, "m", "mnopqr"},
		{[]keys.Action{keys.PageDown, keys.Up}, "f", "fghijk"},
		{[]keys.Action{keys.Last, keys.PageUp}, "t", "opqrst"},
		{[]keys.Action{keys.PageDown, keys.PageDown, keys.PageDown, keys.PageDown, keys.PageDown}, "z", "uvwxyz"},
	} {
		var l list[string]
		l.Settle(items)
		l.Window(items, 6)
		for _, a := range tc.actions {
			press(t, &l, items, a)
			l.Window(items, 6)
		}
		wantCursor(t, &l, tc.cursor)
		first, last := l.Window(items, 6)
		if got := strings.Join(items[first:last], ""); got != tc.view {
			t.Errorf("%v: in view %q, want %q", tc.actions, got, tc.view)
		}
	}
}

func TestListingCursorStaysOnItsItem(t *testing.T) {
	var l list[string]
	items := letters("abcdefgh")
	l.Settle(items)
	l.Window(items, 4)
	press(t, &l, items, keys.Down, keys.Down)
	items = letters("xabcdefgh")
	l.Settle(items)
	wantCursor(t, &l, "c")
	if first, _ := l.Window(items, 4); first != 0 {
		t.Errorf("first in view: got %d, want 0: what is new at the beginning is seen", first)
	}
	press(t, &l, items, keys.Down, keys.Up)
	items = letters("hgfedcbax")
	l.Settle(items)
	if first, _ := l.Window(items, 4); first != 2 {
		t.Errorf("first in view: got %d, want 2: the cursor is seen", first)
	}
	items = letters("yhgfedcba")
	l.Settle(items)
	wantCursor(t, &l, "c")
	if first, _ := l.Window(items, 4); first != 3 {
		t.Errorf("first in view: got %d, want 3: the cursor keeps its line", first)
	}
	items = letters("yhgfedba")
	l.Settle(items)
	wantCursor(t, &l, "b") // at the place of what is gone
	items = letters("")
	l.Settle(items)
	if _, ok := l.Cursor(); ok {
		t.Error("cursor of nothing: got one, want none")
	}
	if first, last := l.Window(items, 4); first != 0 || last != 0 {
		t.Errorf("window of nothing: got %d to %d, want none", first, last)
	}
	l.Settle(letters("xy"))
	wantCursor(t, &l, "x")
}

func TestListingMarks(t *testing.T) {
	var l list[string]
	items := letters("abcdefgh")
	l.Settle(items)
	wantChosen(t, &l, items, "a")
	press(t, &l, items, keys.Mark, keys.Down, keys.Mark)
	wantChosen(t, &l, items, "ac")
	press(t, &l, items, keys.Range, keys.Down, keys.Down)
	wantChosen(t, &l, items, "acdef")
	if got := l.Marks(items); got != 5 {
		t.Errorf("marks: got %d, want 5", got)
	}
	press(t, &l, items, keys.Range, keys.First, keys.Mark)
	wantChosen(t, &l, items, "cdef")
	items = letters("hgfed")
	l.Settle(items)
	wantChosen(t, &l, items, "fed")
	press(t, &l, items, keys.MarkAll)
	wantChosen(t, &l, items, "hgfed")
	press(t, &l, items, keys.MarkAll)
	if _, marked := l.Chosen(items); marked {
		t.Error("all marks again: got some, want none")
	}
}

func TestListingBackClearsOneThingAtATime(t *testing.T) {
	var l list[string]
	items := letters("abcd")
	l.Settle(items)
	l.SetFilter("x")
	press(t, &l, items, keys.Mark, keys.Range, keys.Down)
	for _, want := range []string{"a", "c"} { // the range goes, then the marks
		press(t, &l, items, keys.Back)
		wantChosen(t, &l, items, want)
	}
	press(t, &l, items, keys.Back)
	if got := l.Filter(); got != "" {
		t.Errorf("filter: got %q, want none", got)
	}
	if l.Act(items, keys.Back) {
		t.Error("back with nothing to clear: got an answer, want none")
	}
}

func TestListingRangeEndsWithItsItem(t *testing.T) {
	var l list[string]
	items := letters("abcd")
	l.Settle(items)
	press(t, &l, items, keys.Range, keys.Down)
	items = letters("bcd")
	l.Settle(items)
	wantChosen(t, &l, items, "b")
}

func TestListingFilterIsTyped(t *testing.T) {
	var l list[string]
	items := letters("abcd")
	l.Settle(items)
	press(t, &l, items, keys.Filter)
	for _, k := range []screen.Key{{Name: "a", Text: "a"}, {Name: "b", Text: "b"}, {Name: "backspace", Text: ""}, {Name: "down", Text: ""}, {Name: "space", Text: " "}} {
		if !l.Type(items, k) {
			t.Errorf("key %q: got no answer, want one", k.Name)
		}
	}
	if got := l.Filter(); got != "a " || !l.Typing() {
		t.Errorf("filter: got %q, typing %v, want %q while it is typed", got, l.Typing(), "a ")
	}
	wantCursor(t, &l, "b")
	if l.Type(items, screen.Key{Name: "f5"}) {
		t.Error("a key that types nothing: got an answer, want none")
	}
	l.Type(items, screen.Key{Name: "enter"})
	if got := l.Filter(); got != "a " || l.Typing() {
		t.Errorf("after enter: got %q, typing %v, want %q kept", got, l.Typing(), "a ")
	}
	press(t, &l, items, keys.Filter)
	l.Type(items, screen.Key{Name: "esc"})
	if got := l.Filter(); got != "" || l.Typing() {
		t.Errorf("after esc: got %q, typing %v, want none", got, l.Typing())
	}
}

func TestListingDrawsItsFilter(t *testing.T) {
	w := screentest.NewWorld(t)
	for _, tc := range []struct {
		text   string
		typing bool
		want   string
		end    int
	}{
		{"", false, "          ", 0},
		{"", true, "/▏        ", 2},
		{"abc", false, "/abc      ", 4},
		{"abc", true, "/abc▏     ", 5},
		{"abcdefghijkl", false, "/abcdefg… ", 9},
		{"abcdefghijkl", true, "/fghijkl▏ ", 9},
		{"日本語日本語", false, "/日本語…  ", 9},
	} {
		var l list[string]
		l.SetFilter(tc.text)
		l.typing = tc.typing
		c := canvas.New(10, 1)
		end := l.DrawFilter(c.View(), 0, 0, 9, w)
		if got := strings.TrimSuffix(c.Text(), "\n"); got != tc.want || end != tc.end {
			t.Errorf("filter %q, typing %v: got %q and column %d, want %q and %d", tc.text, tc.typing, got, end, tc.want, tc.end)
		}
	}
}

func TestListingOfManyMovesWithoutAllocating(t *testing.T) {
	items := make(Slice[int], 100_000)
	for i := range items {
		items[i] = i
	}
	var l list[int]
	var boxed Items[int] = items
	l.Settle(boxed)
	got := testing.AllocsPerRun(100, func() {
		l.Act(boxed, keys.PageDown)
		l.Act(boxed, keys.Down)
		l.Window(boxed, 40)
	})
	if got != 0 {
		t.Errorf("allocations: got %v, want none", got)
	}
	l.Act(boxed, keys.MarkAll)
	l.Settle(boxed)
	if got := l.Marks(boxed); got != len(items) {
		t.Errorf("marks: got %d, want %d", got, len(items))
	}
}
