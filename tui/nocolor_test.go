package tui

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestHushAsksNobody runs a command in an environment that claims to be tmux.
func TestHushAsksNobody(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "tmux"), []byte("#!/bin/sh\n>"+dir+"/asked\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
	p := openPTY(t, 80, 24)
	defer p.close()
	cmd := p.start(t, []string{"TERM=tmux-256color", "TMUX=" + dir + "/socket,1,0"}, program(t, "cronring"), "--version")
	p.wait(t, "cronring")
	if err := cmd.Wait(); err != nil {
		t.Errorf("got %v, want a good end", err)
	}
	if _, err := os.Stat(filepath.Join(dir, "asked")); err == nil {
		t.Error("tmux was started, want nothing started by a command that prints a line")
	}
}

// TestHushLeavesTheEnvironment compares what this program was started with and what
// it has: it is initialised as the product is.
func TestHushLeavesTheEnvironment(t *testing.T) {
	text, err := os.ReadFile("/proc/self/environ")
	if err != nil {
		t.Fatal(err)
	}
	noColor := func(env []string) string {
		i := slices.IndexFunc(env, func(v string) bool { return strings.HasPrefix(v, "NO_COLOR=") })
		if i < 0 {
			return "unset"
		}
		return env[i]
	}
	if got, want := noColor(os.Environ()), noColor(strings.Split(string(text), "\x00")); got != want {
		t.Errorf("NO_COLOR is %q, want it as it was: %q", got, want)
	}
}
