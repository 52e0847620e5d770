package console

import (
	"strings"
	"testing"

	"github.com/cronring/cronring/tui/canvas"
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
	s.Take(w, screen.Answer{Value: screen.Printed{Text: strings.Repeat("x\n", 99) + "end\x1b[2J\n", Cut: true}})
	c := canvas.New(40, 10)
	s.Draw(c.View(), w)
	s.Act(w, keys.Last)
	c = canvas.New(40, 10)
	s.Draw(c.View(), w)
	if got := c.Text(); !strings.Contains(got, "end\\x1b[2J") || !strings.Contains(got, "left out") {
		t.Errorf("got %q, want the end of the output, without its control character, and what is left out", got)
	}
}
