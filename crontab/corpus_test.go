package crontab

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/cronring/cronring/crontab/diagnostic"
	"github.com/cronring/cronring/daemon/filetest"
)

var update = flag.Bool("update", false, "write the golden files of ../testdata/crontab")

const corpus = "../testdata/crontab"

func readCorpus(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(corpus, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// compareGolden holds got to a golden file, or writes it with -update.
func compareGolden(t *testing.T, name, got string) {
	t.Helper()
	if *update {
		filetest.Write(t, filepath.Join(corpus, name), got, 0o644)
	}
	if diff := cmp.Diff(strings.Split(readCorpus(t, name), "\n"), strings.Split(got, "\n")); diff != "" {
		t.Errorf("%s (-want +got; go test ./crontab -run %s -update writes it):\n%s", name, t.Name(), diff)
	}
}

func formatOf(name string) Format {
	if strings.HasSuffix(name, ".cron.d") {
		return System
	}
	return User
}

// diagnosticLines is diagnostics as golden files have them.
func diagnosticLines(diagnostics []diagnostic.Diagnostic) string {
	var b strings.Builder
	for _, d := range diagnostics {
		fmt.Fprintf(&b, "%d:%d+%d %s %s: %s\n", d.Line, d.Column, d.Length, d.Code, d.Severity, d.Message)
		if d.Fix != "" {
			fmt.Fprintf(&b, "\t%s\n", d.Fix)
		}
	}
	return b.String()
}

func TestStrangeLinesRun(t *testing.T) {
	for name, least := range map[string]int{"strange.crontab": 50, "strange.cron.d": 10} {
		file, diagnostics := Parse(name, readCorpus(t, name), Config{Format: formatOf(name), Owner: "bob", Zone: time.LoadLocation})
		var b strings.Builder
		for i := range file.Entries {
			e := &file.Entries[i]
			fmt.Fprintf(&b, "%d\t%s\t%s\t%q", e.Line(), e.Spec(), e.User(), e.Command())
			if stdin, ok := e.Stdin(); ok {
				fmt.Fprintf(&b, " reads %q", stdin)
			}
			if o := e.Options(); o.Held != "" || o.Degraded != "" {
				fmt.Fprintf(&b, " held %q degraded %q", o.Held, o.Degraded)
			}
			b.WriteByte('\n')
		}
		for _, d := range diagnostics {
			if d.Severity == diagnostic.Error {
				t.Errorf("%s: got error %v, want none", name, d)
			}
		}
		if len(file.Entries) < least {
			t.Errorf("%s: got %d entries, want at least %d", name, len(file.Entries), least)
		}
		compareGolden(t, name+".want", b.String()+"\n"+diagnosticLines(diagnostics))
	}
}

func TestBrokenLinesSayWhereAndHow(t *testing.T) {
	for name, least := range map[string]int{"broken.crontab": 50, "broken.cron.d": 10} {
		file, diagnostics := Parse(name, readCorpus(t, name), Config{Format: formatOf(name), Owner: "bob", Zone: time.LoadLocation})
		var errors int
		for _, d := range diagnostics {
			if d.Severity != diagnostic.Error {
				continue
			}
			errors++
			if d.Fix == "" {
				t.Errorf("%v: no fix", d)
			}
			if d.Column == 0 && d.Code != "B301" {
				t.Errorf("%v: no column", d)
			}
		}
		if errors < least {
			t.Errorf("%s: got %d errors, want at least %d", name, errors, least)
		}
		for i := range file.Entries {
			if e := &file.Entries[i]; e.Line() < 55 && formatOf(name) == User || formatOf(name) == System {
				t.Errorf("%s:%d: a broken line runs: %q", name, e.Line(), e.Raw())
			}
		}
		compareGolden(t, name+".want", diagnosticLines(diagnostics))
	}
}

func TestDemoCrontabIsClean(t *testing.T) {
	file, diagnostics := Parse("demo", readCorpus(t, "demo.crontab"), Config{Zone: time.LoadLocation})
	for _, d := range diagnostics {
		if d.Severity != diagnostic.Note {
			t.Errorf("got %v, want notices at most", d)
		}
	}
	for i := range file.Entries {
		if o := file.Entries[i].Options(); o.Held != "" || o.Degraded != "" {
			t.Errorf("line %d: held %q, degraded %q", file.Entries[i].Line(), o.Held, o.Degraded)
		}
	}
	if len(file.Entries) < 15 {
		t.Errorf("got %d entries, want at least 15", len(file.Entries))
	}
}

// TestRealCrontabsLoad reads crontabs of distributions: none of their lines may be an error, and
// each line that is not a comment or an assignment is an entry.
func TestRealCrontabsLoad(t *testing.T) {
	paths, err := filepath.Glob(filepath.Join(corpus, "real", "*"))
	if err != nil || len(paths) < 15 {
		t.Fatalf("got %d crontabs, %v; want at least 15", len(paths), err)
	}
	for _, path := range paths {
		name := filepath.Base(path)
		text := readCorpus(t, filepath.Join("real", name))
		file, diagnostics := Parse(name, text, Config{Format: System, Zone: time.LoadLocation})
		for _, d := range diagnostics {
			if d.Severity == diagnostic.Error {
				t.Error(d)
			} else {
				t.Log(d, d.Code)
			}
		}
		entries := 0
		for line := range strings.Lines(text) {
			word, _, _ := strings.Cut(strings.TrimSpace(line), " ")
			if word != "" && !strings.Contains("#ABCDEFGHIJKLMNOPQRSTUVWXYZ", word[:1]) {
				entries++
			}
		}
		if len(file.Entries) != entries {
			t.Errorf("%s: got %d entries, want %d", name, len(file.Entries), entries)
		}
	}
}

// TestOptionsCrontabsHaveEffect reads the crontabs that other crons are shown: all that
// they say has effect here, and they have many options.
func TestOptionsCrontabsHaveEffect(t *testing.T) {
	for _, name := range []string{"options.crontab", "options.cron.d"} {
		file, diagnostics := Parse(name, readCorpus(t, name), Config{Format: formatOf(name), Owner: "root", Privileged: true, Zone: time.LoadLocation})
		for _, d := range diagnostics {
			if d.Severity != diagnostic.Note {
				t.Errorf("got %v (%s), want notices at most", d, d.Code)
			}
		}
		used := map[string]bool{}
		for i := range file.Entries {
			o := file.Entries[i].Options()
			if o.Held != "" || o.Degraded != "" {
				t.Errorf("%s:%d: held %q, degraded %q", name, file.Entries[i].Line(), o.Held, o.Degraded)
			}
			for _, it := range o.Items {
				used[it.Key] = true
			}
		}
		if len(used) < 55 {
			t.Errorf("%s: got %d different options, want at least 55", name, len(used))
		}
	}
}
