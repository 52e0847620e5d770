package link

import (
	"bytes"
	"log"
	"log/slog"
	"strings"
	"testing"
)

func TestLogOfALibraryIsBounded(t *testing.T) {
	var b bytes.Buffer
	w := NewLogWriter(slog.New(slog.NewTextHandler(&b, nil)), "memberlist", "expected")
	l := log.New(w, "", 0)
	l.Print("[DEBUG] memberlist: chatter")
	l.Print("[WARN] memberlist: an expected error")
	l.Print("[ERR] memberlist: bad \x1b[31m thing\nfrom=evil")
	for range 1000 {
		l.Print("[WARN] memberlist: flood " + strings.Repeat("x", 2000))
	}
	got := b.String()
	if strings.Contains(got, "chatter") || strings.Contains(got, "expected") || strings.Contains(got, "\x1b") || !strings.Contains(got, `line="bad  [31m thing from=evil"`) {
		t.Errorf("logged: got %s", got)
	}
	if n := strings.Count(got, "\n"); n != logLines || len(got) > logLines*2*maxReason {
		t.Errorf("got %d lines, %d bytes, want %d lines", n, len(got), logLines)
	}
	w.(*logWriter).limit.interval = 0 // it is over
	b.Reset()
	l.Print("[WARN] again")
	if !strings.Contains(b.String(), "suppressed=981") {
		t.Errorf("after a minute: got %q, want 981 suppressed lines", b.String())
	}
}
