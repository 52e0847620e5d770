package table

import (
	"fmt"
	"strings"
	"testing"

	"github.com/cronring/cronring/tui/canvas"
	"github.com/cronring/cronring/tui/keys"
	"github.com/cronring/cronring/tui/screen"
)

// fruitTable is a table of names; each name is its own key.
func fruitTable(columns ...Column[string]) (*Table[string, string], *Rows[string, string]) {
	rows := &Rows[string, string]{Key: func(s *string) string { return *s }, Words: func(s *string) string { return *s }}
	rows.Set([]string{"apple", "banana", "cherry", "date"})
	t := &Table[string, string]{Source: rows, Columns: columns, Left: 1, MarkAt: 0}
	t.Settle()
	return t, rows
}

func TestTableColumnsFitTheWidth(t *testing.T) {
	table, _ := fruitTable(
		Column[string]{Title: "A", Width: 10},
		Column[string]{Title: "B", Width: 8, Rank: 1, Grow: 5},
		Column[string]{Title: "C", Width: 6, Rank: 2, From: 30},
		Column[string]{Title: "D", Fill: true, Least: 12, Most: 20},
	)
	for _, tc := range []struct {
		width int
		want  string
	}{
		{11, "A 1+10 D 11+0"},
		{20, "A 1+10 B 11+8 D 19+1"},
		{29, "A 1+10 B 11+8 D 19+10"},
		{30, "A 1+10 B 11+8 C 19+6 D 25+5"},
		{38, "A 1+10 B 11+9 C 20+6 D 26+12"},
		{50, "A 1+10 B 11+13 C 24+6 D 30+20"},
		{99, "A 1+10 B 11+13 C 24+6 D 30+20"},
	} {
		var got []string
		table.Place(nil, tc.width, tc.width)
		for _, p := range table.placed {
			got = append(got, fmt.Sprintf("%s %d+%d", p.Title, p.x, p.width))
		}
		if got := strings.Join(got, " "); got != tc.want {
			t.Errorf("width %d: got %s, want %s", tc.width, got, tc.want)
		}
	}
}

// A column whose texts are shorter than its width leaves cells to others, but only as many as they need.
func TestTableColumnsLeaveWhatTheyDoNotNeed(t *testing.T) {
	table, _ := fruitTable(Column[string]{Width: 18, Grow: -4}, Column[string]{Width: 14, Grow: -2}, Column[string]{Width: 6, Grow: 5}, Column[string]{Width: 6})
	for width, want := range map[int]string{45: "14 13 11 6", 47: "15 14 11 6", 50: "18 14 11 6", 61: "18 14 11 6"} {
		var got []string
		table.Place(nil, width, width)
		for _, p := range table.placed {
			got = append(got, fmt.Sprint(p.width))
		}
		if got := strings.Join(got, " "); got != want {
			t.Errorf("width %d: got %s, want %s", width, got, want)
		}
	}
}

// The longest of the texts has six cells; with the blank behind it a column needs seven.
func TestTableColumnsFollowTheirTexts(t *testing.T) {
	text := func(_ *screen.World, s *string) (string, canvas.Style) { return *s, canvas.Style{} }
	draw := func(f *Field, _ *screen.World, s *string) {
		if f.Reserve(1, func() { f.Put((*s)[:1], canvas.Style{}) }); f.Width() > 3 {
			f.Bytes([]byte((*s)[1:]), canvas.Style{})
		}
	}
	for name, tc := range map[string]struct {
		column Column[string]
		want   string // widths of the column where the room is 4, 7 and 20
	}{
		"fixed":                  {Column[string]{Width: 4, Text: text}, "4 4 4"},
		"if there is room":       {Column[string]{Width: 4, Fit: IfRoom, Text: text}, "4 7 7"},
		"narrower":               {Column[string]{Width: 12, Fit: IfRoom, Text: text}, "7 7 7"},
		"narrower, with limit":   {Column[string]{Width: 12, Fit: IfRoom, Least: 9, Text: text}, "9 9 9"},
		"narrower, with title":   {Column[string]{Title: "FRUITS", Width: 12, Fit: IfRoom, Text: text}, "8 8 8"},
		"not as wide":            {Column[string]{Width: 4, Fit: IfRoom, Most: 6, Text: text}, "4 6 6"},
		"always":                 {Column[string]{Width: 4, Fit: Always, Text: text}, "7 7 7"},
		"always, to a limit":     {Column[string]{Width: 4, Fit: Always, Most: 6, Text: text}, "6 6 6"},
		"always wide enough":     {Column[string]{Width: 9, Fit: Always, Text: text}, "9 9 9"},
		"drawn":                  {Column[string]{Width: 4, Fit: Always, Draw: draw}, "7 7 7"},
		"the rest":               {Column[string]{Fill: true, Fit: IfRoom, Text: text}, "4 7 7"},
		"the rest, with a least": {Column[string]{Fill: true, Fit: IfRoom, Least: 15, Text: text}, "4 7 15"},
	} {
		var got []string
		other := Column[string]{Width: 5, Grow: 20}
		if tc.column.Fill {
			other.Grow = 0
		}
		for _, room := range []int{4, 7, 20} {
			table, _ := fruitTable(tc.column, other)
			table.Place(nil, room+6, room+6)
			got = append(got, fmt.Sprint(table.placed[0].width))
		}
		if got := strings.Join(got, " "); got != tc.want {
			t.Errorf("%s: got widths %s, want %s", name, got, tc.want)
		}
	}
}

// The longest name needs seven cells. The Fill column has its own width and what is left.
func TestTableColumnGrowsBeforeTheFillColumn(t *testing.T) {
	text := func(_ *screen.World, s *string) (string, canvas.Style) { return *s, canvas.Style{} }
	for fit, want := range map[Fit]string{IfRoom: "4 13", BeforeFill: "7 10"} {
		table, _ := fruitTable(Column[string]{Title: "A", Width: 4, Fit: fit, Text: text}, Column[string]{Title: "B", Width: 8, Fill: true, Least: 14})
		table.Place(nil, 18, 18)
		if got := fmt.Sprint(table.placed[0].width, table.placed[1].width); got != want {
			t.Errorf("fit %d: widths %s, want %s", fit, got, want)
		}
	}
}

func TestTableDrawsTitlesCellsMarksAndCursor(t *testing.T) {
	table, _ := fruitTable(
		Column[string]{Title: "NAME", Width: 6, Text: func(_ *screen.World, s *string) (string, canvas.Style) { return *s, canvas.Style{} }},
		Column[string]{Title: "LONG", Width: 5, Right: true, Text: func(_ *screen.World, s *string) (string, canvas.Style) { return fmt.Sprint(len(*s)), canvas.Style{} }},
		Column[string]{Title: "TWICE", Fill: true, Draw: func(f *Field, _ *screen.World, s *string) {
			f.Put(*s, canvas.Style{})
			f.Put(*s, canvas.Style{})
		}},
	)
	w := &screen.World{Glyphs: canvas.GlyphsOf(canvas.ASCII)}
	table.Move(keys.Mark) // and the cursor moves to banana
	c := canvas.New(22, 4)
	table.Draw(c.View(), w)
	want := " NAME  LONG TWICE     \n*apple    5 appleapp~ \n>bana~    6 bananaba~ \n cher~    6 cherrych~ \n"
	if got := c.Text(); got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
	if lines := strings.Split(c.Mask(), "\n"); strings.Trim(lines[2], "0") != "" || strings.Contains(lines[1], "0") {
		t.Errorf("reversed:\n%s\nwant the third line alone", c.Mask())
	}
}

func TestTableSortsByItsColumns(t *testing.T) {
	table, rows := fruitTable(
		Column[string]{Title: "NAME", Compare: By(func(s *string) string { return *s })}, Column[string]{Title: "FIXED"},
		Column[string]{Title: "LONG", Compare: By(func(s *string) int { return len(*s) }), Falls: true},
	)
	table.Select("cherry")
	check := func(did, want string) {
		t.Helper()
		var all []string
		for i := range rows.Len() {
			all = append(all, rows.At(i))
		}
		if got := strings.Join(all, " "); got != want || *table.Current() != "cherry" {
			t.Errorf("%s: got %s with the cursor on %s, want %s and cherry", did, got, *table.Current(), want)
		}
	}
	check("at first", "apple banana cherry date")
	table.Move(keys.Sort)
	table.Move(keys.Reverse)
	check("by name, reversed", "date cherry banana apple")
	table.Move(keys.Sort)
	check("by length", "banana cherry apple date") // not as they were sorted by name
	table.SetRows([]string{"fig", "cherry", "date", "kiwi"})
	check("other rows", "cherry date kiwi fig")
	table.Move(keys.Sort)
	check("by the first column again", "cherry date fig kiwi")
	if got := strings.Join(rows.All(), " "); got != "fig cherry date kiwi" {
		t.Errorf("the rows that were set are now %s", got)
	}
	plain, _ := fruitTable(Column[string]{Title: "FIXED"})
	if plain.Move(keys.Sort) || plain.Move(keys.Reverse) {
		t.Error("a table without a Compare can be sorted")
	}
	table.Source = struct{ Source[string, string] }{rows}
	if table.Move(keys.Sort) || table.Sorted != "NAME" {
		t.Errorf("another source than Rows is sorted by %s", table.Sorted)
	}
}

func TestTableIsNotSortedByHiddenColumns(t *testing.T) {
	name := By(func(s *string) string { return *s })
	table, _ := fruitTable(Column[string]{Title: "A", Width: 10, Compare: name}, Column[string]{Title: "B", Width: 10, Rank: 1, Compare: name})
	for _, step := range []struct {
		width int
		want  string
	}{{30, "A"}, {30, "B"}, {15, "A"}, {15, "A"}, {30, "B"}} {
		table.Place(nil, step.width, step.width)
		if table.Move(keys.Sort); table.Sorted != step.want || table.Falls {
			t.Errorf("width %d: sorted by %s, reversed: %t; want %s, not reversed", step.width, table.Sorted, table.Falls, step.want)
		}
	}
}

func TestTableFilterHidesRows(t *testing.T) {
	for _, toFirst := range []bool{false, true} {
		table, rows := fruitTable()
		table.ToFirst = toFirst
		table.Select("cherry")
		table.Move(keys.Filter)
		for _, letter := range []string{"A", "N"} {
			table.Type(nil, screen.Key{Name: letter, Text: letter})
		}
		if rows.Len() != 1 || *table.Current() != "banana" {
			t.Fatalf("filter AN: %d rows, cursor on %v, want banana alone", rows.Len(), table.Current())
		}
		rows.Set([]string{"mango", "apple", "orange", "banana"})
		table.Settle()
		if got := rows.At(0) + " " + rows.At(1) + " " + rows.At(2); rows.Len() != 3 || got != "mango orange banana" || *table.Current() != "banana" {
			t.Errorf("other rows: got %s with the cursor on %s, want mango orange banana and banana", got, *table.Current())
		}
		table.Type(nil, screen.Key{Name: "G", Text: "G"})
		want := map[bool]string{false: "orange", true: "mango"}[toFirst] // banana was the third row, and the second is the last now
		if *table.Current() != want {
			t.Errorf("to the first %v: cursor on %s, want %s", toFirst, *table.Current(), want)
		}
		table.Type(nil, screen.Key{Name: "esc"})
		if rows.Len() != 4 || table.Filter() != "" {
			t.Errorf("after esc: %d rows and filter %q, want all 4", rows.Len(), table.Filter())
		}
	}
}

// A marked row that a filter hides is not chosen, and has its mark again when it is shown. A removed row has not.
func TestTableKeepsTheMarksOfHiddenRows(t *testing.T) {
	table, rows := fruitTable()
	want := func(marked string) {
		t.Helper()
		chosen, is := table.Chosen()
		if got := strings.Join(chosen, " "); got != marked || table.Marks() != len(strings.Fields(marked)) || !is {
			t.Errorf("marked: got %q, %d, %t, want %q", got, table.Marks(), is, marked)
		}
	}
	table.Move(keys.Mark)
	table.Move(keys.Mark)
	want("apple banana")
	table.SetFilter("")
	table.Move(keys.Filter)
	table.Type(nil, screen.Key{Name: "n", Text: "n"})
	want("banana")
	table.Type(nil, screen.Key{Name: "x", Text: "x"})
	if _, is := table.Chosen(); is {
		t.Error("a row is chosen although none is shown")
	}
	rows.Set([]string{"apple", "cherry", "date"})
	table.Settle()
	table.Type(nil, screen.Key{Name: "esc"})
	want("apple")
	rows.Set([]string{"apple", "banana"})
	table.Settle()
	want("apple")
}

func TestTableSelectsAClickedLine(t *testing.T) {
	table, _ := fruitTable()
	c := canvas.New(10, 2)
	table.DrawRows(c.View(), &screen.World{Glyphs: canvas.GlyphsOf(canvas.ASCII)})
	for _, tc := range []struct {
		y         int
		ok, again bool
		cursor    string
	}{{1, true, false, "banana"}, {1, true, true, "banana"}, {2, false, false, "banana"}, {-1, false, false, "banana"}} {
		ok, again := table.SelectLine(tc.y)
		if got, _ := table.Cursor(); ok != tc.ok || again != tc.again || got != tc.cursor {
			t.Errorf("line %d: got %v %v %s, want %v %v %s", tc.y, ok, again, got, tc.ok, tc.again, tc.cursor)
		}
	}
}
