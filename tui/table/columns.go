package table

import (
	"cmp"
	"math"

	"github.com/cronring/cronring/tui/canvas"
	"github.com/cronring/cronring/tui/page"
	"github.com/cronring/cronring/tui/screen"
)

// Column is one column of a table. Either Text or Draw draws its cells.
type Column[R any] struct {
	Title string
	Width int  // with the blank behind it
	From  int  // the narrowest screen that shows the column
	Rank  int  // the column with the highest rank is dropped first; 0: never
	Grow  int  // how much wider the column becomes where there is room; below 0: how much it gives others
	Fill  bool // the column takes the rest of the width
	Fit   Fit  // whether the column follows the longest of its texts in view
	Least int  // width that a Fill column has before others grow, or to which one with a Fit shrinks; 0: that of its title
	Most  int  // width at which a column with Fill or Fit stops; 0: no limit
	Right bool // text ends at the right

	Text func(w *screen.World, r *R) (string, canvas.Style)
	Draw func(f *Field, w *screen.World, r *R)

	Compare func(a, b *R) int // sorts Rows by this column; nil: they are not sorted by it
	Falls   bool              // the greatest row comes first, unless the order is reversed
}

// Hidden is the From of a column that is not shown.
const Hidden = math.MaxInt

// Fit is whether a column follows the longest of its texts in view.
type Fit int

// The ways to fit a column.
const (
	Never      Fit = iota // Width and Grow are as they are set
	IfRoom                // it becomes wider if there is room, and narrower if others need it; a Fill column stops at its longest text
	BeforeFill            // likewise, although the Fill column then has less than its Least
	Always                // it becomes wider although others then have less room
)

// Plain returns the Text of a column in the usual style.
func Plain[R any](text func(r *R) string) func(*screen.World, *R) (string, canvas.Style) {
	return func(_ *screen.World, r *R) (string, canvas.Style) { return text(r), canvas.Style{} }
}

// By returns the Compare of a column that sorts by a value of its rows.
func By[R any, V cmp.Ordered](value func(r *R) V) func(a, b *R) int {
	return func(a, b *R) int { return cmp.Compare(value(a), value(b)) }
}

// placedColumn is a column with its place on the screen.
type placedColumn[R any] struct {
	Column[R]
	x, width int
}

// fitted returns the column with the widths that its texts in view need. needed is the width of the longest
// one and of the blank behind it.
func (c Column[R]) fitted(needed int) Column[R] {
	switch {
	case c.Fill:
		c.Least, c.Most = min(needed, c.Least), max(needed, c.Least)
		return c
	case c.Most > 0:
		needed = min(needed, c.Most)
	}
	if c.Fit == Always {
		c.Width = max(needed, c.Width)
	} else {
		c.Grow = max(needed, cmp.Or(c.Least, len(c.Title)+2)) - c.Width // by default with the sign of the order
	}
	return c
}

// leastImportant returns the index of the column that is dropped next, or -1.
func leastImportant[R any](shown []placedColumn[R]) int {
	worst, rank := -1, 0
	for i := range shown {
		if shown[i].Rank > rank {
			worst, rank = i, shown[i].Rank
		}
	}
	return worst
}

// distribute adds the spare width to the columns: the Fill column gets its least
// width, the others grow from left to right, and the Fill column takes the rest.
func distribute[R any](shown []placedColumn[R], spare int) {
	fill, wanted := -1, 0
	for i := range shown {
		if shown[i].Fill {
			fill = i
		}
		wanted += max(shown[i].Grow, 0)
	}
	kept := 0
	if fill >= 0 {
		kept = max(shown[fill].Least-shown[fill].width, 0)
	}
	spare += shrink(shown, wanted-max(spare-kept, 0))
	for i := range shown {
		room := spare - kept
		if shown[i].Fit == BeforeFill {
			room = spare
		}
		more := max(min(shown[i].Grow, room), 0)
		shown[i].width += more
		spare -= more
	}
	if fill < 0 {
		return
	}
	c := &shown[fill]
	if c.width += spare; c.Most > 0 {
		c.width = min(c.width, c.Most)
	}
}

// shrink takes cells, as far as they are needed, from columns that have more than their texts
// need. It returns how many.
func shrink[R any](shown []placedColumn[R], needed int) (taken int) {
	for i := range shown {
		less := max(min(-shown[i].Grow, needed-taken), 0)
		shown[i].width -= less
		taken += less
	}
	return taken
}

// length returns the width of the text of a row.
func (c *Column[R]) length(w *screen.World, r *R, f *Field) int {
	if c.Draw == nil {
		text, _ := c.Text(w, r)
		return page.Width(text)
	}
	f.view, f.x = canvas.Ruler(), 0
	c.Draw(f, w, r)
	return f.x
}

// drawCell draws the cell of a row. The field is for columns that draw several
// texts into one cell.
func (p *placedColumn[R]) drawCell(row canvas.View, w *screen.World, r *R, f *Field) {
	if p.Draw == nil {
		text, style := p.Text(w, r)
		p.put(row, text, style, w.Glyphs.Ellipsis)
		return
	}
	f.view, f.x, f.ellipsis = row.In(p.x, 0, p.width-1, 1), 0, w.Glyphs.Ellipsis
	p.Draw(f, w, r)
	f.End()
}

func (p *placedColumn[R]) put(row canvas.View, text string, style canvas.Style, ellipsis string) {
	x, width := p.x, min(p.width-1, row.Width()-p.x)
	if p.Right {
		n := min(page.Width(text), width)
		x, width = x+width-n, n
	}
	row.PutCut(x, 0, width, text, ellipsis, style)
}

// Field is a cell that text is written into piece by piece. ASCII text costs no
// allocation.
type Field struct {
	view     canvas.View
	x        int
	ellipsis string
	number   [24]byte
}

// NewField returns a field for a view of one line.
func NewField(v canvas.View, ellipsis string) *Field { return &Field{view: v, ellipsis: ellipsis} }

// Put appends text, Bytes the ASCII text in a buffer that the caller reuses.
func (f *Field) Put(text string, s canvas.Style)   { f.x = f.view.Put(f.x, 0, text, s) }
func (f *Field) Bytes(text []byte, s canvas.Style) { f.x = f.view.PutBytes(f.x, 0, text, s) }

// Buffer returns an empty buffer for Bytes.
func (f *Field) Buffer() []byte { return f.number[:0] }

// Width returns the width of the whole field.
func (f *Field) Width() int { return f.view.Width() }

// View returns the cells of the field, for what is not text.
func (f *Field) View() canvas.View { return f.view }

// Reserve calls draw with a field that ends before the last n cells; the next text
// follows directly behind what draw has written.
func (f *Field) Reserve(n int, draw func()) {
	whole := f.view
	f.view = whole.In(0, 0, whole.Width()-n, 1)
	draw()
	f.End()
	f.x, f.view = min(f.x, f.view.Width()), whole
}

// End marks text that did not fit.
func (f *Field) End() {
	if width := f.view.Width(); f.x > width && width > 0 {
		f.view.Put(width-1, 0, f.ellipsis, canvas.Style{})
	}
}
