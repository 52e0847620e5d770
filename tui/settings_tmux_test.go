package tui

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/cronring/cronring/daemon/filetest"
)

// colourful is the environment of a terminal that shows all colours.
var colourful = []string{"LANG=C.UTF-8", "TERM=tmux-256color", "COLORTERM=truecolor"}

// settingsFile is the file of the settings of a host's user.
func (h *host) settingsFile() string {
	return filepath.Join(h.dir, ".config", "cronring", "config.toml")
}

// A theme that is chosen on the screen of settings is shown before it is saved, and after the next
// start.
func TestTerminalChangesTheTheme(t *testing.T) {
	const green = "38;2;26;127;55" // of the theme light
	h := newHost(t, tasksCrontab)
	filetest.Write(t, h.settingsFile(), "# what I like\nmouse = true # always\n", 0o640)
	x := h.openWith(colourful, 80, 24)
	x.wait("live ", "sleepy")
	x.keys(",")
	x.wait("Options: /", ">theme", "Preview", "sleepy")
	x.keys("Enter")
	x.wait("[ansi]")
	x.keys("Right", "Right")
	x.wait("[light]")
	x.keys("Enter")
	x.wait("saved theme")
	x.keys("Escape")
	x.wait("[1 Jobs]")
	x.quit()
	text, err := os.ReadFile(h.settingsFile())
	if want := "# what I like\nmouse = true # always\ntheme = \"light\"\n"; err != nil || string(text) != want {
		t.Errorf("got the file %q, %v, want %q", text, err, want)
	}
	if info, err := os.Stat(h.settingsFile()); err != nil || info.Mode().Perm() != 0o640 {
		t.Errorf("got the mode %v, %v, want 0640", info.Mode(), err)
	}
	again := h.openWith(colourful, 80, 24, "--job", "fine")
	again.wait("live ", ">· new  fine")
	h.runNow("fine")
	again.wait(">✓ ok   fine")
	if got := again.quit(); !strings.Contains(got, green) {
		t.Errorf("the theme is not light: no %s in %q", green, got)
	}
}

// Another key for an action works, the help shows it, and the old key does nothing.
func TestTerminalRebindsAKey(t *testing.T) {
	h := newHost(t, tasksCrontab)
	x := h.open(100, 30, "--job", "fine")
	x.wait("live ", ">· new  fine")
	x.keys(",")
	x.wait("Options: ")
	x.keys("/")
	x.typing("run now")
	x.wait(">keys.run ")
	x.keys("Enter", "Enter")
	x.wait("press the new keys")
	x.keys("E", "Enter")
	x.wait("saved keys.run")
	x.keys("Escape")
	x.gone("/run now")
	x.keys("Escape")
	x.wait("[1 Jobs]", "E run")
	x.keys("?")
	x.wait("E              run now", "type to search") // the last line is painted last
	x.keys("Escape")
	x.gone("type to search")
	x.keys("r")
	x.wait("r does nothing here")
	x.keys("E")
	x.wait("Run fine now")
	x.quit()
	if text, err := os.ReadFile(h.settingsFile()); string(text) != "[keys]\nrun = \"E\"\n" {
		t.Errorf("got the file %q, %v", text, err)
	}
}

// Invalid settings have their usual values, and are reported with what to write.
func TestTerminalReportsInvalidSettings(t *testing.T) {
	h := newHost(t, tasksCrontab)
	filetest.Write(t, h.settingsFile(), "columns = [\"user\"]\nclock = \"13h\"\n", 0o600)
	x := h.open(100, 30)
	x.wait("line 2:", "invalid clock:", "\"24h\" or \"12h\"")
	screen := x.wait("JOB ", "USER", "live ", "sleepy")
	if strings.Contains(screen, "SCHEDULE") {
		t.Errorf("the columns are not those of the file:\n%s", screen)
	}
	x.keys(",")
	x.wait("✗ line 2: invalid clock", "clock ", "24h ", "wrong")
}

// The user's own editor opens the file, and what it has written is used when it ends.
func TestTerminalEditsTheSettings(t *testing.T) {
	h := newHost(t, tasksCrontab)
	editor := filepath.Join(h.dir, "editor")
	filetest.Write(t, editor, "#!/bin/sh\necho 'columns = [\"user\"]' >\"$1\"\n", 0o755)
	x := h.openWith([]string{"LANG=C.UTF-8", "TERM=tmux-256color", "EDITOR=" + editor}, 100, 30)
	x.wait("live ", "sleepy", "SCHEDULE")
	x.keys(",")
	x.wait("Options: ")
	x.keys("E")
	x.wait("columns", "user  ", "file")
	x.gone("SCHEDULE")
}

// A file that is edited while the dashboard runs is not overwritten.
func TestTerminalKeepsAnEditedFile(t *testing.T) {
	h := newHost(t, tasksCrontab)
	x := h.open(100, 30)
	x.wait("live ", "sleepy")
	x.keys(",")
	x.wait("Options: ")
	x.keys("Enter")
	x.wait("[ansi]")
	filetest.Write(t, h.settingsFile(), "theme = \"cvd\"\n", 0o600)
	x.keys("Right", "Enter")
	x.wait("was changed", "change the setting once more")
	x.wait("theme ", "cvd ")
	if text, err := os.ReadFile(h.settingsFile()); string(text) != "theme = \"cvd\"\n" {
		t.Errorf("got the file %q, %v", text, err)
	}
}

// With a longer refresh interval, the answer to a key is shown immediately, and what changes by itself
// later.
func TestTerminalRefreshes(t *testing.T) {
	h := newHost(t, tasksCrontab)
	filetest.Write(t, h.settingsFile(), "refresh = \"1m\"\nclock = \"12h\"\ntimes = \"absolute\"\n", 0o600)
	opened := time.Now()
	x := h.open(100, 30, "--job", "fine")
	x.wait("live ", ">· new  fine")
	h.runNow("fine")
	x.keys("?")
	x.wait("type to search")
	x.keys("Escape")
	x.gone("type to search")
	screen := x.until("it shows the list, with a clock of 12 hours", func(screen string) bool {
		return strings.Contains(screen, " fine") && strings.Contains(screen, "? help") && (strings.Contains(screen, "am UTC") || strings.Contains(screen, "pm UTC"))
	})
	if !strings.Contains(screen, "new  fine") && time.Since(opened) < 59*time.Second { // a refresh may come half a second early
		t.Errorf("a change of a job is shown before the interval is over:\n%s", screen)
	}
	short := newHost(t, tasksCrontab)
	filetest.Write(t, short.settingsFile(), "refresh = \"2s\"\n", 0o600)
	other := short.open(100, 30, "--job", "fine")
	other.wait("live ", ">· new  fine")
	short.runNow("fine")
	other.wait(">✓ ok   fine")
}
