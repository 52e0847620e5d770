package gossip

import (
	"bytes"
	"context"
	"log"
	"log/slog"
	"strings"
	"sync"
	"time"
	"unicode"
)

// Strangers can make memberlist write a line for each packet.
const (
	lineBurst = 20
	lineEvery = 3 * time.Second // one more after that
	lineMax   = 300
)

// scribe passes memberlist's lines on to the daemon's log: warnings and errors,
// few, and of one line each.
type scribe struct {
	log *slog.Logger

	mu      sync.Mutex
	left    int
	last    time.Time
	dropped int
}

func newScribe(l *slog.Logger) *log.Logger {
	return log.New(&scribe{log: l, left: lineBurst}, "", 0)
}

func (s *scribe) Write(line []byte) (int, error) {
	n := len(line)
	level, words, ok := readLine(line)
	if !ok {
		return n, nil
	}
	dropped, ok := s.spend()
	if !ok {
		return n, nil
	}
	args := []any{"line", words}
	if dropped > 0 {
		args = append(args, "unsaid", dropped)
	}
	s.log.Log(context.Background(), level, "ring: memberlist", args...)
	return n, nil
}

// readLine tells memberlist's level and words apart.
func readLine(line []byte) (slog.Level, string, bool) {
	level := slog.LevelWarn
	switch {
	case bytes.HasPrefix(line, []byte("[DEBUG]")), bytes.Contains(line, []byte(staleWord)):
		return 0, "", false
	case bytes.HasPrefix(line, []byte("[INFO]")):
		level = slog.LevelInfo
	}
	if bytes.HasPrefix(line, []byte("[")) {
		_, line, _ = bytes.Cut(line, []byte("] "))
	}
	line = bytes.TrimPrefix(line, []byte("memberlist: "))
	line = bytes.TrimSpace(line[:min(len(line), lineMax)])
	words := strings.Map(func(c rune) rune {
		if !unicode.IsPrint(c) {
			return '?'
		}
		return c
	}, string(line))
	return level, words, words != ""
}

// spend says whether a line may be written, and how many were not before it.
func (s *scribe) spend() (int, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	if more := int(now.Sub(s.last) / lineEvery); more > 0 {
		s.left, s.last = min(lineBurst, s.left+more), now
	}
	if s.left == 0 {
		s.dropped++
		return 0, false
	}
	s.left--
	dropped := s.dropped
	s.dropped = 0
	return dropped, true
}
