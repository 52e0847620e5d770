package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/cronring/cronring/cmd/cronring/cli"
	"github.com/cronring/cronring/cmd/cronring/clitest"
)

// writtenPages has the program write all pages, and gives them by name.
func writtenPages(t *testing.T) (pages map[string]string) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "man1")
	if _, stderr, code := Called(t, "", "man", "--dir", dir); code != cli.ExitDone {
		t.Fatalf("cronring man --dir: got exit %d: %s", code, stderr)
	}
	files, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	pages = map[string]string{}
	for _, f := range files {
		text, err := os.ReadFile(filepath.Join(dir, f.Name()))
		if err != nil {
			t.Fatal(err)
		}
		pages[strings.TrimSuffix(strings.TrimPrefix(f.Name(), "cronring-"), ".1")] = string(text)
	}
	return pages
}

// TestManPagesAreTheTree holds the pages of the verbs to the tree, both ways: one
// page for each verb and none beside, with its flags and those of the verbs below
// it, and with its exit codes.
func TestManPagesAreTheTree(t *testing.T) {
	pages := writtenPages(t)
	var verbs, inPages []string
	for name := range pages {
		inPages = append(inPages, name)
	}
	for _, verb := range tree(t).Commands() {
		if verb.Name() == "help" || !verb.IsAvailableCommand() {
			continue
		}
		verbs = append(verbs, verb.Name())
		page := pages[verb.Name()]
		var flags, codes []string
		for _, c := range append(verb.Commands(), verb) {
			flags = append(flags, flagNames(c)...)
			if !strings.Contains(page, `.Nm "`+c.CommandPath()+`"`) {
				t.Errorf("man/cronring-%s.1: got no synopsis of %q", verb.Name(), c.CommandPath())
			}
		}
		clitest.CompareSets(t, "flags of "+verb.Name(), flags, flagsIn(page))
		for _, m := range meaningsOf(verb) {
			codes = append(codes, strings.TrimSpace(m.text))
		}
		_, section, _ := strings.Cut(page, ".Sh EXIT STATUS")
		clitest.CompareSets(t, "exit codes of "+verb.Name(), codes, clitest.Submatches(strings.NewReplacer(`\-`, "-", `\(aq`, "'").Replace(section), `(?m)^\.It \d+\n(.*)$`))
	}
	clitest.CompareSets(t, "verbs", verbs, inPages)
}

func flagNames(c *cobra.Command) (names []string) {
	c.InitDefaultHelpFlag()
	c.Flags().VisitAll(func(f *pflag.Flag) {
		names = append(names, "--"+f.Name)
		if f.Shorthand != "" {
			names = append(names, "-"+f.Shorthand)
		}
	})
	return names
}

// TestManWithoutViewer shows a page where there is neither man nor mandoc: it has
// all flags, and no line is wider than a terminal but those that stand as they are.
func TestManWithoutViewer(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	for _, verb := range paged(tree(t)) {
		stdout, stderr, code := Called(t, "", "man", verb.Name())
		if code != cli.ExitDone || stderr != "" {
			t.Errorf("cronring man %s: got exit %d and %q", verb.Name(), code, stderr)
		}
		for _, line := range strings.Split(stdout, "\n") {
			if len(line) > 80 && !strings.HasPrefix(line, "         ") {
				t.Errorf("cronring man %s: got a line of %d: %q", verb.Name(), len(line), line)
			}
		}
		for _, flag := range flagNames(verb) {
			if !regexp.MustCompile(`(?m)^ {7}.*` + regexp.QuoteMeta(flag) + `\b`).MatchString(stdout) {
				t.Errorf("cronring man %s: got no %s in\n%s", verb.Name(), flag, stdout)
			}
		}
	}
}

// TestManWithViewer passes on what a program shows, and goes on without one that
// fails.
func TestManWithViewer(t *testing.T) {
	bin := t.TempDir()
	t.Setenv("PATH", bin)
	script := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(bin, name), []byte("#!/bin/sh\n"+text+"\n"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	script("man", "exit 16")
	script("mandoc", `read -r first <"$2"; echo "$1 ${2##*/} $first"`)
	if got, _, code := Called(t, "", "man", "ls"); code != cli.ExitDone || got != "-a cronring-list.1 .Dd "+pageDate+"\n" {
		t.Errorf("cronring man ls: got exit %d and %q, want what mandoc says of the page", code, got)
	}
	script("man", `echo "man $1"`)
	if got, _, _ := Called(t, "", "man", "list"); got != "man -l\n" {
		t.Errorf("cronring man list: got %q, want what man says", got)
	}
}

func TestManUnknown(t *testing.T) {
	_, stderr, code := Called(t, "", "man", "lits")
	if code != 3 || !strings.Contains(stderr, "fix   cronring man list") {
		t.Errorf("cronring man lits: got exit %d and %q, want 3 and the nearest", code, stderr)
	}
	stdout, _, code := Called(t, "", "man")
	if code != cli.ExitDone || !strings.Contains(stdout, "cronring-why(1)") {
		t.Errorf("cronring man: got exit %d and %q, want a list of pages", code, stdout)
	}
}
