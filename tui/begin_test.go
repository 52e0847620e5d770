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

// Hosts that the settings name are on their screen, but it is not the first one.
func TestDashboardBeginsWithHostsIfAsked(t *testing.T) {
	for hosts, want := range map[bool]string{false: "[1 Jobs]", true: "Hosts: "} {
		s := newShell(Options{Start: shell.Start{World: *screentest.NewWorld(t)}, Hosts: hosts})
		s.Init(screentest.Now)
		c := canvas.New(80, 24)
		s.Draw(c.View())
		if first, _, _ := strings.Cut(c.Text(), "\n"); !strings.Contains(first, want) {
			t.Errorf("hosts %v: got %q, want %q", hosts, first, want)
		}
	}
}

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
