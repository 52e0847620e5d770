package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/sys/unix"

	"github.com/cronring/cronring/daemon/job"
)

// TestWatchAsksAtMostOnceASecond lets the daemon tell of changes without end: it
// is asked once a second, and once in ten times as long as its answer takes.
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
			w := &watch{
				changes: changes,
				ask: func(context.Context) error {
					asked = append(asked, time.Since(begin))
					time.Sleep(tc.takes)
					return nil
				},
				draw: func() error { drawn++; return nil },
			}
			if err := w.run(ctx); err == nil || err.Error() != "over" {
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

// TestWatchDrawsTimesWithoutAsking draws each second what is told from now on.
func TestWatchDrawsTimesWithoutAsking(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 10500*time.Millisecond)
		defer cancel()
		changes := make(chan error, 1)
		changes <- nil
		asked, drawn := 0, 0
		w := &watch{
			changes: changes, ticks: true,
			ask:  func(context.Context) error { asked++; return nil },
			draw: func() error { drawn++; return nil },
		}
		_ = w.run(ctx)
		if asked != 1 || drawn != 11 {
			t.Errorf("got asked %d times and drawn %d times in 10.5 s, want 1 and 11", asked, drawn)
		}
	})
}

func TestWatchEndsWithTheDaemon(t *testing.T) {
	gone := errors.New("gone")
	changes := make(chan error, 1)
	changes <- gone
	w := &watch{changes: changes}
	if err := w.run(t.Context()); !errors.Is(err, gone) {
		t.Errorf("got %v, want that the daemon is gone", err)
	}
}

// TestRedrawnFits draws over itself what fits on the terminal, whatever its size
// becomes.
func TestRedrawnFits(t *testing.T) {
	_, inside := openTerminal(t)
	resize := func(rows uint16) {
		t.Helper()
		if err := unix.IoctlSetWinsize(int(inside.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Col: 20, Row: rows}); err != nil {
			t.Fatal(err)
		}
	}
	var out bytes.Buffer
	a := &app{printer: printer{out: bufio.NewWriter(&out), stdout: inside}}
	s := &redrawn{printer: &a.printer}
	put := func(text string) string {
		t.Helper()
		out.Reset()
		if err := s.put([]byte(text)); err != nil {
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

func TestSortJobs(t *testing.T) {
	at := time.Date(2026, 11, 22, 8, 0, 0, 0, time.UTC)
	run := func(began, took time.Duration) *job.Run {
		return &job.Run{Started: at.Add(began), Ended: at.Add(began + took)}
	}
	jobs := []job.Status{
		{Job: job.Job{ID: "c", Table: "/b", Line: 10, User: "z"}, State: job.StateFailing, Next: at.Add(2), Last: run(-time.Hour, time.Minute)},
		{Job: job.Job{ID: "a", Table: "/b", Line: 9, User: "y"}, State: job.StateRunning, Last: run(-time.Minute, time.Second)},
		{Job: job.Job{ID: "b", Table: "/a", Line: 11, User: "y"}, State: job.StateNew, Next: at.Add(1)},
	}
	for by, want := range map[string]string{
		"state": "cab", "job": "abc", "next": "bca", "last": "acb", "took": "cab", "user": "abc", "source": "bac",
	} {
		sorted := slices.Clone(jobs)
		sortJobs(sorted, by)
		got := ""
		for _, j := range sorted {
			got += string(j.Job.ID)
		}
		if got != want {
			t.Errorf("by %s: got %s, want %s", by, got, want)
		}
	}
}

func TestListFlagsThatMakeNoSense(t *testing.T) {
	for _, args := range [][]string{
		{"list", "--sort", "age"}, {"list", "--fields=nothing"}, {"list", "-o", "custom-columns=X"}, {"list", "-o", "custom-columns=X:nothing"},
		{"list", "-o", "json", "--fields=job"}, {"list", "-o", "name", "--fields=job"}, {"list", "-w", "-o", "json"}, {"list", "-w", "--json=state"},
		{"list", "-w", "--jq", "."}, {"status", "-w", "--check"}, {"status", "-w", "-o", "json"},
	} {
		if stdout, stderr, code := called(t, "", append(args, "--socket", "/no/such/socket")...); code != exitUsage || stdout != "" {
			t.Errorf("cronring %q: got exit %d, %q and %q, want 2", args, code, stdout, stderr)
		}
	}
	stdout, _, code := called(t, "", "list", "--fields", "--socket", "/no/such/socket")
	if names := strings.Fields(stdout); code != exitDone || !slices.Equal(names, jobFields()) || !slices.Contains(names, "last.outcome.code") {
		t.Errorf("cronring list --fields: got exit %d and %q, want the names", code, stdout)
	}
}
