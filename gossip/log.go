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

// Limits of memberlist's log: a stranger can cause a line with each packet.
const (
	lineBurst = 20
	lineEvery = 3 * time.Second // one more after that
	lineMax   = 300
)

// logWriter writes warnings and errors of memberlist to the daemon's log, a few lines a minute.
type logWriter struct {
	log *slog.Logger

	mu      sync.Mutex
	left    int
	last    time.Time
	dropped int
}

func newLogWriter(l *slog.Logger) *log.Logger {
	return log.New(&logWriter{log: l, left: lineBurst}, "", 0)
}

func (s *logWriter) Write(line []byte) (int, error) {
	n := len(line)
	level, words, ok := readLine(line)
	if !ok {
		return n, nil
	}
	dropped, ok := s.allow()
	if !ok {
		return n, nil
	}
	args := []any{"line", words}
	if dropped > 0 {
		args = append(args, "suppressed", dropped)
	}
	s.log.Log(context.Background(), level, "ring: memberlist", args...)
	return n, nil
}

// readLine splits a line of memberlist into its level and its text.
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

// allow reports whether a line may be written, and how many were dropped before it.
func (s *logWriter) allow() (int, bool) {
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
