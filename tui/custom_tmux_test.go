package tui

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// configure writes the settings of the user of a dashboard.
func (h *host) configure(text string) {
	h.t.Helper()
	dir := filepath.Join(h.dir, ".config", "cronring")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		h.t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "config.toml"), []byte(text), 0o600); err != nil {
		h.t.Fatal(err)
	}
}

// TestTerminalRunsCustomCommands has commands that print into a pane, on the terminal and a message,
// and one whose key is taken.
func TestTerminalRunsCustomCommands(t *testing.T) {
	h := newHost(t, tasksCrontab)
	h.configure(`[[command]]
name = "what it would run"
key = "L"
run = "cronring show {job} | grep -i command; echo from {file}, line {line}"

[[command]]
name = "list it"
key = "B"
run = "echo listed {job}; read line; echo got $line"
output = "terminal"

[[command]]
name = "note it"
key = "U"
run = "echo noted {job} >>notes; tail -n 1 notes"
output = "message"
confirm = true

[[command]]
name = "an own run"
key = "r"
run = "false"
`)
	x := h.openWith([]string{"LANG=C.UTF-8", "TERM=tmux-256color", "PATH=" + filepath.Dir(program(t, "cronring")) + ":" + os.Getenv("PATH")}, 100, 30, "--job", "fine")
	x.wait("config.toml: line 19:", "already", ">· new  fine") // the lines of a message end at any blank
	x.keys("L")
	x.wait("cronring show fine", "echo all is well", "from "+h.table+", line 4", "It has ended")
	x.keys("Escape")
	x.wait("[1 Jobs]")
	x.keys("?")
	x.wait("custom commands", "what it would run", "list it", "an own run (the key is run already)")
	x.keys("Escape")
	x.gone("custom commands")
	x.keys("U")
	x.wait("Run this command?  echo noted fine >>notes")
	x.keys("y")
	x.wait("noted fine   echo noted fine")
	if text, err := os.ReadFile(filepath.Join(h.dir, "notes")); err != nil || string(text) != "noted fine\n" {
		t.Errorf("noted %q, error %v", text, err)
	}
	x.keys("B")
	x.wait("listed fine")
	x.typing("typed")
	x.keys("Enter")
	x.wait("[1 Jobs]", "list it   echo listed fine")
	x.keys("r")
	x.wait("Run fine now")
	x.keys("Escape")
	x.gone("Run fine now")
	x.keys(":")
	x.typing("an own")
	x.keys("Enter")
	x.wait("exit status 1")
	if text := x.quit(); !strings.Contains(text, "got typed") {
		t.Error("the command on the terminal did not read what was typed")
	}
}
