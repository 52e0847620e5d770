package main

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// wide holds the ranges that terminals draw in two cells (Unicode's East Asian
// Width W and F, and emoji).
var wide = &unicode.RangeTable{
	R16: []unicode.Range16{
		{0x1100, 0x115f, 1}, {0x2e80, 0x303e, 1}, {0x3041, 0xa4cf, 1}, {0xac00, 0xd7a3, 1},
		{0xf900, 0xfaff, 1}, {0xfe30, 0xfe6f, 1}, {0xff00, 0xff60, 1}, {0xffe0, 0xffe6, 1},
	},
	R32: []unicode.Range32{{0x1f300, 0x1f64f, 1}, {0x1f680, 0x1f6ff, 1}, {0x1f900, 0x1f9ff, 1}, {0x20000, 0x3fffd, 1}},
}

func runeCells(r rune) int {
	switch {
	case r < 0x300:
		return 1
	case unicode.In(r, unicode.Mn, unicode.Me):
		return 0
	case unicode.Is(wide, r):
		return 2
	}
	return 1
}

// cells counts the cells that cleaned text takes on a terminal.
func cells(s string) int {
	n := 0
	for _, r := range s {
		n += runeCells(r)
	}
	return n
}

// cutCells shortens text to room cells, with an ellipsis for what is missing.
func cutCells(s string, room int) string {
	if len(s) <= room || cells(s) <= room {
		return s
	}
	n := 0
	for i, r := range s {
		if n += runeCells(r); n > room-1 {
			return s[:i] + "…"
		}
	}
	return s[:utf8.RuneLen('…')]
}

// padded fills text up with blanks to width cells.
func padded(s string, width int) string { return s + strings.Repeat(" ", max(width-cells(s), 0)) }
