package tui

import (
	"os"
	"strings"
	"testing"
)

// TestTerminalEditsACrontab goes the whole way: from the list of files into the
// editor, over an error that blocks the save, to a file that is saved and restored.
func TestTerminalEditsACrontab(t *testing.T) {
	h := newHost(t, "#@ name=clock\n* * * * * true\n#@ name=nightly\n30 2 * * * true\n")
	x := h.open(160, 48, "--screen", "files")
	x.wait("[5 Files]", "my.crontab", "ok", "E own editor")
	x.keys("Enter")
	x.wait("Edit ", "30 2 * * * true", "Save would", "nothing is changed")
	x.keys("Down", "Down", "Down")
	x.wait("Line 4: at 02:30 every day")
	x.keys("C-t")
	x.wait("Run nightly now")
	x.keys("Escape")
	x.gone("Run nightly now")
	x.keys("End")
	x.typing("x")
	x.wait("~1 changed (nightly: command)")
	x.keys("C-t")
	x.wait("try: save first: its command here and in the file differ")
	x.keys("BSpace")
	x.wait("~0 changed")
	x.keys("Home")
	x.typing("6")
	x.wait("minute 630 is above 59", "blocked: 1 new error")
	x.keys("C-s")
	x.wait("save: blocked by 1 new error")
	x.keys("BSpace", "DC")
	x.wait("Line 4: at 02:00 every day", "~1 changed (nightly: schedule)")
	x.keys("Escape")
	x.wait("Discard what you changed")
	x.typing("n")
	x.gone("Discard what you changed")
	x.keys("C-s")
	x.wait("saved ", "2 entries", "z undo")
	if text := h.read(); !strings.Contains(text, "\n0 2 * * * true\n") {
		t.Errorf("saved: got %q", text)
	}
	x.keys("Escape")
	x.wait("[5 Files]", "install")
	x.keys("v")
	x.wait("Versions of", "It equals the current file")
	x.keys("j")
	x.wait("+ 30 2 * * * true", "- 0 2 * * * true")
	x.keys("u")
	x.wait("Put revision 1 of", "+1 -1 lines")
	x.keys("y")
	x.wait("restored ")
	if text := h.read(); !strings.Contains(text, "\n30 2 * * * true\n") {
		t.Errorf("restored: got %q", text)
	}
	x.keys("1")
	x.wait("[1 Jobs]", "nightly")
	x.keys("/")
	x.typing("nightly")
	x.keys("Enter", "D")
	x.wait("Delete 1 entry from 1 file?", "30 2 * * *", "Type 1 to confirm")
	x.typing("1")
	x.wait("deleted nightly")
	if text := h.read(); strings.Contains(text, "nightly") || !strings.Contains(text, "clock") {
		t.Errorf("deleted: got %q", text)
	}
	x.keys("z")
	x.wait("put nightly back")
	if text := h.read(); !strings.Contains(text, "#@ name=nightly\n30 2 * * * true\n") {
		t.Errorf("put back: got %q", text)
	}
	x.keys("z")
	x.wait("restored ", "1/1") // which is a selected file again
	x.keys("z")
	x.wait("Put revision ", "lines. The current version is kept")
	x.keys("Escape")
	x.gone("Put revision ")
	x.keys("5")
	x.wait("[5 Files]")
	x.keys(":")
	x.typing("pause [cn]*")
	x.wait("pause [cn]*", "2 jobs")
	x.keys("Enter")
	x.wait("Pause 2 jobs for how long?")
	x.keys("Enter", "Enter")
	x.wait("paused 2 jobs", "cronring pause clock nightly")
}

func (h *host) read() string {
	h.t.Helper()
	text, err := os.ReadFile(h.table)
	if err != nil {
		h.t.Fatal(err)
	}
	return string(text)
}
