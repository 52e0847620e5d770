package diagnostic

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// The excerpt of a long line begins excerptBefore bytes before the position and
// ends excerptAfter bytes after it.
const (
	excerptBefore = 48
	excerptAfter  = 48
)

// Excerpt returns the source line in text, the content of the file, and below
// it a line with carets under the position. Tabs are expanded, unprintable bytes
// are escaped and long lines are cut. A diagnostic about a whole line has no
// carets. Excerpt returns "" if text has no such line.
func (d Diagnostic) Excerpt(text string) string {
	line, ok := lineOf(strings.TrimPrefix(text, "\ufeff"), d.Line)
	if !ok {
		return ""
	}
	at := min(max(d.Column-1, 0), len(line))
	first, last := window(line, at)
	end := min(max(at+d.Length, at+1), last)

	var shown, carets strings.Builder
	if first > 0 {
		shown.WriteString("...")
		carets.WriteString("   ")
	}
	column := 0
	for i := first; i < last; {
		cell, size := cellOf(line[i:last], column)
		mark := " "
		if d.Column > 0 && i+size > at && i < end {
			mark = "^"
		}
		width := utf8.RuneCountInString(cell)
		shown.WriteString(cell)
		carets.WriteString(strings.Repeat(mark, width))
		column += width
		i += size
	}
	if last < len(line) {
		shown.WriteString("...")
	}
	if d.Column == 0 {
		return shown.String() + "\n"
	}
	if at == len(line) { // behind the last byte: something is missing there
		carets.WriteString("^")
	}
	return shown.String() + "\n" + strings.TrimRight(carets.String(), " ") + "\n"
}

// lineOf returns a line by its number, from 1, without its line end.
func lineOf(text string, number int) (string, bool) {
	for ; number > 1; number-- {
		_, rest, ok := strings.Cut(text, "\n")
		if !ok {
			return "", false
		}
		text = rest
	}
	line, _, _ := strings.Cut(text, "\n")
	return strings.TrimSuffix(line, "\r"), number == 1
}

// window returns the part of a long line around byte at, in whole characters.
func window(line string, at int) (first, last int) {
	first, last = max(0, at-excerptBefore), min(len(line), at+excerptAfter)
	for first > 0 && first > at-excerptBefore-utf8.UTFMax && !utf8.RuneStart(line[first]) {
		first--
	}
	for last < len(line) && last < at+excerptAfter+utf8.UTFMax && !utf8.RuneStart(line[last]) {
		last++
	}
	return first, last
}

// cellOf returns how a terminal shows the first character of text in a column,
// and the length of the character in bytes.
func cellOf(text string, column int) (cell string, size int) {
	r, size := utf8.DecodeRuneInString(text)
	switch {
	case r == '\t':
		return strings.Repeat(" ", 8-column%8), 1
	case r < ' ' || r == 0x7f:
		return "^" + string(r^0x40), 1
	case r == utf8.RuneError && size == 1:
		return fmt.Sprintf(`\x%02x`, text[0]), 1
	case !unicode.IsPrint(r):
		return fmt.Sprintf(`\u%04x`, r), size
	}
	return text[:size], size
}
