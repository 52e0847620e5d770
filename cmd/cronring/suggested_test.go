package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/cronring/cronring/cmd/cronring/cli"
)

// TestSuggestedCommandsExist looks up the commands that the daemon passes to lookup: its errors
// suggest them for the job with the nearest name.
func TestSuggestedCommandsExist(t *testing.T) {
	root := newRoot(cli.New(nil, os.Stdout, os.Stderr))
	literal := regexp.MustCompile(`(?:find\.[A-Z]\w+\(ctx, (?:t\.)?c, |verb :?= )"([a-z][a-z ]*?)(?: --\w+)?"`)
	packages, _ := filepath.Glob("../../daemon/server/*/*.go")
	files, _ := filepath.Glob("../../daemon/server/*.go")
	found := map[string]bool{}
	for _, file := range append(files, packages...) {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, match := range literal.FindAllStringSubmatch(string(text), -1) {
			found[strings.TrimSpace(match[1])] = true
		}
	}
	for command := range found {
		if cmd, _, err := root.Find(strings.Fields(command)); err != nil || cmd.CommandPath() != "cronring "+command {
			t.Errorf("there is no command %q: %v", command, err)
		}
	}
	if len(found) < 20 {
		t.Errorf("found %d commands in the sources, want all", len(found))
	}
}
