package table

import (
	"strings"
	"testing"

	"github.com/cronring/cronring/tui/canvas"
	"github.com/cronring/cronring/tui/keys"
	"github.com/cronring/cronring/tui/screen"
	"github.com/cronring/cronring/tui/screen/screentest"
)

// Slice is a slice as the source of a table whose rows are their keys.
type Slice[K comparable] []K

// Len returns the number of rows, At the identity of one.
func (s Slice[K]) Len() int   { return len(s) }
func (s Slice[K]) At(i int) K { return s[i] }

// Row returns the row at an index, and Filter does nothing.
func (s Slice[K]) Row(i int) *K  { return &s[i] }
func (s Slice[K]) Filter(string) {}

// settle has a table list other items.
func settle[K comparable](l *Table[K, K], items Slice[K]) {
	l.Source = items
	l.Settle()
}

// Has reports whether there is a row.
func (s Slice[K]) Has(k K) bool { return s.Place(k) >= 0 }

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
func press(t *testing.T, l *Table[string, string], actions ...keys.Action) {
	t.Helper()
	for _, a := range actions {
		if !l.Move(a) {
			t.Fatalf("%s: got no answer, want one", a)
		}
	}
}

func wantCursor(t *testing.T, l *Table[string, string], want string) {
	t.Helper()
	if got, _ := l.Cursor(); got != want {
		t.Errorf("cursor: got %q, want %q", got, want)
	}
}

func wantChosen(t *testing.T, l *Table[string, string], want string) {
	t.Helper()
	chosen, _ := l.Chosen()
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
		var l Table[string, string]
		settle(&l, items)
		l.Window(6)
		for _, a := range tc.actions {
			press(t, &l, a)
			l.Window(6)
		}
		wantCursor(t, &l, tc.cursor)
		first, last := l.Window(6)
		if got := strings.Join(items[first:last], ""); got != tc.view {
			t.Errorf("%v: in view %q, want %q", tc.actions, got, tc.view)
		}
	}
}

func TestListingCursorStaysOnItsItem(t *testing.T) {
	var l Table[string, string]
	items := letters("abcdefgh")
	settle(&l, items)
	l.Window(4)
	press(t, &l, keys.Down, keys.Down)
	items = letters("xabcdefgh")
	settle(&l, items)
	wantCursor(t, &l, "c")
	if first, _ := l.Window(4); first != 0 {
		t.Errorf("first in view: got %d, want 0: what is new at the beginning is seen", first)
	}
	press(t, &l, keys.Down, keys.Up)
	items = letters("hgfedcbax")
	settle(&l, items)
	if first, _ := l.Window(4); first != 2 {
		t.Errorf("first in view: got %d, want 2: the cursor is seen", first)
	}
	items = letters("yhgfedcba")
	settle(&l, items)
	wantCursor(t, &l, "c")
	if first, _ := l.Window(4); first != 3 {
		t.Errorf("first in view: got %d, want 3: the cursor keeps its line", first)
	}
	items = letters("yhgfedba")
	settle(&l, items)
	wantCursor(t, &l, "b") // at the place of what is gone
	items = letters("")
	settle(&l, items)
	if _, ok := l.Cursor(); ok {
		t.Error("cursor of nothing: got one, want none")
	}
	if first, last := l.Window(4); first != 0 || last != 0 {
		t.Errorf("window of nothing: got %d to %d, want none", first, last)
	}
	settle(&l, letters("xy"))
	wantCursor(t, &l, "x")
}

func TestListingMarks(t *testing.T) {
	var l Table[string, string]
	items := letters("abcdefgh")
	settle(&l, items)
	wantChosen(t, &l, "a")
	press(t, &l, keys.Mark, keys.Down, keys.Mark)
	wantChosen(t, &l, "ac")
	press(t, &l, keys.Range, keys.Down, keys.Down)
	wantChosen(t, &l, "acdef")
	if got := l.Marks(); got != 5 {
		t.Errorf("marks: got %d, want 5", got)
	}
	press(t, &l, keys.Range, keys.First, keys.Mark)
	wantChosen(t, &l, "cdef")
	items = letters("hgfed")
	settle(&l, items)
	wantChosen(t, &l, "fed")
	press(t, &l, keys.MarkAll)
	wantChosen(t, &l, "hgfed")
	press(t, &l, keys.MarkAll)
	if _, marked := l.Chosen(); marked {
		t.Error("all marks again: got some, want none")
	}
}

func TestListingBackClearsOneThingAtATime(t *testing.T) {
	var l Table[string, string]
	items := letters("abcd")
	settle(&l, items)
	l.SetFilter("x")
	press(t, &l, keys.Mark, keys.Range, keys.Down)
	for _, want := range []string{"a", "c"} { // the range goes, then the marks
		press(t, &l, keys.Back)
		wantChosen(t, &l, want)
	}
	press(t, &l, keys.Back)
	if got := l.Filter(); got != "" {
		t.Errorf("filter: got %q, want none", got)
	}
	if l.Move(keys.Back) {
		t.Error("back with nothing to clear: got an answer, want none")
	}
}

func TestListingRangeEndsWithItsItem(t *testing.T) {
	var l Table[string, string]
	items := letters("abcd")
	settle(&l, items)
	press(t, &l, keys.Range, keys.Down)
	items = letters("bcd")
	settle(&l, items)
	wantChosen(t, &l, "b")
}

func TestListingFilterIsTyped(t *testing.T) {
	var l Table[string, string]
	items := letters("abcd")
	settle(&l, items)
	press(t, &l, keys.Filter)
	for _, k := range []screen.Key{{Name: "a", Text: "a"}, {Name: "b", Text: "b"}, {Name: "backspace", Text: ""}, {Name: "down", Text: ""}, {Name: "space", Text: " "}} {
		if !l.typed(k) {
			t.Errorf("key %q: got no answer, want one", k.Name)
		}
	}
	if got := l.Filter(); got != "a " || !l.Typing() {
		t.Errorf("filter: got %q, typing %v, want %q while it is typed", got, l.Typing(), "a ")
	}
	wantCursor(t, &l, "b")
	if l.typed(screen.Key{Name: "f5"}) {
		t.Error("a key that types nothing: got an answer, want none")
	}
	l.typed(screen.Key{Name: "enter"})
	if got := l.Filter(); got != "a " || l.Typing() {
		t.Errorf("after enter: got %q, typing %v, want %q kept", got, l.Typing(), "a ")
	}
	press(t, &l, keys.Filter)
	l.typed(screen.Key{Name: "esc"})
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
		var l Table[string, string]
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
	var l Table[int, int]
	settle(&l, items)
	got := testing.AllocsPerRun(100, func() {
		l.Move(keys.PageDown)
		l.Move(keys.Down)
		l.Window(40)
	})
	if got != 0 {
		t.Errorf("allocations: got %v, want none", got)
	}
	l.Move(keys.MarkAll)
	settle(&l, items)
	if got := l.Marks(); got != len(items) {
		t.Errorf("marks: got %d, want %d", got, len(items))
	}
}
