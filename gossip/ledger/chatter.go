package ledger

import (
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"
)

// Bounds on what raft says in the log: a peer that is away makes it complain
// several times a second.
const (
	chatterLines = 10
	chatterEvery = time.Minute
	chatterBytes = 512
)

// chatter is raft's logger: warnings and errors, a few a minute.
type chatter struct {
	hclog.Logger // says nothing
	log          *slog.Logger
	shared       *chatterCount
}

type chatterCount struct {
	mu     sync.Mutex
	since  time.Time
	said   int
	unsaid int
}

func newChatter(log *slog.Logger) *chatter {
	return &chatter{hclog.NewNullLogger(), log, &chatterCount{}}
}

func (c *chatter) Warn(msg string, args ...any) { c.say(msg, args) }

func (c *chatter) Error(msg string, args ...any) { c.say(msg, args) }

func (c *chatter) With(...any) hclog.Logger { return c }

func (c *chatter) Named(string) hclog.Logger { return c }

func (c *chatter) ResetNamed(string) hclog.Logger { return c }

// say makes a warning even of an error: the ledger itself says what it cannot
// do.
func (c *chatter) say(msg string, args []any) {
	unsaid, ok := c.shared.next(time.Now())
	if !ok {
		return
	}
	words := strings.TrimSpace(fmt.Sprintln(args...))
	c.log.Warn("raft: "+msg, "detail", words[:min(len(words), chatterBytes)], "unsaid", unsaid)
}

// next says whether one more line is due, and how many were not said since.
func (c *chatterCount) next(now time.Time) (unsaid int, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if now.Sub(c.since) >= chatterEvery {
		c.since, c.said = now, 0
	}
	if c.said >= chatterLines {
		c.unsaid++
		return 0, false
	}
	c.said++
	unsaid, c.unsaid = c.unsaid, 0
	return unsaid, true
}
