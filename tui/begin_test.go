package tui

import (
	"strings"
	"testing"

	"github.com/cronring/cronring/tui/canvas"
	"github.com/cronring/cronring/tui/keys"
	"github.com/cronring/cronring/tui/screen"
	"github.com/cronring/cronring/tui/screen/screentest"
	"github.com/cronring/cronring/tui/shell"
)

func TestDashboardBeginsWithTheEditor(t *testing.T) {
	s := newShell(Options{Start: shell.Start{World: *screentest.NewWorld(t), Screen: keys.ShowFiles}, Edit: "/etc/cron.d/etl"})
	s.Init(screentest.Now)
	first := func() string {
		c := canvas.New(80, 24)
		s.Draw(c.View())
		line, _, _ := strings.Cut(c.Text(), "\n")
		return line
	}
	if got := first(); !strings.HasPrefix(got, " Edit /etc/cron.d/etl") {
		t.Errorf("got %q, want the editor", got)
	}
	s.Key(screentest.Now, screen.Key{Name: "esc"})
	if got := first(); !strings.Contains(got, "[5 Files]") {
		t.Errorf("got %q after esc, want the files", got)
	}
}
