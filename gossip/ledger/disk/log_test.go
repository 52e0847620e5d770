package disk

import (
	"bytes"
	"fmt"
	"log/slog"
	"strings"
	"testing"
)

func TestChatterIsBounded(t *testing.T) {
	var b bytes.Buffer
	c := NewLogger(slog.New(slog.NewTextHandler(&b, nil)))
	c.Info("nothing")
	for n := range 1000 {
		c.Named("raft").With("x", 1).Error("failed to heartbeat", "peer", n, "error", strings.Repeat("x", 2000))
	}
	if got := strings.Count(b.String(), "\n"); got != raftLogLines || b.Len() > raftLogLines*2*raftLogBytes || strings.Contains(b.String(), "nothing") {
		t.Errorf("logged: got %d lines, %d bytes, want %d lines", got, b.Len(), raftLogLines)
	}
	c.limit.Interval = 0 // it is over
	b.Reset()
	c.Warn("again")
	if want := fmt.Sprint("suppressed=", 1000-raftLogLines); !strings.Contains(b.String(), want) {
		t.Errorf("after a minute: got %q, want %s", b.String(), want)
	}
}
