package console

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strconv"
	"strings"
	"testing"

	"github.com/cronring/cronring/tui/canvas"
	"github.com/cronring/cronring/tui/custom"
	"github.com/cronring/cronring/tui/keys"
	"github.com/cronring/cronring/tui/screen"
	"github.com/cronring/cronring/tui/screen/screentest"
	"github.com/cronring/cronring/tui/shell/shelltest"
)

func TestConsoleScreens(t *testing.T) {
	for name, words := range map[string][]string{"command": {"report", "stats"}, "command-failed": {"run", "--fail"}} {
		screentest.Check(t, name, func(v canvas.View, w *screen.World) {
			s := New(words)
			screentest.Settle(t, s, w, nil, s.Open(w))
			shelltest.Draw(s, v, w)
		})
	}
}

// TestConsoleRunsOnce: a command such as run must not be repeated when its screen comes back.
func TestConsoleRunsOnce(t *testing.T) {
	w := screentest.NewWorld(t)
	s := New([]string{"run", "a"})
	if effects := s.Open(w); len(effects) != 1 {
		t.Errorf("got %d requests, want 1", len(effects))
	}
	if effects := append(s.Open(w), s.Refresh(w)...); len(effects) != 0 {
		t.Errorf("opened again: got %v, want nothing", effects)
	}
}

func TestConsoleScrolls(t *testing.T) {
	w := screentest.NewWorld(t)
	s := New(nil)
	s.Take(w, screen.Answer{Value: screen.Printed{Text: strings.Repeat(strings.Repeat("x", 1023)+"\n", mostPrinted/1024-1) + strings.Repeat("x", 1015) + "\n" + "end\x1b[2J\nmore", Ended: true}})
	c := canvas.New(40, 10)
	s.Draw(c.View(), w)
	s.Act(w, keys.Last)
	c = canvas.New(40, 10)
	s.Draw(c.View(), w)
	if got := c.Text(); !strings.Contains(got, "end\\x1b[2J") || !strings.Contains(got, "left out") {
		t.Errorf("got %q, want the end of the output, without its control character, and what is left out", got)
	}
}

// The screen of a command that prints while it runs stays at its end, keeps the last part, and
// begins again when it comes back.
func TestConsoleFollows(t *testing.T) {
	w := screentest.NewWorld(t)
	s := New([]string{"report", "events"})
	draw := func() string {
		c := canvas.New(40, 10)
		s.Draw(c.View(), w)
		return c.Text()
	}
	follow, ok := s.Open(w)[0].(screen.Follow)
	if !ok {
		t.Fatal("got no Follow")
	}
	if got := draw(); !strings.Contains(got, "Nothing yet: new lines appear here") || !strings.Contains(got, "cronring report events: ") {
		t.Errorf("got %q before the first line, want what will appear", got)
	}
	var parts []string
	for value, err := range follow.Call(t.Context(), nil) {
		if p := value.(screen.Printed); err == nil && p.Text != "" {
			parts = append(parts, p.Text)
		}
	}
	if got := strings.Join(parts, "+"); got != "report\n+events\n" {
		t.Errorf("got %q, want each part as it comes", got)
	}
	for i := range 600 {
		s.Take(w, screen.Answer{Slot: slot, Value: screen.Printed{Text: strings.Repeat("x", 999) + "\nline " + strconv.Itoa(i) + "\n"}})
	}
	if got := draw(); len(s.text) > mostFollowed || !strings.Contains(got, "line 599") || !strings.Contains(got, "Waiting for more") {
		t.Errorf("got %d bytes and %q, want the end", len(s.text), got)
	}
	s.Act(w, keys.First)
	s.Take(w, screen.Answer{Slot: slot, Value: screen.Printed{Text: "new\n"}})
	if got := draw(); !strings.Contains(got, "Earlier output is left out") || strings.Contains(got, "new") {
		t.Errorf("got %q, want that it stays where the person reads", got)
	}
	if effects := s.Open(w); len(effects) != 1 || s.text != "" {
		t.Errorf("got %v and %q when it comes back, want that it begins again", effects, s.text)
	}
	s.Take(w, screen.Answer{Slot: slot, Done: true})
	if got := draw(); !strings.Contains(got, "It has ended") {
		t.Errorf("got %q, want that it has ended", got)
	}
	changing := New([]string{"run", "--follow", "a"})
	changing.Open(w)
	again := changing.Open(w)
	if e, ok := again[0].(screen.Ended); len(again) != 1 || !ok || e.Err == nil {
		t.Errorf("got %v, want that a command that changes something has ended", again)
	}
	if effects := changing.Open(w); len(effects) != 0 {
		t.Errorf("got %v, want that it has ended once", effects)
	}
}

// A process prints into the screen as it comes. It and what it has started end with the screen.
func TestConsoleShowsAProcess(t *testing.T) {
	w := screentest.NewWorld(t)
	for script, want := range map[string]string{
		"echo out; echo err >&2": "out err ✓ It has ended.",
		"echo out; exit 3":       "exit status 3",
	} {
		s := NewProcess("echo it", func(ctx context.Context) *exec.Cmd { return exec.CommandContext(ctx, "/bin/sh", "-c", script) })
		screentest.Settle(t, s, w, nil, s.Open(w))
		c := canvas.New(60, 6)
		s.Draw(c.View(), w)
		if got := strings.Join(strings.Fields(c.Text()), " "); !strings.Contains(got, want) || s.Heading(w) != "echo it" {
			t.Errorf("%s: got\n%s\nwant %q", script, got, want)
		}
	}
	command := custom.Command{Run: "sleep 1000 & echo started; exit 0"}
	s := NewProcess("sleep", func(ctx context.Context) *exec.Cmd { return command.Process(ctx, nil, nil) })
	ctx, leave := context.WithCancel(t.Context())
	defer leave()
	for value := range s.Open(w)[0].(screen.Follow).Call(ctx, nil) {
		if p := value.(screen.Printed); p.Text != "started\n" {
			t.Errorf("got %+v", p)
		}
		leave()
	}
	missing := NewProcess("none", func(ctx context.Context) *exec.Cmd { return exec.CommandContext(ctx, "/nonexistent") })
	screentest.Settle(t, missing, w, nil, missing.Open(w))
	if missing.err == nil {
		t.Error("got no error of a program that is missing")
	}
}

// A Do gets the first line of an error, or the last line of what was printed.
func TestConsoleReportsTheEnd(t *testing.T) {
	for _, tc := range []struct {
		answer screen.Answer
		want   string
	}{
		{screen.Answer{Value: screen.Printed{Text: "a\nended 2 pauses\n", Ended: true}}, "ended 2 pauses"},
		{screen.Answer{Value: screen.Printed{Text: "cronring: cannot resume\n  why   x\n", Ended: true, Failed: true}}, "cannot resume"},
		{screen.Answer{Err: errors.New("no pipe")}, "no pipe"},
	} {
		w := screentest.NewWorld(t)
		s := New([]string{"resume"})
		s.Open(w)
		e := s.Take(w, tc.answer)[0].(screen.Ended)
		if got := cmp.Or(e.Message, fmt.Sprint(e.Err)); got != tc.want {
			t.Errorf("got %q, want %q", got, tc.want)
		}
	}
}
