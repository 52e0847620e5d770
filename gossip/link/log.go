package link

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"strings"
	"sync"
	"time"
	"unicode"
)

// logLines is how many lines of memberlist or raft are logged a minute. A stranger can cause a line
// with each packet, and a peer that does not answer several a second.
const logLines = 20

// logLimit limits how many messages are logged that others can cause as often as they like.
// Its zero value logs none.
type logLimit struct {
	lines    int
	interval time.Duration // for so many lines

	mu         sync.Mutex
	since      time.Time
	logged     int
	suppressed int
}

// next reports whether another line may be logged now, and how many were suppressed before it.
func (l *logLimit) next(now time.Time) (suppressed int, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if now.Sub(l.since) >= l.interval {
		l.since, l.logged = now, 0
	}
	if l.logged >= l.lines {
		l.suppressed++
		return 0, false
	}
	l.logged++
	suppressed, l.suppressed = l.suppressed, 0
	return suppressed, true
}

// logWriter writes warnings and errors of a library to the daemon's log, a few lines a minute.
type logWriter struct {
	log    *slog.Logger
	from   string
	ignore string
	limit  logLimit
}

// NewLogWriter returns a writer for lines that begin with their level, such as "[WARN]". It ignores
// lines that contain a text; "": none.
func NewLogWriter(log *slog.Logger, from, ignore string) io.Writer {
	return &logWriter{log: log, from: from, ignore: ignore, limit: logLimit{lines: logLines, interval: time.Minute}}
}

func (w *logWriter) Write(line []byte) (int, error) {
	level := slog.LevelWarn
	switch {
	case bytes.HasPrefix(line, []byte("[DEBUG]")), w.ignore != "" && bytes.Contains(line, []byte(w.ignore)):
		return len(line), nil
	case bytes.HasPrefix(line, []byte("[INFO]")):
		level = slog.LevelInfo
	}
	text := line
	if bytes.HasPrefix(text, []byte("[")) {
		_, text, _ = bytes.Cut(text, []byte("] "))
	}
	text = bytes.TrimSpace(bytes.TrimPrefix(bytes.TrimSpace(text), []byte(w.from+": ")))
	if len(text) == 0 {
		return len(line), nil
	}
	if suppressed, ok := w.limit.next(time.Now()); ok {
		w.log.Log(context.Background(), level, "ring: "+w.from, "line", printable(text), "suppressed", suppressed)
	}
	return len(line), nil
}

// printable limits what a peer can write into logs and on terminals.
func printable(text []byte) string {
	s := strings.ToValidUTF8(string(text[:min(len(text), maxReason)]), "?")
	return strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return ' '
	}, s)
}
