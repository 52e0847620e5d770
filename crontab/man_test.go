package crontab

import (
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"
)

const (
	manualPath  = "../man/crontab.5"
	optionsPath = "../man/cronring-options.7"
)

func readManual(t *testing.T) string { return readPage(t, manualPath) }

func readPage(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// example is a literal block of the manual page.
type example struct {
	line   int
	format Format
	family Family
	text   string
}

// examples finds the literal blocks; a comment `.\" system` stands above those
// with an account column, `.\" anacrontab` or `.\" anacrontab rhel` above those of
// anacron.
func examples(manual string) []example {
	var found []example
	var block *example
	var next example
	for i, line := range strings.Split(manual, "\n") {
		switch {
		case line == `.\" system`:
			next.format = System
		case line == `.\" anacrontab`:
			next.format = Anacron
		case line == `.\" anacrontab rhel`:
			next.format, next.family = Anacron, RHEL
		case strings.HasPrefix(line, ".Bd -literal"):
			block = &example{line: i + 1, format: next.format, family: next.family}
			next = example{}
		case line == ".Ed":
			found = append(found, *block)
			block = nil
		case block != nil:
			block.text += strings.NewReplacer(`\e`, `\`, `\&`, "").Replace(line) + "\n"
		}
	}
	return found
}

func TestManualExamplesParse(t *testing.T) {
	found := examples(readManual(t))
	if len(found) < 12 {
		t.Fatalf("got %d examples, want at least 12", len(found))
	}
	for _, x := range found {
		table, remarks := Parse("example", x.text, Config{Format: x.format, Family: x.family, StandIn: true, Zone: time.LoadLocation})
		for _, d := range remarks {
			if d.Severity == Error || d.Severity == Warning && d.Code != codeEitherDay && d.Code != codeRandomValue {
				t.Errorf("%s:%d: %v (%s)\n%s", manualPath, x.line+d.Line, d, d.Code, d.Excerpt(x.text))
			}
		}
		for i := range table.Entries {
			if o := table.Entries[i].Options(); x.format == Anacron && o.Period == nil {
				t.Errorf("%s:%d: a line of anacrontab without period", manualPath, x.line)
			}
		}
		if len(table.Entries) == 0 {
			t.Errorf("%s:%d: an example without entry", manualPath, x.line)
		}
		for i := range table.Entries {
			if o := table.Entries[i].Options(); o.Held != "" || o.Degraded != "" {
				t.Errorf("%s:%d: held %q, degraded %q", manualPath, x.line, o.Held, o.Degraded)
			}
		}
	}
}

func TestOptionsPageNamesAllThatIsBuilt(t *testing.T) {
	page := readPage(t, optionsPath)
	for _, s := range Vocabulary() {
		if s.Built() && !strings.Contains(page, "Cm "+s.Key+" Ns") {
			t.Errorf("%s is built, and the page does not say what it does", s.Key)
		}
	}
}

func TestManualNamesAllThatIsBuilt(t *testing.T) {
	manual := readManual(t)
	words := map[string]bool{}
	for _, word := range strings.FieldsFunc(manual, func(r rune) bool { return r == ' ' || r == '\n' || r == '=' }) {
		words[word] = true
	}
	for _, n := range nicknames {
		if !words[n.name] {
			t.Errorf("%s is not on the page", n.name)
		}
	}
	names := []string{"@reboot", "CRON_TZ", "RANDOM_DELAY", "START_HOURS_RANGE", "PREFERRED_HOUR", "NO_MAIL_OUTPUT"}
	for _, n := range anacronNames {
		if n.name != "@annualy" { // cronie's slip
			names = append(names, n.name)
		}
	}
	for _, name := range names {
		if !words[name] {
			t.Errorf("%s is not on the page", name)
		}
	}
}

func TestManualIsWellFormed(t *testing.T) {
	mandoc, err := exec.LookPath("mandoc")
	if err != nil {
		t.Skip("mandoc is not installed")
	}
	if out, err := exec.Command(mandoc, "-T", "lint", "-W", "warning", manualPath, optionsPath).CombinedOutput(); err != nil {
		t.Errorf("mandoc: %v\n%s", err, out)
	}
}
