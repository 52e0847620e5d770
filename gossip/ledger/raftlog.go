package ledger

import (
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/cronring/cronring/gossip/link"
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
	limit        *link.LogLimit
}

func newRaftLog(log *slog.Logger) *raftLogger {
	return &raftLogger{hclog.NewNullLogger(), log, &link.LogLimit{Lines: raftLogLines, Interval: raftLogInterval}}
}

func (c *raftLogger) Warn(msg string, args ...any) { c.write(msg, args) }

func (c *raftLogger) Error(msg string, args ...any) { c.write(msg, args) }

func (c *raftLogger) With(...any) hclog.Logger { return c }

func (c *raftLogger) Named(string) hclog.Logger { return c }

func (c *raftLogger) ResetNamed(string) hclog.Logger { return c }

// write logs a warning, for errors of raft too: the ledger itself logs what it cannot do.
func (c *raftLogger) write(msg string, args []any) {
	suppressed, ok := c.limit.Next(time.Now())
	if !ok {
		return
	}
	words := strings.TrimSpace(fmt.Sprintln(args...))
	c.log.Warn("raft: "+msg, "detail", words[:min(len(words), raftLogBytes)], "suppressed", suppressed)
}
