package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/cronring/cronring/cmd/cronring/cli"
	"github.com/cronring/cronring/cmd/cronring/clitest"
	"github.com/cronring/cronring/cmd/cronring/crontab1"
	"github.com/cronring/cronring/daemon/filetest"
	"github.com/cronring/cronring/daemon/hosttest"
	"github.com/cronring/cronring/daemon/spool"
	"github.com/cronring/cronring/man/mantest"
	"github.com/cronring/cronring/tui/settings"
)

// allPages are the pages as they are installed, by file name.
func allPages(t *testing.T) map[string]string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "man")
	if _, stderr, code := Called(t, "", "man", "--dir", dir); code != cli.ExitDone {
		t.Fatalf("cronring man --dir: got exit %d: %s", code, stderr)
	}
	pages, err := mantest.Pages(dir)
	if err != nil {
		t.Fatal(err)
	}
	return pages
}

func writtenByHand(t *testing.T) map[string]string {
	t.Helper()
	pages, err := mantest.Pages("../../man")
	if err != nil {
		t.Fatal(err)
	}
	return pages
}

// examplesOf are the examples of a page.
func examplesOf(t *testing.T, page, text string) []mantest.Example {
	t.Helper()
	examples, err := mantest.Examples(page, text)
	if err != nil {
		t.Error(err)
	}
	return examples
}

// TestManualCommandLines holds every command line of the manual pages, in examples
// and in the text, to the verbs, flags and arguments that there are.
func TestManualCommandLines(t *testing.T) {
	shown, named := 0, 0
	for page, text := range allPages(t) {
		for _, e := range examplesOf(t, page, text) {
			if e.Kind != mantest.Shell && e.Kind != mantest.Tutorial {
				continue
			}
			for _, words := range mantest.Commands(e.Text) {
				shown++
				checkCommandLine(t, e.String(), words, true)
			}
		}
		for _, line := range mantest.Named(text) {
			named++
			checkCommandLine(t, page, strings.Fields(line), false)
		}
	}
	if shown < 100 || named < 80 {
		t.Errorf("got %d command lines in examples and %d in texts, want at least 100 and 80", shown, named)
	}
}

// checkCommandLine parses a command line like the programs. A command line within a sentence may
// lack arguments.
func checkCommandLine(t *testing.T, where string, words []string, complete bool) {
	t.Helper()
	if words[0] == "sudo" {
		words = words[1:]
	}
	if words[0] == "crontab" {
		c := crontab1.Program{Host: spool.ThisHost()}
		if _, err := c.Parse(words[1:]); err != nil {
			t.Errorf("%s: %q: %v", where, words, err)
		}
		return
	}
	if words[0] != "cronring" {
		return
	}
	cmd, rest, err := tree(t).Find(words[1:])
	if err == nil && !cmd.HasParent() && len(rest) > 0 && !strings.HasPrefix(rest[0], "-") && rest[0] != "X" && rest[0] != "help" {
		err = fmt.Errorf("no command %s", rest[0])
	}
	if err == nil {
		err = cmd.ParseFlags(rest)
	}
	if err == nil && complete {
		err = cmd.ValidateArgs(cmd.Flags().Args())
	}
	if err == nil && complete {
		err = cmd.ValidateFlagGroups()
	}
	if err != nil {
		t.Errorf("%s: %q: %v", where, words, err)
	}
}

// TestManualPrints runs the commands of pages that show their output; with UPDATE_SCRIPTS=1 it
// rewrites the output. No such command needs a daemon.
func TestManualPrints(t *testing.T) {
	t.Setenv("TZ", "UTC")
	t.Setenv("LC_ALL", "C.UTF-8")
	t.Setenv("CRONRING_SOCKET", filepath.Join(t.TempDir(), "none"))
	shown := 0
	for page, text := range writtenByHand(t) {
		dir, changed := t.TempDir(), text
		examples := examplesOf(t, page, text)
		writeFiles(t, dir, examples)
		for i, e := range slices.Backward(examples) { // backwards, so that a longer text does not move the following examples
			switch {
			case e.Kind != mantest.Prints:
				continue
			case i == 0 || examples[i-1].Kind != mantest.Shell:
				t.Errorf("%v: no command stands above what is printed", e)
				continue
			}
			shown++
			run := exec.Command("sh", "-c", examples[i-1].Text)
			run.Dir = dir
			got, err := run.CombinedOutput()
			if err != nil || string(got) != e.Text {
				t.Errorf("%v: %s: got %v and\n%s\nwant\n%s", examples[i-1], examples[i-1].Text, err, got, e.Text)
				changed = e.With(changed, string(got))
			}
		}
		if os.Getenv("UPDATE_SCRIPTS") != "" && changed != text {
			filetest.Write(t, filepath.Join("../../man", page), changed, 0o644)
		}
	}
	if shown < 4 {
		t.Errorf("got %d examples with what they print, want at least 4", shown)
	}
}

// writeFiles makes the files that examples know by name.
func writeFiles(t *testing.T, dir string, examples []mantest.Example) {
	t.Helper()
	for _, e := range examples {
		if name, ok := strings.CutPrefix(e.More, "as "); ok {
			filetest.Write(t, filepath.Join(dir, name), e.Text, 0o644)
		}
	}
}

// TestManualSettings has the dashboard read the examples of its settings.
func TestManualSettings(t *testing.T) {
	read := 0
	for _, e := range examplesOf(t, "cronring-dashboard.7", readPage(t, "../../man/cronring-dashboard.7")) {
		if e.Kind != mantest.Settings {
			continue
		}
		read++
		path := filepath.Join(t.TempDir(), "config.toml")
		filetest.Write(t, path, e.Text, 0o600)
		if f := settings.Open(path); len(f.Problems) > 0 {
			t.Errorf("%v: got %q, want no problem", e, f.Problems)
		}
	}
	if read != 4 {
		t.Errorf("man/cronring-dashboard.7 has %d examples of settings, want 4", read)
	}
}

// TestManualRefersToPages holds every reference to a page of this program's to one
// that there is.
func TestManualRefersToPages(t *testing.T) {
	pages := allPages(t)
	for name, text := range pages {
		for _, to := range clitest.Submatches(text, `(?m)^\.Xr (\S+ \d)`) {
			file := strings.Replace(to, " ", ".", 1)
			if _, ok := pages[file]; strings.HasPrefix(to, "cron") && !ok {
				t.Errorf("man/%s refers to %q: got no such page", name, to)
			}
			if file == name {
				t.Errorf("man/%s refers to itself", name)
			}
		}
	}
}

// TestManualNamesMetrics compares the metrics that pages name, such as those in rules for
// alerts, with the list of metrics.
func TestManualNamesMetrics(t *testing.T) {
	pages := writtenByHand(t)
	listed := clitest.Submatches(pages["cronring-metrics.7"], `(?m)^\.It Va (cronring_\w+)`)
	found := 0
	for page, text := range pages {
		for _, name := range clitest.Submatches(text, `\b(cronring_[a-z_]+)\b`) {
			found++
			if !slices.Contains(listed, strings.TrimSuffix(name, "_bucket")) {
				t.Errorf("man/%s names the metric %s, which does not exist", page, name)
			}
		}
	}
	if found < len(listed)+6 {
		t.Errorf("got %d names of metrics, want more than the %d of the list", found, len(listed))
	}
}

// TestManualIsWellFormed holds all pages to mandoc's grammar, and to the sections
// that each must have, in the order of mdoc(7).
func TestManualIsWellFormed(t *testing.T) {
	order := []string{
		"NAME", "SYNOPSIS", "DESCRIPTION", "ENVIRONMENT", "FILES", "EXIT STATUS", "EXAMPLES", "DIAGNOSTICS", "SEE ALSO", "STANDARDS", "HISTORY", "CAVEATS",
	}
	pages := allPages(t)
	for name, text := range pages {
		sections := clitest.Submatches(text, `(?m)^\.Sh (.*)$`)
		for _, must := range []string{"NAME", "DESCRIPTION", "SEE ALSO"} {
			if !slices.Contains(sections, must) {
				t.Errorf("man/%s has no section %s", name, must)
			}
		}
		at := -1
		for _, section := range sections {
			i := slices.Index(order, section)
			if i >= 0 && i < at {
				t.Errorf("man/%s: the section %s stands behind %s", name, section, order[at])
			}
			at = max(at, i)
		}
	}
	mandoc, err := exec.LookPath("mandoc")
	if err != nil {
		hosttest.Missing(t, "mandoc is not installed")
	}
	dir := t.TempDir()
	args := []string{"-T", "lint", "-W", "warning"}
	for name, text := range pages {
		path := filepath.Join(dir, name)
		filetest.Write(t, path, text, 0o600)
		args = append(args, path)
	}
	if out, err := exec.Command(mandoc, args...).CombinedOutput(); err != nil || len(out) > 0 {
		t.Errorf("mandoc -T lint -W warning: got %v\n%s", err, out)
	}
}

// TestManualIsNoWiderThanATerminal has mandoc show the pages, and finds what is cut
// on a terminal of 80 columns.
func TestManualIsNoWiderThanATerminal(t *testing.T) {
	mandoc, err := exec.LookPath("mandoc")
	if err != nil {
		hosttest.Missing(t, "mandoc is not installed")
	}
	backspaced := regexp.MustCompile(`.\x08`)
	for name, text := range allPages(t) {
		show := exec.Command(mandoc, "-T", "utf8")
		show.Stdin = strings.NewReader(text)
		out, err := show.Output()
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(backspaced.ReplaceAllString(string(out), "")) {
			if line = strings.TrimRight(line, "\n"); len([]rune(line)) > 80 {
				t.Errorf("man/%s: a line of %d columns: %q", name, len([]rune(line)), line)
			}
		}
	}
}

// TestManualNamesEachVariable holds the page to the help topic, both ways, and to
// what the program looks up.
func TestManualNamesEachVariable(t *testing.T) {
	_, section, _ := strings.Cut(manPage(t), ".Sh ENVIRONMENT")
	section, _, _ = strings.Cut(section, ".Sh FILES")
	var printed, named, sought []string
	variable := regexp.MustCompile(`\b[A-Z][A-Z_]{2,}\b`)
	for _, item := range clitest.Submatches(section, `(?m)^\.(It Ev .*|Ev LESS)$`) {
		printed = append(printed, variable.FindAllString(item, -1)...)
	}
	topic, _, _ := strings.Cut(newTopics()[1].Long, "A flag goes before")
	for line := range strings.Lines(topic) {
		if first := strings.Fields(line); len(first) > 0 && variable.MatchString(first[0]) {
			named = append(named, variable.FindAllString(strings.Split(line, "  ")[1], -1)...)
		}
	}
	clitest.CompareSets(t, "variables of cronring help environment", named, printed)

	for _, pattern := range []string{"*.go", "*/*.go", "../../tui/*.go", "../../tui/*/*.go", "../../daemon/api/*.go"} {
		files, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			source, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if !strings.HasSuffix(file, "_test.go") {
				sought = append(sought, clitest.Submatches(string(source), `(?i:getenv|lookupenv|env)\("([A-Z][A-Z_]+)"\)`)...)
			}
		}
	}
	for _, name := range sought {
		if !slices.Contains(printed, name) && !strings.Contains(manPage(t), name) && !slices.Contains([]string{"TMPDIR", "CRONTAB_NOHEADER"}, name) { // crontab(1)'s
			t.Errorf("the program looks %s up: got nothing about it in man/cronring.1", name)
		}
	}
	if len(sought) < 15 {
		t.Errorf("got %q that the program looks up, want at least 15", sought)
	}
}

// Each difference from other crons has a test, which the page names in a comment.
func TestDifferencesPageNamesItsTests(t *testing.T) {
	t.Parallel()
	page := writtenByHand(t)["cronring-differences.7"]
	exist := map[string]bool{}
	function := regexp.MustCompile(`(?m)^func (Test\w+)\(`)
	err := filepath.WalkDir("../..", func(path string, _ os.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		text, err := os.ReadFile(path)
		for _, m := range function.FindAllSubmatch(text, -1) {
			exist[string(m[1])] = true
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	items := strings.Split(page, "\n.It\n")[1:]
	for _, item := range items {
		_, tests, _ := strings.Cut(item, `.\" test: `)
		tests, _, _ = strings.Cut(tests, "\n")
		if tests == "" {
			t.Errorf("no test is named for this difference:\n%s", item)
		}
		for _, name := range strings.Fields(tests) {
			if !exist[name] {
				t.Errorf("%s is named, but does not exist", name)
			}
		}
	}
	if len(items) < 30 {
		t.Errorf("%d differences, want all of them", len(items))
	}
}
