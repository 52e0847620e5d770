package inbox

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"
)

func TestScribe(t *testing.T) {
	var b bytes.Buffer
	l := NewLog(slog.New(slog.NewTextHandler(&b, nil)))
	l.Print("[DEBUG] memberlist: chatter")
	l.Print("[ERR] memberlist: bad \x1b[31m thing\nfrom=evil")
	for range 1000 {
		l.Print("[WARN] memberlist: flood")
	}
	got := b.String()
	if strings.Contains(got, "chatter") || strings.Contains(got, "\x1b") || !strings.Contains(got, "bad ?[31m thing?from=evil") {
		t.Errorf("it says %s", got)
	}
	if n := strings.Count(got, "\n"); n > lineBurst+1 {
		t.Errorf("%d lines, want about %d", n, lineBurst)
	}
}
