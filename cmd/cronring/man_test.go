package main

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/cronring/cronring/cmd/cronring/cli"
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
	compareSets(t, "commands", commands, submatches(page, `(?m)^\.It Cm (\S+)`))
	compareSets(t, "flags", flags, flagsIn(page))
}

func flagsIn(page string) []string {
	var flags []string
	for _, item := range submatches(page, `(?m)^\.It (Fl .*)`) {
		for _, name := range submatches(item, `Fl (\S+)`) {
			flags = append(flags, "-"+name)
		}
	}
	return flags
}

func submatches(text, pattern string) []string {
	var found []string
	for _, m := range regexp.MustCompile(pattern).FindAllStringSubmatch(text, -1) {
		found = append(found, m[1])
	}
	return found
}

func compareSets(t *testing.T, what string, inTree, inPage []string) {
	t.Helper()
	slices.Sort(inTree)
	slices.Sort(inPage)
	if diff := cmp.Diff(slices.Compact(inTree), slices.Compact(inPage)); diff != "" {
		t.Errorf("%s of the tree and of the manual page differ (-tree +page):\n%s", what, diff)
	}
}

// TestManExitCodes holds the page to the help topic.
func TestManExitCodes(t *testing.T) {
	_, section, _ := strings.Cut(manPage(t), ".Sh EXIT STATUS")
	compareSets(t, "exit codes", submatches(newExitCodes().Long, `(?m)^  (\d+) `), submatches(section, `(?m)^\.It (\d+)$`))
}
