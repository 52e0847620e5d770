// Package canvas owns the character cells of the terminal, into which the dashboard draws text inside
// rectangles, and which are written out as one frame or as plain text.
package canvas

import (
	"math"
	"strings"

	"github.com/clipperhouse/displaywidth"

	"github.com/cronring/cronring/daemon/display"
)

// cell is one position on the screen. A grapheme that is two cells wide is in the
// first; the text of the second is empty.
type cell struct {
	text  string
	style Style
}

// Canvas is a grid of cells. The zero value has no cells; Resize adds them.
type Canvas struct {
	width, height int
	cells         []cell
}

// New makes an empty canvas.
func New(width, height int) *Canvas {
	c := new(Canvas)
	c.Resize(width, height)
	return c
}

// Resize changes the size and clears the canvas.
func (c *Canvas) Resize(width, height int) {
	c.width, c.height = max(width, 0), max(height, 0)
	if n := c.width * c.height; cap(c.cells) >= n {
		c.cells = c.cells[:n]
	} else {
		c.cells = make([]cell, n)
	}
	c.Clear()
}

// Clear blanks all cells.
func (c *Canvas) Clear() {
	for i := range c.cells {
		c.cells[i] = cell{text: " "}
	}
}

// View is the whole canvas to draw on.
func (c *Canvas) View() View { return View{canvas: c, width: c.width, height: c.height} }

// Palette converts a style into the sequence that sets it after a reset, or into
// nothing.
type Palette interface{ Sequence(Style) string }

func appendChange(b []byte, p Palette, from, to Style) []byte {
	old, sequence := p.Sequence(from), p.Sequence(to)
	if old == sequence {
		return b
	}
	if old != "" {
		b = append(b, "\x1b[0m"...)
	}
	return append(b, sequence...)
}

// Text returns the canvas without styles. Its lines keep trailing blanks.
func (c *Canvas) Text() string {
	var b strings.Builder
	for y := range c.height {
		for _, cell := range c.cells[y*c.width : (y+1)*c.width] {
			b.WriteString(cell.text)
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// View is a rectangle of a canvas. Places are counted from its own corner, and
// what does not fit in is left out.
type View struct {
	canvas        *Canvas
	x, y          int
	width, height int
}

// Ruler returns a view without lines that measures texts: Put and PutBytes draw nothing, and return where
// a text ends.
func Ruler() View { return View{width: math.MaxInt32} }

// Width and Height are in cells.
func (v View) Width() int  { return v.width }
func (v View) Height() int { return v.height }

// In is a part of the view, cut at its borders.
func (v View) In(x, y, width, height int) View {
	left, top := min(max(x, 0), v.width), min(max(y, 0), v.height)
	right, bottom := min(x+width, v.width), min(y+height, v.height)
	return View{v.canvas, v.x + left, v.y + top, max(right-left, 0), max(bottom-top, 0)}
}

// Locate returns where a cell of the canvas is in the view, and whether it is inside.
func (v View) Locate(x, y int) (dx, dy int, inside bool) {
	dx, dy = x-v.x, y-v.y
	return dx, dy, dx >= 0 && dx < v.width && dy >= 0 && dy < v.height
}

// Row is one line of the view.
func (v View) Row(y int) View { return v.In(0, y, v.width, 1) }

// Below is the view without its first n lines, Above the first n alone.
func (v View) Below(n int) View { return v.In(0, n, v.width, v.height-n) }
func (v View) Above(n int) View { return v.In(0, 0, v.width, n) }

// Fill sets every cell to one text of one cell.
func (v View) Fill(text string, s Style) {
	for y := range v.height {
		for x := range v.width {
			v.set(x, y, text, s)
		}
	}
}

// Restyle changes the style of cells that are drawn already: a cursor line.
func (v View) Restyle(change func(Style) Style) {
	for y := range v.height {
		row := v.canvas.cells[(v.y+y)*v.canvas.width+v.x:][:v.width]
		for x := range row {
			row[x].style = change(row[x].style)
		}
	}
}

// Put draws text, which can be untrusted, and returns the column after it. It omits
// what is beyond the right border.
func (v View) Put(x, y int, text string, s Style) int {
	if y < 0 || y >= v.height {
		return x + display.Width(display.Text(text))
	}
	if IsASCII(text) {
		for i := range len(text) {
			v.set(x+i, y, text[i:i+1], s)
		}
		return x + len(text)
	}
	text = display.Text(text)
	for g := displaywidth.StringGraphemes(text); g.Next(); {
		n := g.Width()
		if n == 0 {
			continue
		}
		if x+n > v.width {
			return x + n
		}
		text := g.Value()
		if x < 0 {
			text = " " // half of it is outside
		}
		v.set(x, y, text, s)
		for i := 1; i < n; i++ {
			if text != " " {
				text = ""
			}
			v.set(x+i, y, text, s)
		}
		x += n
	}
	return x
}

// PutRight draws text that ends at the right border, and returns the column before
// it.
func (v View) PutRight(y int, text string, s Style) int {
	x := v.width - display.Width(text)
	v.Put(x, y, text, s)
	return x - 1
}

// PutCut draws text in a field of a width, with an ellipsis for what is missing.
func (v View) PutCut(x, y, width int, text, ellipsis string, s Style) {
	field := v.In(x, y, width, 1)
	switch {
	case !IsASCII(text):
		field.Put(0, 0, displaywidth.TruncateString(display.Text(text), width, ellipsis), s)
	case len(text) > width && width > 0:
		field.Put(width-1, 0, ellipsis, s)
		text = text[:width-1]
		fallthrough
	default:
		field.Put(0, 0, text, s)
	}
}

// PutBytes draws ASCII text, and keeps nothing of it: a number that is made in a
// buffer is drawn without allocating.
func (v View) PutBytes(x, y int, text []byte, s Style) int {
	for i, c := range text {
		if c < ' ' || c > '~' {
			c = '?'
		}
		v.set(x+i, y, printable[c-' ':][:1], s)
	}
	return x + len(text)
}

const printable = " !\"#$%&'()*+,-./0123456789:;<=>?@ABCDEFGHIJKLMNOPQRSTUVWXYZ[\\]^_`abcdefghijklmnopqrstuvwxyz{|}~"

func (v View) set(x, y int, text string, s Style) {
	if x < 0 || x >= v.width || y < 0 || y >= v.height {
		return
	}
	row := v.canvas.cells[(v.y+y)*v.canvas.width:][:v.canvas.width]
	x += v.x
	if text != "" && row[x].text == "" && x > 0 { // clear the other half of what was here
		row[x-1].text = " "
	}
	if x+1 < len(row) && row[x+1].text == "" {
		row[x+1].text = " "
	}
	row[x] = cell{text, s}
}

// IsASCII reports whether a text consists of printable ASCII, each a cell.
func IsASCII(s string) bool {
	for i := range len(s) {
		if s[i] < ' ' || s[i] > '~' {
			return false
		}
	}
	return true
}
