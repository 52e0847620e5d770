package edit

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/cronring/cronring/daemon/display"
)

func TestLineKeysEditText(t *testing.T) {
	for _, tc := range []struct {
		name   string
		start  string
		keys   func(l *Line)
		text   string
		cursor int
	}{
		{"typed", "", func(l *Line) { l.Insert("a"); l.Insert("b") }, "ab", 2},
		{"in between", "ac", func(l *Line) { l.Left(); l.Insert("b") }, "abc", 2},
		{"backspace at the start", "ab", func(l *Line) { l.Home(); l.Backspace() }, "ab", 0},
		{"delete at the end", "ab", func(l *Line) { l.Delete() }, "ab", 2},
		{"delete at the start", "ab", func(l *Line) { l.Home(); l.Delete() }, "b", 0},
		{"wide", "日本", func(l *Line) { l.Left() }, "日本", 2},
		{"backspace takes a base with its marks", "ae\u0301\u0323", func(l *Line) { l.Backspace() }, "a", 1},
		{"right goes over a base with its marks", "e\u0301x", func(l *Line) { l.Home(); l.Right() }, "e\u0301x", 1},
		{"flag", "a🇩🇪", func(l *Line) { l.Backspace() }, "a", 1},
		{"word left", "run pg-backup", func(l *Line) { l.WordLeft() }, "run pg-backup", 7},
		{"word left twice", "run pg-backup", func(l *Line) { l.WordLeft(); l.WordLeft() }, "run pg-backup", 4},
		{"word left over blanks", "run   ", func(l *Line) { l.WordLeft() }, "run   ", 0},
		{"word right", "run pg-backup", func(l *Line) { l.Home(); l.WordRight(); l.WordRight() }, "run pg-backup", 6},
		{"delete word", "run pg backup ", func(l *Line) { l.DeleteWord() }, "run pg ", 7},
		{"delete to start", "run pg", func(l *Line) { l.WordLeft(); l.DeleteToStart() }, "pg", 0},
		{"delete to end", "run pg", func(l *Line) { l.WordLeft(); l.DeleteToEnd() }, "run ", 4},
		{"set", "old", func(l *Line) { l.Home(); l.Set("new") }, "new", 3},
		{"paste of lines", "", func(l *Line) { l.Insert("a\r\nb\tc\x1b[2J\n") }, "a b c[2J", 8},
		{"not UTF-8", "", func(l *Line) { l.Insert("a\xffb\u0085") }, "ab", 2},
	} {
		t.Run(tc.name, func(t *testing.T) {
			l := NewLine(tc.start)
			tc.keys(&l)
			if l.Text() != tc.text || l.Cursor() != tc.cursor {
				t.Errorf("got %q with the cursor in cell %d, want %q and %d", l.Text(), l.Cursor(), tc.text, tc.cursor)
			}
		})
	}
}

func TestLineViewScrolls(t *testing.T) {
	l := NewLine("0123456789")
	for _, want := range []struct {
		move   func()
		shown  string
		cursor int
	}{
		{func() {}, "789", 3},
		{l.Left, "789", 2},
		{func() { l.Left(); l.Left() }, "789", 0},
		{l.Left, "6789", 0},
		{l.Home, "0123", 0},
		{l.End, "789", 3},
	} {
		want.move()
		if shown, cursor := l.View(4); shown != want.shown || cursor != want.cursor {
			t.Errorf("got %q with the cursor in cell %d, want %q and %d", shown, cursor, want.shown, want.cursor)
		}
	}
}

func TestLineBoundsText(t *testing.T) {
	l := NewLine("a" + strings.Repeat("é", MaxLine))
	if n := len(l.Text()); n != MaxLine-1 || !utf8.ValidString(l.Text()) {
		t.Errorf("a paste that is too long: got %d bytes, want %d in whole characters", n, MaxLine-1)
	}
	l.Insert("b")
	l.Insert("c")
	if n := len(l.Text()); n != MaxLine {
		t.Errorf("typed on: got %d bytes, want %d", n, MaxLine)
	}
}

func TestShownFitsAndIsHarmless(t *testing.T) {
	for _, tc := range []struct {
		text       string
		left, room int
		want       string
	}{
		{"abc", 0, 10, "abc"},
		{"abc", 1, 1, "b"},
		{"日本語", 0, 3, "日"},
		{"日本語", 1, 3, " 本"},
		{"a\tb", 0, 20, "a       b"},
		{"a\tb", 4, 20, "    b"},
		{"a\x1b[2Jb", 0, 20, `a\x1b[2Jb`},
		{"a\u202eb\xff", 0, 20, `a\u202eb\xff`},
		{"\u0301a", 0, 20, `\u0301a`},
		{"👩\u200d🚀", 0, 20, `👩\u200d🚀`},
	} {
		got := Shown(tc.text, tc.left, tc.room)
		if got != tc.want || display.Width(got) > tc.room {
			t.Errorf("%q from column %d in %d cells: got %q, want %q", tc.text, tc.left, tc.room, got, tc.want)
		}
	}
}
