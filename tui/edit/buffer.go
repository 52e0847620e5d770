package edit

import (
	"slices"
	"strings"
)

// Pos is a place in a buffer.
type Pos struct {
	Line int // from 0
	At   int // in bytes of the line
}

// Buffer is a text of several lines with a cursor. Each line keeps its own line end,
// and bytes that are not text stay: an unchanged file is identical, byte for byte.
// The zero value is an empty text.
type Buffer struct {
	lines   []bufferLine
	cursor  Pos
	column  int // that a move up or down goes back to; -1: that of the cursor
	undo    []step
	redo    []step
	version int // changes whenever the text does
	saved   int // the version that is saved
	newest  int // highest version so far
}

// bufferLine is a line and its end: "\n", "\r\n", or "" for the last.
type bufferLine struct{ text, end string }

// step is one change that can be taken back: lines from first on were others.
type step struct {
	first    int
	old      []bufferLine
	now      []bufferLine
	before   Pos
	after    Pos
	version  int  // of the text before
	typed    bool // more of the same may join it
	reversed int  // version of the text after
}

// maxUndo bounds how many changes are remembered.
const maxUndo = 1000

// NewBuffer is a buffer with a text, its cursor at the beginning.
func NewBuffer(text string) *Buffer {
	return &Buffer{lines: splitLines(text), column: -1}
}

// splitLines cuts a text into lines. There is always a last one without an end,
// which may be empty: the cursor can go there.
func splitLines(text string) []bufferLine {
	var lines []bufferLine
	for line := range strings.Lines(text) {
		bare := strings.TrimSuffix(strings.TrimSuffix(line, "\n"), "\r")
		if !strings.HasSuffix(line, "\n") {
			bare = line
		}
		lines = append(lines, bufferLine{bare, line[len(bare):]})
	}
	if n := len(lines); n == 0 || lines[n-1].end != "" {
		lines = append(lines, bufferLine{})
	}
	return lines
}

// Text is the whole text.
func (b *Buffer) Text() string {
	var text strings.Builder
	for _, l := range b.lines {
		text.WriteString(l.text)
		text.WriteString(l.end)
	}
	return text.String()
}

// Len returns the number of lines, including the last one, which has no end. Line
// returns a line without its end.
func (b *Buffer) Len() int          { return len(b.lines) }
func (b *Buffer) Line(i int) string { return b.lines[i].text }

// Cursor returns the position of the cursor, and Column its cell in the line.
func (b *Buffer) Cursor() Pos { return b.cursor }
func (b *Buffer) Column() int { return width(b.line()[:b.cursor.At]) }

// Version changes with the text, and changes back when a change is undone. Changed
// reports whether the text differs from the saved one.
func (b *Buffer) Version() int  { return b.version }
func (b *Buffer) Changed() bool { return b.version != b.saved }

// Saved marks the current text as saved.
func (b *Buffer) Saved() { b.saved = b.version }

func (b *Buffer) line() string { return b.lines[b.cursor.Line].text }

// Go moves the cursor to a line, from 0, and a byte of it, or to the nearest place
// that there is.
func (b *Buffer) Go(line, at int) {
	b.cursor.Line = min(max(line, 0), len(b.lines)-1)
	text := b.line()
	at = min(max(at, 0), len(text))
	if after(text, before(text, at)) != at { // in the middle of a character
		at = before(text, at)
	}
	b.cursor.At = at
	b.settle()
}

// GoTo moves the cursor to the character in a column of a line, or to the end of the line.
func (b *Buffer) GoTo(line, column int) { b.Go(line, atColumn(b.Line(line), column)) }

// settle ends what was being typed, and forgets the column of moves up and down.
func (b *Buffer) settle() {
	b.column = -1
	if n := len(b.undo); n > 0 {
		b.undo[n-1].typed = false
	}
}

// Left and Right move by a character, across lines, too.
func (b *Buffer) Left() {
	switch {
	case b.cursor.At > 0:
		b.cursor.At = before(b.line(), b.cursor.At)
	case b.cursor.Line > 0:
		b.cursor.Line--
		b.cursor.At = len(b.line())
	}
	b.settle()
}

// Right is Left the other way.
func (b *Buffer) Right() {
	switch {
	case b.cursor.At < len(b.line()):
		b.cursor.At = after(b.line(), b.cursor.At)
	case b.cursor.Line < len(b.lines)-1:
		b.cursor = Pos{b.cursor.Line + 1, 0}
	}
	b.settle()
}

// WordLeft and WordRight move by a word within a line, Home and End to its ends.
func (b *Buffer) WordLeft() {
	b.cursor.At = wordBefore(b.line(), b.cursor.At)
	b.settle()
}

// WordRight is WordLeft the other way.
func (b *Buffer) WordRight() {
	b.cursor.At = wordAfter(b.line(), b.cursor.At)
	b.settle()
}

// Home moves to the beginning of the line.
func (b *Buffer) Home() {
	b.cursor.At = 0
	b.settle()
}

// End moves to the end of the line.
func (b *Buffer) End() {
	b.cursor.At = len(b.line())
	b.settle()
}

// Move moves some lines down or up, in the same column if the line is long enough.
func (b *Buffer) Move(lines int) {
	column := b.column
	if column < 0 {
		column = b.Column()
	}
	b.cursor.Line = min(max(b.cursor.Line+lines, 0), len(b.lines)-1)
	b.cursor.At = atColumn(b.line(), column)
	b.settle()
	b.column = column
}

// lineEnd returns the end of a new line: that of the line above.
func (b *Buffer) lineEnd() string {
	for i := b.cursor.Line; i >= 0; i-- {
		if b.lines[i].end != "" {
			return b.lines[i].end
		}
	}
	return "\n"
}

// Insert adds text before the cursor; line ends in it make lines, with the ends of
// the file.
func (b *Buffer) Insert(text string) {
	text = strings.ReplaceAll(strings.ReplaceAll(text, "\r\n", "\n"), "\r", "\n")
	if text == "" {
		return
	}
	line, end := b.lines[b.cursor.Line], b.lineEnd()
	parts := strings.Split(text, "\n")
	last := len(parts) - 1
	now := make([]bufferLine, len(parts))
	for i, part := range parts {
		now[i] = bufferLine{part, end}
	}
	place := Pos{b.cursor.Line + last, len(parts[last])}
	if last == 0 {
		place.At += b.cursor.At
	}
	now[0].text = line.text[:b.cursor.At] + now[0].text
	now[last].text += line.text[b.cursor.At:]
	now[last].end = line.end
	b.change(b.cursor.Line, 1, now, place, last == 0)
}

// Backspace deletes what is before the cursor, an end of a line, too.
func (b *Buffer) Backspace() {
	c := b.cursor
	switch {
	case c.At > 0:
		from := before(b.line(), c.At)
		b.cut(from, c.At)
	case c.Line > 0:
		above := b.lines[c.Line-1]
		place := Pos{c.Line - 1, len(above.text)}
		b.change(c.Line-1, 2, []bufferLine{{above.text + b.line(), b.lines[c.Line].end}}, place, false)
	}
}

// Delete deletes what is behind the cursor, an end of a line, too.
func (b *Buffer) Delete() {
	c := b.cursor
	switch {
	case c.At < len(b.line()):
		b.cut(c.At, after(b.line(), c.At))
	case c.Line < len(b.lines)-1:
		below := b.lines[c.Line+1]
		b.change(c.Line, 2, []bufferLine{{b.line() + below.text, below.end}}, c, false)
	}
}

// DeleteWord deletes back to the beginning of a word, DeleteToStart and
// DeleteToEnd up to an end of the line.
func (b *Buffer) DeleteWord() { b.cut(wordBefore(b.line(), b.cursor.At), b.cursor.At) }

// DeleteToStart deletes what the line has before the cursor.
func (b *Buffer) DeleteToStart() { b.cut(0, b.cursor.At) }

// DeleteToEnd deletes what the line has behind the cursor, or its end where there
// is nothing.
func (b *Buffer) DeleteToEnd() {
	if b.cursor.At == len(b.line()) {
		b.Delete()
		return
	}
	b.cut(b.cursor.At, len(b.line()))
}

func (b *Buffer) cut(from, to int) {
	if from == to {
		return
	}
	line := b.lines[b.cursor.Line]
	line.text = line.text[:from] + line.text[to:]
	b.change(b.cursor.Line, 1, []bufferLine{line}, Pos{b.cursor.Line, from}, false)
}

// Replace puts another text in place of the whole, as one change. The cursor
// stays in its line, by its number.
func (b *Buffer) Replace(text string) {
	now := splitLines(text)
	first := 0 // what is the same above and below stays
	for first < len(now)-1 && first < len(b.lines)-1 && now[first] == b.lines[first] {
		first++
	}
	tail := 0
	for tail < len(now)-first && tail < len(b.lines)-first && now[len(now)-1-tail] == b.lines[len(b.lines)-1-tail] {
		tail++
	}
	if first+tail == len(now) && len(now) == len(b.lines) {
		return
	}
	cursor := b.cursor
	b.change(first, len(b.lines)-tail-first, slices.Clone(now[first:len(now)-tail]), cursor, false)
	b.Go(cursor.Line, cursor.At)
}

// change puts lines in the place of others, and remembers those. What is typed in
// a row is one change.
func (b *Buffer) change(first, count int, now []bufferLine, cursor Pos, typed bool) {
	old := slices.Clone(b.lines[first : first+count])
	b.newest++
	s := step{first: first, old: old, now: slices.Clone(now), before: b.cursor, after: cursor, version: b.version, typed: typed, reversed: b.newest}
	if last := len(b.undo) - 1; last >= 0 && typed && b.undo[last].typed && b.undo[last].joins(s) {
		b.undo[last].now, b.undo[last].after, b.undo[last].reversed = s.now, s.after, s.reversed
	} else {
		b.undo = append(b.undo[max(len(b.undo)-maxUndo+1, 0):], s)
	}
	b.redo = nil
	b.lines = slices.Replace(b.lines, first, first+count, now...)
	b.cursor, b.version, b.column = cursor, b.newest, -1
}

// joins reports whether a change continues at the end of this one.
func (s *step) joins(next step) bool {
	return s.first == next.first && s.after == next.before && len(s.now) == 1
}

// Undo takes the last change back, Redo does it again. They report whether there
// was one.
func (b *Buffer) Undo() bool {
	s, ok := pop(&b.undo)
	if !ok {
		return false
	}
	b.lines = slices.Replace(b.lines, s.first, s.first+len(s.now), s.old...)
	b.cursor, b.version, b.column = s.before, s.version, -1
	s.typed = false
	b.redo = append(b.redo, s)
	return true
}

// Redo does again what Undo took back.
func (b *Buffer) Redo() bool {
	s, ok := pop(&b.redo)
	if !ok {
		return false
	}
	b.lines = slices.Replace(b.lines, s.first, s.first+len(s.old), s.now...)
	b.cursor, b.version, b.column = s.after, s.reversed, -1
	b.undo = append(b.undo, s)
	return true
}

func pop(steps *[]step) (s step, ok bool) {
	n := len(*steps)
	if n == 0 {
		return s, false
	}
	s = (*steps)[n-1]
	*steps = (*steps)[:n-1]
	return s, true
}
