package main

import (
	"os"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/cronring/cronring/cmd/cronring/cli"
	"github.com/cronring/cronring/cmd/cronring/clitest"
)

func manPage(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("../../man/cronring.1")
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

// TestManCommandsAndFlags holds the page to the tree of commands, both ways.
func TestManCommandsAndFlags(t *testing.T) {
	var commands, flags []string
	for _, c := range tree(t).Commands() {
		commands = append(commands, c.Name())
		for _, verb := range append(c.Commands(), c) {
			verb.InitDefaultHelpFlag()
			verb.Flags().VisitAll(func(f *pflag.Flag) {
				flags = append(flags, "--"+f.Name)
				if f.Shorthand != "" {
					flags = append(flags, "-"+f.Shorthand)
				}
			})
		}
	}
	page := manPage(t)
	clitest.CompareSets(t, "commands", commands, clitest.Submatches(page, `(?m)^\.It Cm (\S+)`))
	clitest.CompareSets(t, "flags", flags, flagsIn(page))
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
