package cli

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

// The daemon reports changes, and the answer is requested again: at most once per
// watchPace, and for at most one watchShare-th of the time.
const (
	watchPace  = time.Second
	watchShare = 10 // requests take at most 1/watchShare of the time
)

// Watch shows the answer to a question, and shows it again when that changes.
type Watch struct {
	Changes <-chan error                // nil: something changed; else the end
	Ask     func(context.Context) error // requests the answer and keeps it
	Draw    func() error                // shows it
	Ticks   bool                        // also redraw every second, for times relative to now
}

// AddWatch adds the flag --watch.
func AddWatch(cmd *cobra.Command, watched *bool, what string) {
	cmd.Flags().BoolVarP(watched, "watch", "w", false, "keep running, and show "+what+" again when it changes; in a pipe, print changed lines")
}

// Run watches until the daemon or the context ends.
func (w *Watch) Run(ctx context.Context) error {
	var due, tick <-chan time.Time
	if w.Ticks {
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
		case err := <-w.Changes:
			if err != nil {
				return err
			}
			if due == nil {
				due = time.After(time.Until(next))
			}
			continue
		case begun := <-due:
			if err := w.Ask(ctx); err != nil {
				return err
			}
			due, asked, next = nil, true, begun.Add(max(watchPace, watchShare*time.Since(begun)))
		case <-tick:
		}
		if asked {
			if err := w.Draw(); err != nil {
				return err
			}
		}
	}
}

// FollowBoard reports changes of the daemon's board that matter. The first report follows
// the complete board, so a request made after it misses nothing.
func FollowBoard(ctx context.Context, client *api.Client, matters func(*api.BoardUpdate) bool) <-chan error {
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
			default: // a report is pending already
			}
		}
	}()
	return changes
}

// CanRedraw reports whether what is watched can be drawn over itself.
func (p *Printer) CanRedraw() bool { return p.Terminal && os.Getenv("TERM") != "dumb" }

// Redraw is the part of a terminal on which something is drawn again and again.
type Redraw struct {
	*Printer
	lines int // number of lines drawn
}

// Put draws text over the previous one, as far as it fits: in a single write, with the
// terminal's line wrapping off.
func (s *Redraw) Put(text []byte) error {
	s.measure()
	lines := strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")
	if room := s.height - 1; room > 0 && len(lines) > room {
		lines = append(lines[:room-1], fmt.Sprintf("... and %d lines more", len(lines)-room+1))
	}
	if s.lines > 0 {
		s.Printf("\x1b[%dA", s.lines)
	}
	s.Printf("\r\x1b[?7l")
	for _, line := range lines {
		s.Printf("\x1b[K%s\n", line) // clears before the text: afterwards it would erase the last column
	}
	s.Printf("\x1b[J\x1b[?7h")
	s.lines = len(lines)
	return s.Out.Flush()
}

// Capture returns what show prints as a result.
func (p *Printer) Capture(show func()) []byte {
	var text bytes.Buffer
	result := p.Out
	p.Out = bufio.NewWriter(&text)
	show()
	_ = p.Out.Flush() // to memory
	p.Out = result
	return text.Bytes()
}
