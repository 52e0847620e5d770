package tui

import (
	"os"
	"strings"
	"testing"
)

const welcomeTitle = "Hints for the first start"

// TestTerminalWelcomesOnce shows the hints at the first start until a key is pressed, and never again.
func TestTerminalWelcomesOnce(t *testing.T) {
	h := newHost(t, tasksCrontab)
	if err := os.Remove(h.hints()); err != nil {
		t.Fatal(err)
	}
	h.configure("hints = false\n")
	x := h.open(80, 24)
	if got := x.wait("live ", "sleepy", "? help"); strings.Contains(got, welcomeTitle) {
		t.Errorf("hints are shown that were turned off:\n%s", got)
	}
	x.quit()
	h.configure("")
	x = h.open(80, 24)
	x.wait("live ", welcomeTitle, "why it ran or did not", "lists all keys", "? help")
	x.keys("2")
	x.wait("[2 Runs]")
	x.gone(welcomeTitle)
	x.quit()
	x = h.open(80, 24)
	if got := x.wait("live ", "sleepy", "? help"); strings.Contains(got, welcomeTitle) {
		t.Errorf("hints are shown again:\n%s", got)
	}
}
