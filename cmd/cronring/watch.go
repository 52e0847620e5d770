package main

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/cronring/cronring/daemon/api"
)

// The daemon tells when something changed, and is then asked: at most once in
// watchPace, and never for more than a small part of its time.
const (
	watchPace  = time.Second
	watchShare = 10 // it is asked for one part in so many
)

// watch shows the answer to a question, and shows it again when that changes.
type watch struct {
	changes <-chan error                // nil: something changed; else the end
	ask     func(context.Context) error // asks the daemon, and keeps the answer
	draw    func() error                // shows it
	ticks   bool                        // shows it each second, too: times that are told from now on change
}

func addWatch(cmd *cobra.Command, watched *bool, what string) {
	cmd.Flags().BoolVarP(watched, "watch", "w", false, "go on, and show "+what+" again when it changes; piped, print changed lines")
}

// run watches until the daemon or the context ends.
func (w *watch) run(ctx context.Context) error {
	var due, tick <-chan time.Time
	if w.ticks {
		ticker := time.NewTicker(watchPace)
		defer ticker.Stop()
		tick = ticker.C
	}
	var next time.Time
	asked := false
	for {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case err := <-w.changes:
			if err != nil {
				return err
			}
			if due == nil {
				due = time.After(time.Until(next))
			}
			continue
		case begun := <-due:
			if err := w.ask(ctx); err != nil {
				return err
			}
			due, asked, next = nil, true, begun.Add(max(watchPace, watchShare*time.Since(begun)))
		case <-tick:
		}
		if asked {
			if err := w.draw(); err != nil {
				return err
			}
		}
	}
}

// follow tells of changes on the daemon's board: first when all of it has come,
// so that none is missed after the question that follows.
func followBoard(ctx context.Context, client *api.Client, matters func(*api.BoardUpdate) bool) <-chan error {
	changes := make(chan error, 1)
	go func() {
		whole := false
		for u, err := range client.Board(ctx) {
			if err != nil {
				select {
				case changes <- err:
				case <-ctx.Done():
				}
				return
			}
			whole = whole || u.Complete
			if !whole || !u.Complete && !matters(&u) {
				continue
			}
			select {
			case changes <- nil:
			default: // one is told of already
			}
		}
	}()
	return changes
}

// inPlace reports whether what is watched can be drawn over itself.
func (p *printer) inPlace() bool { return p.tty && os.Getenv("TERM") != "dumb" }

// redrawn is the part of a terminal on which something is drawn again and again.
type redrawn struct {
	*printer
	lines int // so many are drawn
}

// put draws a result over the one before, as far as it fits: one write, without
// the terminal's own line breaks.
func (s *redrawn) put(text []byte) error {
	s.measure()
	lines := strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")
	if room := s.height - 1; room > 0 && len(lines) > room {
		lines = append(lines[:room-1], fmt.Sprintf("... and %d lines more", len(lines)-room+1))
	}
	if s.lines > 0 {
		s.printf("\x1b[%dA", s.lines)
	}
	s.printf("\r\x1b[?7l")
	for _, line := range lines {
		s.printf("\x1b[K%s\n", line) // after the line it would take away what stands in the last column
	}
	s.printf("\x1b[J\x1b[?7h")
	s.lines = len(lines)
	return s.out.Flush()
}

// rendered is what a function prints as a part of the result.
func (p *printer) rendered(show func()) []byte {
	var text bytes.Buffer
	result := p.out
	p.out = bufio.NewWriter(&text)
	show()
	_ = p.out.Flush() // to memory
	p.out = result
	return text.Bytes()
}
