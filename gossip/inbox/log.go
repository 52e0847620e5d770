package inbox

import (
	"bytes"
	"context"
	"log"
	"log/slog"
	"strings"
	"time"
	"unicode"

	"github.com/cronring/cronring/gossip/link"
)

// Limits of memberlist's log: a stranger can cause a line with each packet.
const (
	lineBurst = 20 // a minute
	lineMax   = 300
)

// logWriter writes warnings and errors of memberlist to the daemon's log, a few lines a minute.
type logWriter struct {
	log   *slog.Logger
	limit link.LogLimit
}

// NewLog makes the log of memberlist, which writes to the log of the daemon.
func NewLog(l *slog.Logger) *log.Logger {
	return log.New(&logWriter{l, link.LogLimit{Lines: lineBurst, Interval: time.Minute}}, "", 0)
}

func (s *logWriter) Write(line []byte) (int, error) {
	n := len(line)
	level, words, ok := readLine(line)
	if !ok {
		return n, nil
	}
	if suppressed, ok := s.limit.Next(time.Now()); ok {
		s.log.Log(context.Background(), level, "ring: memberlist", "line", words, "suppressed", suppressed)
	}
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
