package edit

import (
	"math/rand/v2"
	"strings"
	"testing"
)

func TestBufferKeysEditText(t *testing.T) {
	for _, tc := range []struct {
		name  string
		start string
		keys  func(b *Buffer)
		text  string
		at    Pos
	}{
		{"nothing", "a\r\nb\n\xff", func(*Buffer) {}, "a\r\nb\n\xff", Pos{0, 0}},
		{"type", "", func(b *Buffer) { b.Insert("a"); b.Insert("b") }, "ab", Pos{0, 2}},
		{"new line has the file's end", "a\r\nb", func(b *Buffer) { b.Go(1, 1); b.Insert("\n") }, "a\r\nb\r\n", Pos{2, 0}},
		{"paste of lines", "ad\n", func(b *Buffer) { b.Right(); b.Insert("b\r\nc") }, "ab\ncd\n", Pos{1, 1}},
		{"backspace joins", "a\r\nb\n", func(b *Buffer) { b.Go(1, 0); b.Backspace() }, "ab\n", Pos{0, 1}},
		{"backspace at the start", "a\n", func(b *Buffer) { b.Backspace() }, "a\n", Pos{0, 0}},
		{"delete joins", "a\nb\r\n", func(b *Buffer) { b.End(); b.Delete() }, "ab\r\n", Pos{0, 1}},
		{"delete at the end", "a\n", func(b *Buffer) { b.Go(9, 9); b.Delete() }, "a\n", Pos{1, 0}},
		{"delete to end takes the end then", "ab\nc\n", func(b *Buffer) { b.Right(); b.DeleteToEnd(); b.DeleteToEnd() }, "ac\n", Pos{0, 1}},
		{"word", "run pg now\n", func(b *Buffer) { b.End(); b.DeleteWord() }, "run pg \n", Pos{0, 7}},
		{"left goes to the line above", "ab\nc", func(b *Buffer) { b.Go(1, 0); b.Left() }, "ab\nc", Pos{0, 2}},
		{"right goes to the line below", "ab\nc", func(b *Buffer) { b.End(); b.Right() }, "ab\nc", Pos{1, 0}},
		{"a column stays over short lines", "abcd\n\nabcd\n", func(b *Buffer) { b.Go(0, 3); b.Move(1); b.Move(1) }, "abcd\n\nabcd\n", Pos{2, 3}},
		{"columns are cells", "日本\nabcd\n", func(b *Buffer) { b.Go(0, 3); b.Move(1) }, "日本\nabcd\n", Pos{1, 2}},
		{"go into a character", "e\u0301x\n", func(b *Buffer) { b.Go(0, 1) }, "e\u0301x\n", Pos{0, 0}},
		{"undo takes a word that was typed", "x\n", func(b *Buffer) { b.Insert("a"); b.Insert("b"); b.Undo() }, "x\n", Pos{0, 0}},
		{"undo stops at a move", "", func(b *Buffer) { b.Insert("a"); b.Home(); b.Insert("b"); b.Undo() }, "a", Pos{0, 0}},
		{"redo", "", func(b *Buffer) {
			b.Insert("a")
			b.Insert("\n")
			b.Undo()
			b.Undo()
			b.Redo()
			b.Redo()
		}, "a\n", Pos{1, 0}},
		{"typing forgets redo", "", func(b *Buffer) { b.Insert("a"); b.Undo(); b.Insert("b"); b.Redo() }, "b", Pos{0, 1}},
		{"replace keeps the cursor", "a\nb\nc\n", func(b *Buffer) { b.Go(2, 1); b.Replace("a\nB\nc\nd\n") }, "a\nB\nc\nd\n", Pos{2, 1}},
		{"replace undone", "a\nb\nc\n", func(b *Buffer) { b.Replace("a\n"); b.Undo() }, "a\nb\nc\n", Pos{0, 0}},
		{"replace with nothing", "a\n", func(b *Buffer) { b.Replace("") }, "", Pos{0, 0}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			b := NewBuffer(tc.start)
			tc.keys(b)
			if b.Text() != tc.text || b.Cursor() != tc.at {
				t.Errorf("got %q with the cursor at %v, want %q and %v", b.Text(), b.Cursor(), tc.text, tc.at)
			}
		})
	}
}

func TestBufferKnowsWhetherItIsSaved(t *testing.T) {
	b := NewBuffer("a\n")
	if b.Changed() {
		t.Error("a new buffer is changed")
	}
	b.Insert("x")
	if !b.Changed() {
		t.Error("after typing it is not changed")
	}
	b.Undo()
	if b.Changed() {
		t.Error("after an undo of all it is changed")
	}
	b.Redo()
	b.Saved()
	if b.Changed() {
		t.Error("saved, it is changed")
	}
	b.Undo()
	if !b.Changed() {
		t.Error("an undo beyond what was saved is no change")
	}
}

// TestBufferUndoesEverything holds that any keys can be taken back one by one,
// and done again.
func TestBufferUndoesEverything(t *testing.T) {
	const start = "# 日本\r\n*/5 * * * * etl /run\n\te\u0301 \xff\n"
	for seed := range uint64(200) {
		r := rand.New(rand.NewPCG(seed, 1))
		b := NewBuffer(start)
		keys := []func(){
			func() { b.Insert("x") }, func() { b.Insert("é\n") }, func() { b.Insert("a\r\nb") }, b.Backspace, b.Delete, b.Left, b.Right,
			b.DeleteWord, b.DeleteToEnd, b.DeleteToStart, func() { b.Move(r.IntN(5) - 2) }, b.Home, b.End, b.WordLeft, b.WordRight,
			func() { b.Replace(strings.ToUpper(b.Text())) }, func() { b.Undo() }, func() { b.Redo() },
		}
		for range 200 {
			keys[r.IntN(len(keys))]()
			if c := b.Cursor(); c.Line < 0 || c.Line >= b.Len() || c.At < 0 || c.At > len(b.Line(c.Line)) {
				t.Fatalf("seed %d: the cursor is at %v of %q", seed, c, b.Text())
			}
		}
		for b.Redo() {
		}
		end := b.Text()
		for b.Undo() {
		}
		if b.Text() != start || b.Changed() {
			t.Fatalf("seed %d: all undone, got %q (changed %t), want %q", seed, b.Text(), b.Changed(), start)
		}
		for b.Redo() {
		}
		if b.Text() != end {
			t.Fatalf("seed %d: all done again, got %q, want %q", seed, b.Text(), end)
		}
	}
}
