package canvas

import "strconv"

// AppendChanges appends the output that changes a terminal from showing old to
// showing another canvas of the same size. If old is nil or has another size, it
// clears the terminal first.
//
// Terminals disagree about the width of some graphemes. After each such grapheme the
// column is set explicitly, so that nothing to the right of an untrusted name moves.
func (c *Canvas) AppendChanges(b []byte, old *Canvas, p Palette) []byte {
	all := old == nil || old.width != c.width || old.height != c.height
	if all {
		b = append(b, "\x1b[0m\x1b[H\x1b[2J"...)
	}
	w := writer{b: b, palette: p}
	for y := range c.height {
		row := c.cells[y*c.width : (y+1)*c.width]
		var before []cell
		if !all {
			before = old.cells[y*c.width : (y+1)*c.width]
		}
		w.row(y, row, before)
	}
	return appendChange(w.b, w.palette, w.style, Style{})
}

// Copy makes the canvas what another one is.
func (c *Canvas) Copy(from *Canvas) {
	c.width, c.height = from.width, from.height
	c.cells = append(c.cells[:0], from.cells...)
}

// writer writes cells, and tracks the cursor of the terminal.
type writer struct {
	b       []byte
	palette Palette
	style   Style
	x, y    int  // of the cursor
	known   bool // x and y are
}

// row writes the cells of a line that are not as before. Of a cleared line, before
// is nil.
func (w *writer) row(y int, row, before []cell) {
	for x := 0; x < len(row); x++ {
		if row[x].text == "" { // written with its first half
			continue
		}
		last := x
		for last+1 < len(row) && row[last+1].text == "" {
			last++
		}
		if same(row[x:last+1], before, x) {
			continue
		}
		w.to(x, y)
		w.put(row[x], last+1-x)
		x = last
	}
}

// same reports whether cells are as before.
func same(cells, before []cell, x int) bool {
	for i, c := range cells {
		if before == nil && c != (cell{text: " "}) || before != nil && c != before[x+i] {
			return false
		}
	}
	return true
}

// to moves the cursor.
func (w *writer) to(x, y int) {
	if w.known && w.x == x && w.y == y {
		return
	}
	w.b = append(w.b, "\x1b["...)
	if w.known && w.y == y {
		w.b = strconv.AppendInt(w.b, int64(x+1), 10)
		w.b = append(w.b, 'G')
	} else {
		w.b = strconv.AppendInt(w.b, int64(y+1), 10)
		w.b = append(w.b, ';')
		w.b = strconv.AppendInt(w.b, int64(x+1), 10)
		w.b = append(w.b, 'H')
	}
	w.x, w.y, w.known = x, y, true
}

func (w *writer) put(c cell, width int) {
	if c.style != w.style {
		w.b = appendChange(w.b, w.palette, w.style, c.style)
		w.style = c.style
	}
	w.b = append(w.b, c.text...)
	w.x += width
	if !plainWidth(c.text) {
		w.known = false
	}
}

// plainWidth reports whether every terminal draws a text in one cell: ASCII, Latin,
// and the lines and blocks of the dashboard.
func plainWidth(text string) bool {
	switch {
	case len(text) == 1:
		return true
	case len(text) == 2:
		return text[0] < 0xcc // before the combining ones
	case len(text) == 3:
		return text[0] == 0xe2 && (text[1] == 0x94 || text[1] == 0x95 || text[1] == 0x96) // U+2500 to U+25BF
	}
	return false
}
