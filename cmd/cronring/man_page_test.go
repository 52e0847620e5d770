package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/cronring/cronring/cmd/cronring/cli"
	"github.com/cronring/cronring/cmd/cronring/clitest"
	"github.com/cronring/cronring/daemon/filetest"
)

// TestManPagesAreTheTree compares the pages of the commands with the tree of commands: each
// command is on one page, with its flags, those of the commands below it, and its exit
// codes.
func TestManPagesAreTheTree(t *testing.T) {
	pages := allPages(t)
	hand := writtenByHand(t)
	described := 0
	for _, verb := range tree(t).Commands() {
		if verb.Name() == "help" || !verb.Runnable() {
			continue
		}
		described++
		name := "cronring-" + verb.Name()
		page, alone := pages[name+".1"]
		if guide, ok := pages[name+".7"]; ok == alone {
			t.Errorf("%s: got page in section 1 %t and in section 7 %t, want one of them", name, alone, ok)
		} else if ok {
			_, page, _ = strings.Cut(guide, ".Sh COMMAND\n")
		}
		var flags, codes []string
		for _, c := range append(verb.Commands(), verb) {
			flags = append(flags, flagNames(c)...)
			if !strings.Contains(page, c.CommandPath()) {
				t.Errorf("%s: got no synopsis of %q", name, c.CommandPath())
			}
		}
		clitest.CompareSets(t, "flags of "+verb.Name(), flags, flagsIn(page))
		if !alone {
			continue
		}
		for _, m := range meaningsOf(verb) {
			codes = append(codes, strings.TrimSpace(m.text))
		}
		_, section, _ := strings.Cut(page, ".Sh EXIT STATUS")
		clitest.CompareSets(t, "exit codes of "+verb.Name(), codes, clitest.Submatches(strings.NewReplacer(`\-`, "-", `\(aq`, "'").Replace(section), `(?m)^\.It \d+\n(.*)$`))
	}
	guides := 0
	for name, text := range hand {
		if !strings.HasPrefix(pages[name], text[:strings.Index(text, ".Sh SEE ALSO")]) {
			t.Errorf("%s is not among the pages that are written", name)
		}
		if pages[name] != text {
			guides++
		}
	}
	if guides != 3 || len(pages) != described+len(hand)-guides {
		t.Errorf("got %d pages for %d commands and %d pages by hand, %d of which describe a command", len(pages), described, len(hand), guides)
	}
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

// TestManWithoutViewer shows a page without man and mandoc: it is the help of the command, with
// all flags.
func TestManWithoutViewer(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	for _, verb := range paged(tree(t)) {
		stdout, stderr, code := Called(t, "", "man", verb.Name())
		if code != cli.ExitDone || stderr != "" {
			t.Errorf("cronring man %s: got exit %d and %q", verb.Name(), code, stderr)
		}
		for _, flag := range flagNames(verb) {
			if strings.HasPrefix(flag, "--") && !regexp.MustCompile(`(?m)^.*`+regexp.QuoteMeta(flag)+`\b`).MatchString(stdout) {
				t.Errorf("cronring man %s: got no %s in\n%s", verb.Name(), flag, stdout)
			}
		}
	}
}

func TestPageDateIsThatOfTheRelease(t *testing.T) {
	text, err := os.ReadFile("../../packaging/changelog.yaml")
	if err != nil {
		t.Fatal(err)
	}
	_, date, _ := strings.Cut(string(text), "\n  date: ")
	date, _, _ = strings.Cut(date, "\n")
	at, err := time.Parse(time.RFC3339, date)
	if want := at.Format("January 2, 2006"); err != nil || pageDate != want {
		t.Errorf("got pageDate %q, want that of the changelog's first entry, %q (%v)", pageDate, want, err)
	}
}

// TestManWithViewer passes on the output of a viewer, and tries the next one if the viewer fails.
func TestManWithViewer(t *testing.T) {
	bin := t.TempDir()
	t.Setenv("PATH", bin)
	script := func(name, text string) {
		t.Helper()
		filetest.Write(t, filepath.Join(bin, name), "#!/bin/sh\n"+text+"\n", 0o755)
	}
	script("man", "exit 16")
	script("mandoc", `read -r first <"$2"; echo "$1 ${2##*/} $first"`)
	if got, _, code := Called(t, "", "man", "ls"); code != cli.ExitDone || got != "-a cronring-list.1 .Dd "+pageDate+"\n" {
		t.Errorf("cronring man ls: got exit %d and %q, want what mandoc says of the page", code, got)
	}
	for line, want := range map[string]string{
		"man why":       "cronring-why.7",
		"man crontab":   "crontab.1",
		"man 5 crontab": "crontab.5",
		"man options":   "cronring-options.7",
		"help cookbook": "cronring-cookbook.7",
		"help crontab":  "crontab.1",
	} {
		if got, stderr, code := Called(t, "", strings.Fields(line)...); code != cli.ExitDone || !strings.HasPrefix(got, "-a "+want+" ") {
			t.Errorf("cronring %s: got exit %d, %q and %q, want %s", line, code, got, stderr, want)
		}
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
	for _, name := range []string{"cronring-list(1)", "cronring-why(7)", "cronring-cookbook(7)", "crontab(5)"} {
		if code != cli.ExitDone || !strings.Contains(stdout, name) {
			t.Errorf("cronring man: got exit %d and %q, want a list of pages with %s", code, stdout, name)
		}
	}
	_, stderr, code = Called(t, "", "man", "--dir", t.TempDir(), "list")
	if code != cli.ExitUsage {
		t.Errorf("cronring man --dir DIR list: got exit %d and %q, want %d", code, stderr, cli.ExitUsage)
	}
}

// A guide cannot be shown without man or mandoc, and the error explains that.
func TestManGuideWithoutViewer(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	_, stderr, code := Called(t, "", "man", "cookbook")
	if code != 3 || !strings.Contains(stderr, "neither man nor mandoc is installed") {
		t.Errorf("cronring man cookbook: got exit %d and %q, want 3 and why", code, stderr)
	}
}

// TestHelpFindsEverything requests help for an option, a topic and a command, and for a name that
// does not exist.
func TestHelpFindsEverything(t *testing.T) {
	for line, want := range map[string]string{
		"help tz=":            "tz=ZONE: time zone of the time fields\n",
		"help retry=3":        "retry=N: further attempts after a failure\n",
		"help catchup":        "catchup=cron|skip|once|all:",
		"help environment":    "CRONRING_SOCKET",
		"help retry":          "cronring retry",
		"help backfill list":  "cronring backfill list",
		"help":                "Usage:\n  cronring",
		"help tz=Europe/Oslo": "if the value is invalid, the job is held",
		"help overlap=":       "a new run starts beside a running one",
		"options tz overlap":  "\n\noverlap=POLICY:",
		"options":             "retry=N\t0\tfurther attempts after a failure\n",
	} {
		if got, stderr, code := Called(t, "", strings.Fields(line)...); code != cli.ExitDone || !strings.Contains(got, want) {
			t.Errorf("cronring %s: got exit %d, %q and %q, want %q", line, code, got, stderr, want)
		}
	}
	for line, want := range map[string]string{
		"help explian":    "fix   cronring help explain",
		"help overlop=":   "fix   cronring help overlap=",
		"options overlop": "fix   cronring options overlap",
		"help cokbook":    "fix   cronring help cookbook",
	} {
		if _, stderr, code := Called(t, "", strings.Fields(line)...); code == cli.ExitDone || !strings.Contains(stderr, want) {
			t.Errorf("cronring %s: got exit %d and %q, want %q", line, code, stderr, want)
		}
	}
}
