package disk

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

// Logger is raft's logger. It logs warnings and errors, a few a minute.
type Logger struct {
	hclog.Logger // logs nothing
	log          *slog.Logger
	limit        *link.LogLimit
}

func NewLogger(log *slog.Logger) *Logger {
	return &Logger{hclog.NewNullLogger(), log, &link.LogLimit{Lines: raftLogLines, Interval: raftLogInterval}}
}

func (c *Logger) Warn(msg string, args ...any) { c.write(msg, args) }

func (c *Logger) Error(msg string, args ...any) { c.write(msg, args) }

func (c *Logger) With(...any) hclog.Logger { return c }

func (c *Logger) Named(string) hclog.Logger { return c }

func (c *Logger) ResetNamed(string) hclog.Logger { return c }

// write logs a warning, for errors of raft too: the ledger itself logs what it cannot do.
func (c *Logger) write(msg string, args []any) {
	suppressed, ok := c.limit.Next(time.Now())
	if !ok {
		return
	}
	words := strings.TrimSpace(fmt.Sprintln(args...))
	c.log.Warn("raft: "+msg, "detail", words[:min(len(words), raftLogBytes)], "suppressed", suppressed)
}
