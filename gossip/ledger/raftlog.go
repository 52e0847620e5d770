package ledger

import (
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"
)

// Limits of raft's log messages: it logs several a second while a peer does not answer.
const (
	raftLogLines    = 10
	raftLogInterval = time.Minute
	raftLogBytes    = 512
)

// raftLogger is raft's logger. It logs warnings and errors, a few a minute.
type raftLogger struct {
	hclog.Logger // logs nothing
	log          *slog.Logger
	shared       *lineLimit
}

type lineLimit struct {
	mu         sync.Mutex
	since      time.Time
	logged     int
	suppressed int
}

func newRaftLog(log *slog.Logger) *raftLogger {
	return &raftLogger{hclog.NewNullLogger(), log, &lineLimit{}}
}

func (c *raftLogger) Warn(msg string, args ...any) { c.write(msg, args) }

func (c *raftLogger) Error(msg string, args ...any) { c.write(msg, args) }

func (c *raftLogger) With(...any) hclog.Logger { return c }

func (c *raftLogger) Named(string) hclog.Logger { return c }

func (c *raftLogger) ResetNamed(string) hclog.Logger { return c }

// write logs a warning, for errors of raft too: the ledger itself logs what it cannot do.
func (c *raftLogger) write(msg string, args []any) {
	suppressed, ok := c.shared.next(time.Now())
	if !ok {
		return
	}
	words := strings.TrimSpace(fmt.Sprintln(args...))
	c.log.Warn("raft: "+msg, "detail", words[:min(len(words), raftLogBytes)], "suppressed", suppressed)
}

// next reports whether another line may be logged, and how many were suppressed before it.
func (c *lineLimit) next(now time.Time) (suppressed int, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if now.Sub(c.since) >= raftLogInterval {
		c.since, c.logged = now, 0
	}
	if c.logged >= raftLogLines {
		c.suppressed++
		return 0, false
	}
	c.logged++
	suppressed, c.suppressed = c.suppressed, 0
	return suppressed, true
}
