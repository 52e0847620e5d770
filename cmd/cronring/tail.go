package main

import (
	"bytes"
	"io"
)

// tailWriter keeps the last lines of what is written to it.
type tailWriter struct {
	lines int
	kept  []byte
}

func (t *tailWriter) Write(p []byte) (int, error) {
	t.kept = append(t.kept, p...)
	if len(t.kept) > 1<<20 { // so that what is dropped is not looked at for each piece
		t.cut()
	}
	return len(p), nil
}

// cut drops what is before the last lines.
func (t *tailWriter) cut() {
	at := len(bytes.TrimSuffix(t.kept, []byte("\n")))
	for range t.lines {
		if at = bytes.LastIndexByte(t.kept[:at], '\n'); at < 0 {
			return
		}
	}
	t.kept = append(t.kept[:0], t.kept[at+1:]...)
}

func (t *tailWriter) writeTo(w io.Writer) {
	t.cut()
	_, _ = w.Write(t.kept) // trouble with it shows at the end, when that is flushed
}
