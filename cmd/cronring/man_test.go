package main

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/cronring/cronring/cmd/cronring/cli"
	"github.com/cronring/cronring/cmd/cronring/clitest"
)

func manPage(t *testing.T) string { return readPage(t, "../../man/cronring.1") }

func readPage(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func tree(t *testing.T) *cobra.Command {
	t.Helper()
	root := newRoot(cli.New(strings.NewReader(""), os.Stdout, os.Stderr))
	root.InitDefaultHelpCmd()
	return root
}

// TestManCommandsAndFlags compares the page with the tree of commands: all commands
// are on it, and the flags that several commands have.
func TestManCommandsAndFlags(t *testing.T) {
	var commands, common []string
	count := map[string]int{}
	for _, c := range tree(t).Commands() {
		commands = append(commands, c.Name())
		for _, verb := range append(c.Commands(), c) {
			verb.InitDefaultHelpFlag()
			verb.Flags().VisitAll(func(f *pflag.Flag) { count[f.Name]++ })
		}
	}
	page := manPage(t)
	clitest.CompareSets(t, "commands", commands, clitest.Submatches(page, `(?m)^\.It Cm (\S+)`))
	listed := flagsIn(page)
	for name, n := range count {
		if n > 15 {
			common = append(common, name)
			if !slices.Contains(listed, "--"+name) {
				t.Errorf("--%s is a flag of %d commands and not on the page", name, n)
			}
		}
	}
	for _, flag := range listed {
		if name, long := strings.CutPrefix(flag, "--"); long && count[name] == 0 {
			t.Errorf("%s is on the page, but no command has it", flag)
		}
	}
	if len(common) < 5 {
		t.Errorf("common flags: %v, want several", common)
	}
}

func flagsIn(page string) []string {
	var flags []string
	for _, item := range clitest.Submatches(page, `(?m)^\.It (Fl .*)`) {
		for _, name := range clitest.Submatches(item, `Fl (\S+)`) {
			flags = append(flags, "-"+name)
		}
	}
	return flags
}

// TestManExitCodes holds the page to the help topic.
func TestManExitCodes(t *testing.T) {
	_, section, _ := strings.Cut(manPage(t), ".Sh EXIT STATUS")
	clitest.CompareSets(t, "exit codes", clitest.Submatches(newExitCodes().Long, `(?m)^  (\d+) `), clitest.Submatches(section, `(?m)^\.It (\d+)$`))
}
