package edit

import (
	"strings"
	"unicode/utf8"
)

// MaxLine bounds what is typed or pasted into one line, in bytes.
const MaxLine = 4096

// Line is one line of input. Its zero value is an empty one.
type Line struct {
	text string
	at   int // the cursor, in bytes
	left int // the first column in view
}

// NewLine is a line with a text, which its cursor is behind.
func NewLine(text string) Line {
	var l Line
	l.Insert(text)
	return l
}

// Text returns the typed text.
func (l *Line) Text() string { return l.text }

// Set puts a text in place, with the cursor behind it.
func (l *Line) Set(text string) { *l = NewLine(text) }

// Insert adds text before the cursor. It joins the lines of a paste, and omits what
// does not fit and what is not text.
func (l *Line) Insert(text string) {
	text = oneLine(text)
	if room := MaxLine - len(l.text); len(text) > room {
		for room > 0 && !utf8.RuneStart(text[room]) {
			room--
		}
		text = text[:max(room, 0)]
	}
	l.text = l.text[:l.at] + text + l.text[l.at:]
	l.at += len(text)
}

// oneLine replaces line ends and tabs with blanks, and drops other control characters
// and invalid UTF-8.
func oneLine(text string) string {
	text = strings.ReplaceAll(strings.TrimRight(text, "\r\n"), "\r\n", "\n")
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\r' || r == '\t':
			return ' '
		case r < ' ' || 0x7f <= r && r < 0xa0 || r == utf8.RuneError:
			return -1
		}
		return r
	}, text)
}

// Backspace deletes what is before the cursor.
func (l *Line) Backspace() { l.cut(before(l.text, l.at), l.at) }

// Delete deletes what is behind the cursor.
func (l *Line) Delete() { l.cut(l.at, after(l.text, l.at)) }

// DeleteWord deletes back to the beginning of a word.
func (l *Line) DeleteWord() { l.cut(wordBefore(l.text, l.at), l.at) }

// DeleteToStart deletes all that is before the cursor.
func (l *Line) DeleteToStart() { l.cut(0, l.at) }

// DeleteToEnd deletes all that is behind the cursor.
func (l *Line) DeleteToEnd() { l.cut(l.at, len(l.text)) }

func (l *Line) cut(from, to int) {
	l.text = l.text[:from] + l.text[to:]
	l.at = from
}

// Left moves back by a character.
func (l *Line) Left() { l.at = before(l.text, l.at) }

// Right moves on by a character.
func (l *Line) Right() { l.at = after(l.text, l.at) }

// WordLeft moves back to the beginning of a word.
func (l *Line) WordLeft() { l.at = wordBefore(l.text, l.at) }

// WordRight moves on to the end of a word.
func (l *Line) WordRight() { l.at = wordAfter(l.text, l.at) }

// Home moves to the beginning.
func (l *Line) Home() { l.at = 0 }

// End moves to the end.
func (l *Line) End() { l.at = len(l.text) }

// GoTo moves to the character in a cell of the part that is shown, or to the end.
func (l *Line) GoTo(cell int) { l.at = atColumn(l.text, l.left+cell) }

// Cursor is the cell that the cursor is in when the whole line is shown.
func (l *Line) Cursor() int { return width(l.text[:l.at]) }

// View is the part of the line that is shown in room cells, and the cell of it
// that the cursor is in. It scrolls no more than it must.
func (l *Line) View(room int) (shown string, cursor int) {
	cursor = l.Cursor()
	l.left = max(min(l.left, cursor), cursor-max(room, 1)+1)
	return Shown(l.text, l.left, room), cursor - l.left
}
