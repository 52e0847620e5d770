package edit

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/clipperhouse/displaywidth"

	"github.com/cronring/cronring/daemon/display"
)

// tabStop is the distance between tab stops.
const tabStop = 8

// cluster is what a user sees as one character.
type cluster struct {
	size  int    // bytes of the text
	shown string // what stands for it on the screen
	width int    // cells of that
}

// first returns the cluster at the beginning of text, which must not be empty, in a
// column.
func first(text string, column int) cluster {
	if text[0] == '\t' {
		width := tabStop - column%tabStop
		return cluster{1, strings.Repeat(" ", width), width}
	}
	if ' ' <= text[0] && text[0] < 0x7f && (len(text) == 1 || text[1] < utf8.RuneSelf) {
		return cluster{1, text[:1], 1}
	}
	g := displaywidth.StringGraphemes(text)
	g.Next()
	c := cluster{size: len(g.Value()), shown: display.Text(g.Value())}
	if c.width = display.Width(c.shown); c.width == 0 {
		c.shown = escaped(g.Value()) // a combining mark without a base
		c.width = len(c.shown)
	}
	return c
}

func escaped(text string) string {
	var b strings.Builder
	for _, r := range text {
		fmt.Fprintf(&b, `\u%04x`, r)
	}
	return b.String()
}

// width returns the cells of text that begins in column 0.
func width(text string) int {
	column := 0
	for text != "" {
		c := first(text, column)
		column += c.width
		text = text[c.size:]
	}
	return column
}

// before returns the beginning of the cluster that ends at byte at, or 0.
func before(text string, at int) int {
	begin, column := 0, 0
	for next := 0; next < at; {
		begin = next
		c := first(text[next:], column)
		column += c.width
		next += c.size
	}
	return begin
}

// after returns the end of the cluster that begins at byte at, or the end of the
// text.
func after(text string, at int) int {
	if at >= len(text) {
		return len(text)
	}
	return at + first(text[at:], 0).size
}

// atColumn is the byte where the cluster begins that covers a column, or the
// text's end.
func atColumn(text string, column int) int {
	begin, reached := 0, 0
	for begin < len(text) {
		c := first(text[begin:], reached)
		if reached+c.width > column {
			break
		}
		reached += c.width
		begin += c.size
	}
	return begin
}

// CellOf returns the cell in which a byte of text is drawn.
func CellOf(text string, at int) int { return width(text[:min(max(at, 0), len(text))]) }

// Shown is the part of text from column left on that fits into room cells, fit
// for a terminal. A wide character that is cut leaves blanks.
func Shown(text string, left, room int) string {
	var b strings.Builder
	column := 0
	for text != "" && column < left+room {
		c := first(text, column)
		end := column + c.width
		switch {
		case end <= left:
		case column < left:
			b.WriteString(strings.Repeat(" ", min(end-left, room)))
		case end <= left+room:
			b.WriteString(c.shown)
		}
		column = end
		text = text[c.size:]
	}
	return b.String()
}

// wordBefore returns the beginning of the word that ends at or before byte at.
func wordBefore(text string, at int) int {
	word, inside := 0, false
	for next := 0; next < at; next = after(text, next) {
		if now := inWord(text, next); now != inside {
			inside = now
			if now {
				word = next
			}
		}
	}
	return word
}

// wordAfter returns the end of the word that begins at or after byte at.
func wordAfter(text string, at int) int {
	for at < len(text) && !inWord(text, at) {
		at = after(text, at)
	}
	for at < len(text) && inWord(text, at) {
		at = after(text, at)
	}
	return at
}

func inWord(text string, at int) bool {
	r, _ := utf8.DecodeRuneInString(text[at:])
	return unicode.IsLetter(r) || unicode.IsDigit(r) || r == '_'
}
