package main

import (
	"bytes"
	"encoding/json"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/pflag"

	"github.com/cronring/cronring/crontab"
	"github.com/cronring/cronring/daemon"
	"github.com/cronring/cronring/man/mantest"
)

// The page has every flag of the program and no other, and those of both families'
// crons.
func TestManPageHasTheFlags(t *testing.T) {
	page := manPage(t)
	var help bytes.Buffer
	if status := run([]string{"--help"}, nil, &help); status != 0 {
		t.Errorf("--help: exit status %d", status)
	}
	inHelp := flagsIn(regexp.MustCompile(`(?m)^ +--([a-z-]+)`), help.String())
	inPage := flagsIn(regexp.MustCompile(`(?m)^\.It Fl -([a-z-]+)`), page)
	if !slices.Equal(inHelp, inPage) {
		t.Errorf("flags of the program: %q, of the page: %q", inHelp, inPage)
	}
	_, crons, _ := strings.Cut(page, "The options of the host's own cron")
	crons, _, _ = strings.Cut(crons, ".Ss ")
	debian, rhel, _ := strings.Cut(crons, "On Red Hat and related systems:")
	for family, text := range map[crontab.Family]string{crontab.Debian: debian, crontab.RHEL: rhel} {
		var inProgram []string
		f := pflag.NewFlagSet("", pflag.ContinueOnError)
		cronFlags(f, &daemon.Options{}, family, new(bool))
		f.VisitAll(func(f *pflag.Flag) { inProgram = append(inProgram, f.Shorthand) })
		slices.Sort(inProgram)
		if printed := flagsIn(regexp.MustCompile(`(?m)^\.Fl ([A-Za-z])\b(?: , ([a-z])$)?`), text); !slices.Equal(inProgram, printed) {
			t.Errorf("options of cron, family %v: the program has %q, the page %q", family, inProgram, printed)
		}
	}
}

func manPage(t *testing.T) string {
	t.Helper()
	page, err := os.ReadFile("../../man/cronringd.8")
	if err != nil {
		t.Fatal(err)
	}
	return string(page)
}

func flagsIn(pattern *regexp.Regexp, text string) (flags []string) {
	for _, m := range pattern.FindAllStringSubmatch(text, -1) {
		for _, flag := range m[1:] {
			if flag != "" {
				flags = append(flags, flag)
			}
		}
	}
	slices.Sort(flags)
	return slices.Compact(flags)
}

// The page names the signals that the program handles.
func TestManPageHasTheSignals(t *testing.T) {
	source, err := os.ReadFile("main.go")
	if err != nil {
		t.Fatal(err)
	}
	_, asked, _ := strings.Cut(string(source), "signal.Notify(signals, ")
	asked, _, _ = strings.Cut(asked, ")")
	inProgram := flagsIn(regexp.MustCompile(`syscall\.(SIG[A-Z0-9]+)`), asked)
	inPage := flagsIn(regexp.MustCompile(`(?m)^\.It Dv (SIG[A-Z0-9]+)(?: , (SIG[A-Z0-9]+))?$`), manPage(t))
	if len(inProgram) == 0 || !slices.Equal(inProgram, inPage) {
		t.Errorf("signals of the program: %q, of the page: %q", inProgram, inPage)
	}
}

// The program can parse every command line on its pages.
func TestManPageCommandLines(t *testing.T) {
	pages, err := mantest.Pages("../../man")
	if err != nil {
		t.Fatal(err)
	}
	var lines [][]string
	for name, text := range pages {
		for _, line := range mantest.Named(text) {
			lines = append(lines, strings.Fields(line))
		}
		examples, err := mantest.Examples(name, text)
		if err != nil {
			t.Error(err)
		}
		for _, e := range examples {
			_, entrypoint, ok := strings.Cut("\n"+e.Text, "\nENTRYPOINT ")
			switch {
			case e.Kind == mantest.Dockerfile:
				var words []string
				if err := json.Unmarshal([]byte(entrypoint), &words); err != nil || !ok {
					t.Errorf("%v: %q is no list of words: %v", e, e.Text, err)
				}
				lines = append(lines, words)
			case e.Kind == mantest.Shell, e.Kind == mantest.NotRun:
				lines = append(lines, mantest.Commands(e.Text)...)
			}
		}
	}
	read := 0
	for _, words := range lines {
		if len(words) == 0 || words[0] != "cronringd" {
			continue
		}
		read++
		if _, err := parse(&daemon.Options{}, words[1:], crontab.Debian); err != nil {
			t.Errorf("%q: %v", words, err)
		}
	}
	if read < 3 {
		t.Errorf("got %d command lines of cronringd on the pages, want at least 3", read)
	}
}
