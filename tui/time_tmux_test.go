package tui

import (
	"strings"
	"testing"
)

// TestTerminalShowsTime goes along the time line of the demo, to the minutes in
// which its jobs start together, and to what a change of the clock does to one.
func TestTerminalShowsTime(t *testing.T) {
	h := newHost(t, demo(t))
	x := h.open(80, 24)
	x.wait("metronome")
	x.keys("3")
	x.wait("[3 Timeline]", "1 cell = 30 min", "peak ", "busiest minute", "metronome")
	x.until("what ran and what is planned stands in the row of the metronome", func(screen string) bool {
		return strings.Contains(row(screen, "metronome"), "∙∙∙∙") && strings.Contains(row(screen, "metronome"), "■")
	})
	x.keys("+")
	x.wait("1 cell = 15 min")
	x.keys("h")
	x.keys("0")
	x.typing("/")
	x.typing("new-york")
	x.keys("Enter")
	x.wait("1 of 16")
	x.gone("metronome")
	x.keys("C-t")
	x.wait("DST preview: new-york  30 2 * * *  America/New_York", "02:30 does not exist: it runs once at 03:00 -04:00", "02:30", "no effect")
	x.keys("Tab")
	x.wait("jobs in the next two changes of their clocks", "EFFECT", "new-york")
	x.keys("Escape")
	x.wait("DST preview: new-york")
	x.keys("Escape")
	x.wait("[3 Timeline]", "1 of 16")
	x.keys("Escape")
	x.wait("metronome")
	x.keys("c")
	x.wait("Clashes: minutes with several starts", "quietest, daily", "QUIETEST")
	x.keys("Enter")
	x.wait("[3 Timeline]", "1 cell = 2 min", " starts of ")
	x.keys("4")
	x.wait("[4 Ring]", "no ring  1 of 1 up", "What a ring is")
	x.keys("H")
	x.wait("Next hour: ", " with clashes", "LAST TOOK", "metronome")
	x.keys("%")
	x.wait("Statistics: ", ", 30 days", "1ST HALF", "under 10 % failed")
	x.keys("-")
	x.wait(", 90 days")
	x.keys("Tab")
	x.wait("Statistics: all jobs, 30 days", "metronome", "SLOWEST")
	x.resize(40, 15)
	x.keys("3")
	x.wait("? help", "NEXT")
	x.keys("C-c")
	if end := x.ended(); end != "0" {
		t.Errorf("got the end %q, want 0", end)
	}
}

// row is the line of a screen that begins with a name.
func row(screen, name string) string {
	for line := range strings.Lines(screen) {
		if strings.HasPrefix(strings.TrimLeft(line, " >"), name) {
			return line
		}
	}
	return ""
}
