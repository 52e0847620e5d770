package cli

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/sys/unix"

	"github.com/cronring/cronring/cmd/cronring/clitest"
)

// TestWatchAsksAtMostOnceASecond has a daemon that reports changes continuously. The watch
// requests the state once a second, or less often if an answer takes longer than a tenth of a
// second.
func TestWatchAsksAtMostOnceASecond(t *testing.T) {
	for _, tc := range []struct {
		takes, every time.Duration
	}{
		{time.Millisecond, time.Second}, {500 * time.Millisecond, 5 * time.Second},
	} {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithTimeoutCause(t.Context(), 31*time.Second, errors.New("over"))
			defer cancel()
			changes, over := make(chan error), make(chan struct{})
			go func() {
				defer close(over)
				for ctx.Err() == nil {
					select {
					case changes <- nil:
						time.Sleep(time.Millisecond)
					case <-ctx.Done():
					}
				}
			}()
			begin := time.Now()
			var asked []time.Duration
			drawn := 0
			w := &Watch{
				Changes: changes,
				Ask: func(context.Context) error {
					asked = append(asked, time.Since(begin))
					time.Sleep(tc.takes)
					return nil
				},
				Draw: func() error { drawn++; return nil },
			}
			if err := w.Run(ctx); err == nil || err.Error() != "over" {
				t.Errorf("got %v, want the cause of the end", err)
			}
			<-over
			for i := 1; i < len(asked); i++ {
				if got := asked[i] - asked[i-1]; got < tc.every {
					t.Errorf("an answer takes %v: asked again after %v, want no sooner than after %v", tc.takes, got, tc.every)
				}
			}
			if least := int(30 * time.Second / tc.every); len(asked) < least || drawn != len(asked) {
				t.Errorf("an answer takes %v: asked %d times and drawn %d times in 31 s, want %d or more and as often", tc.takes, len(asked), drawn, least)
			}
		})
	}
}

// TestWatchDrawsTimesWithoutAsking draws the previous answer again each second, with the current
// time.
func TestWatchDrawsTimesWithoutAsking(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 10500*time.Millisecond)
		defer cancel()
		changes := make(chan error, 1)
		changes <- nil
		asked, drawn := 0, 0
		w := &Watch{
			Changes: changes, Ticks: true,
			Ask:  func(context.Context) error { asked++; return nil },
			Draw: func() error { drawn++; return nil },
		}
		_ = w.Run(ctx)
		if asked != 1 || drawn != 11 {
			t.Errorf("got asked %d times and drawn %d times in 10.5 s, want 1 and 11", asked, drawn)
		}
	})
}

func TestWatchEndsWithTheDaemon(t *testing.T) {
	gone := errors.New("gone")
	changes := make(chan error, 1)
	changes <- gone
	w := &Watch{Changes: changes}
	if err := w.Run(t.Context()); !errors.Is(err, gone) {
		t.Errorf("got %v, want that the daemon is gone", err)
	}
}

// TestRedrawnFits redraws text that fits on the terminal after each change of the terminal's size.
func TestRedrawnFits(t *testing.T) {
	_, inside := clitest.OpenTerminal(t)
	resize := func(rows uint16) {
		t.Helper()
		if err := unix.IoctlSetWinsize(int(inside.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Col: 20, Row: rows}); err != nil {
			t.Fatal(err)
		}
	}
	var out bytes.Buffer
	a := &App{Printer: Printer{Out: bufio.NewWriter(&out), stdout: inside}}
	s := &Redraw{Printer: &a.Printer}
	put := func(text string) string {
		t.Helper()
		out.Reset()
		if err := s.Put([]byte(text)); err != nil {
			t.Fatal(err)
		}
		return out.String()
	}
	resize(24)
	if got, want := put("a\nb\n"), "\r\x1b[?7l\x1b[Ka\n\x1b[Kb\n\x1b[J\x1b[?7h"; got != want {
		t.Errorf("first: got %q, want %q", got, want)
	}
	if got, want := put("c\n"), "\x1b[2A\r\x1b[?7l\x1b[Kc\n\x1b[J\x1b[?7h"; got != want {
		t.Errorf("again: got %q, want %q", got, want)
	}
	resize(5)
	if got, want := put(strings.Repeat("x\n", 9)), "\x1b[1A\r\x1b[?7l\x1b[Kx\n\x1b[Kx\n\x1b[Kx\n\x1b[K... and 6 lines more\n\x1b[J\x1b[?7h"; got != want {
		t.Errorf("too long: got %q, want %q", got, want)
	}
}
