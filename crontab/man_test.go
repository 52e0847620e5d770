package crontab

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cronring/cronring/crontab/diagnostic"
	"github.com/cronring/cronring/crontab/option"
	"github.com/cronring/cronring/crontab/timetable"
	"github.com/cronring/cronring/daemon/filetest"
	"github.com/cronring/cronring/man/mantest"
)

const (
	manualPath  = "../man/crontab.5"
	optionsPath = "../man/cronring-options.7"
)

func readManual(t *testing.T) string { return readPage(t, manualPath) }

const anacronPath = "../man/cronring-anacrontab.5"

func readPage(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestManualExamplesParse has every crontab and anacrontab of the manual pages
// read, and each of their entries say when it is due.
func TestManualExamplesParse(t *testing.T) {
	pages, err := mantest.Pages("../man")
	if err != nil {
		t.Fatal(err)
	}
	found := map[mantest.Kind]int{}
	for name, text := range pages {
		examples, err := mantest.Examples(name, text)
		if err != nil {
			t.Error(err)
		}
		for _, e := range examples {
			found[e.Kind]++
			switch e.Kind {
			case mantest.Crontab:
				checkExample(t, e, Config{})
			case mantest.System:
				checkExample(t, e, Config{Format: System})
			case mantest.Anacrontab:
				checkExample(t, e, Config{Format: Anacron, Family: map[string]Family{"rhel": RHEL}[e.More]})
			}
		}
	}
	if found[mantest.Crontab] < 12 || found[mantest.System] < 8 || found[mantest.Anacrontab] < 2 {
		t.Errorf("got %v, want at least 12 crontabs, 8 system crontabs and 2 anacrontabs", found)
	}
}

func checkExample(t *testing.T, e mantest.Example, c Config) {
	t.Helper()
	c.StandIn, c.Zone = true, time.LoadLocation
	file, diagnostics := Parse("example", e.Text, c)
	void := false
	for _, d := range diagnostics {
		void = void || d.Code == "B402"
		if d.Severity == diagnostic.Error || d.Severity == diagnostic.Warning && d.Code != "B102" && d.Code != "B105" && (d.Code != "B402" || e.More != "void") {
			t.Errorf("%v: %v (%s)", e, d, d.Code)
		}
	}
	if void != (e.More == "void") {
		t.Errorf("%v: directives without effect: got %v", e, void)
	}
	if len(file.Entries) == 0 {
		t.Errorf("%v: an example without entry", e)
	}
	for i := range file.Entries {
		entry := &file.Entries[i]
		o := entry.Options()
		if o.Held != "" || o.Degraded != "" {
			t.Errorf("%v: held %q, degraded %q", e, o.Held, o.Degraded)
		}
		if e.Kind == mantest.Anacrontab && o.Period == nil {
			t.Errorf("%v: a line of anacrontab without period", e)
		}
		if e.More == "void" && o != option.Plain {
			t.Errorf("%v: got options %+v, want none", e, *o)
		}
		if s := entry.Schedule; !timetable.IsTimeless(s) && s.Next(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)).IsZero() {
			t.Errorf("%v: %q is never due", e, entry.Raw())
		}
	}
}

// TestMigrationTables has the options on the right of each table of the migration guide
// read.
func TestMigrationTables(t *testing.T) {
	rows := regexp.MustCompile(`(?m)^\.It Li ".*" Ta Cm "(.*)"$`).FindAllStringSubmatch(readPage(t, "../man/cronring-migration.7"), -1)
	if len(rows) < 60 {
		t.Errorf("got %d rows, want at least 60", len(rows))
	}
	for _, row := range rows {
		options := strings.ReplaceAll(row[1], `""`, `"`)
		file, diagnostics := Parse("example", "#@ "+options+"\n0 4 * * * root true\n", Config{Format: System, StandIn: true, Zone: time.LoadLocation})
		for _, d := range diagnostics {
			if d.Severity != diagnostic.Note {
				t.Errorf("%s: %v", options, d)
			}
		}
		if o := file.Entries[0].Options(); o == option.Plain || o.Held != "" || o.Degraded != "" {
			t.Errorf("%s: got %+v, want options that are in effect", options, o)
		}
	}
}

// TestOptionsPageSaysWhatTheVocabularySays holds the page of options to the
// table that the parser reads by, both ways.
func TestOptionsPageSaysWhatTheVocabularySays(t *testing.T) {
	page := readPage(t, optionsPath)
	items := map[string]string{} // by option
	for _, item := range strings.Split(page, "\n.It Cm ")[1:] {
		item, _, _ = strings.Cut(item, "\n.El\n")
		head, _, _ := strings.Cut(item, "\n")
		for _, part := range strings.Split(head, " , Cm ") {
			key, _, _ := strings.Cut(part, " Ns = Ns ")
			if spec := option.Find(key); spec == nil || items[key] != "" {
				t.Errorf("%s: %s is twice on the page, or no option", optionsPath, key)
			}
			items[key] = item + "\n"
		}
	}
	for _, s := range option.Vocabulary() {
		if got := strings.Contains(items[s.Key], "\nA guard.\n") || strings.Contains(items[s.Key], "\nGuards.\n"); got != s.Guard {
			t.Errorf("%s: marked as a guard: got %v, want %v", s.Key, got, s.Guard)
		}
		if !strings.Contains(items[s.Key], "\nDefault") {
			t.Errorf("%s: its default is missing", s.Key)
		}
		if want := "\n.Em Under plain cron :\n" + s.Loss + ".\n"; !strings.Contains(items[s.Key], want) {
			t.Errorf("%s: got\n%s\nwant %s", s.Key, items[s.Key], want)
		}
		values := strings.Split(s.Values, ", ")
		if slices.ContainsFunc(values, func(v string) bool { return strings.ContainsAny(v, " :./") }) {
			continue // described in a sentence
		}
		for _, value := range values {
			if !slices.Contains(strings.Fields(items[s.Key]), value) {
				t.Errorf("%s: the page does not have the value %s", s.Key, value)
			}
		}
	}
}

// TestOptionsIndex compares the index of options in two pages with the
// vocabulary; with UPDATE_SCRIPTS=1 it writes the index.
func TestOptionsIndex(t *testing.T) {
	for _, path := range []string{optionsPath, manualPath} {
		checkIndex(t, path)
	}
}

func checkIndex(t *testing.T, path string) {
	t.Helper()
	const begin, end = ".\\\" index: made from the vocabulary by \"make options\"\n.\\\" not run\n.Bd -literal\n", ".Ed\n"
	page := readPage(t, path)
	before, rest, found := strings.Cut(page, begin)
	got, after, ended := strings.Cut(rest, end)
	if !found || !ended {
		t.Fatalf("%s has no index after %q", path, begin)
	}
	var want strings.Builder
	for _, s := range option.Vocabulary() {
		line := fmt.Sprintf("%-27s %-9s %s\n", s.Key+"="+s.Form, s.Default, s.Meaning)
		if len(line) > 76 || s.Form == "" || s.Default == "" {
			t.Errorf("%s: the line in the index is incomplete or longer than 75 columns: %q", s.Key, line)
		}
		want.WriteString(line)
	}
	switch {
	case got == want.String():
	case os.Getenv("UPDATE_SCRIPTS") == "":
		t.Errorf("the index is\n%s\nwant\n%s", got, want.String())
	default:
		filetest.Write(t, path, before+begin+want.String()+end+after, 0o644)
	}
}

func TestOptionsPageNamesGuardsAndAliases(t *testing.T) {
	page := readPage(t, optionsPath)
	_, after, _ := strings.Cut(page, "The guards are\n")
	list, _, _ := strings.Cut(after, ".Pp")
	var got, want []string
	for _, word := range strings.Fields(list) {
		if word != ".Cm" && word != "," && word != "." && word != "and" {
			got = append(got, word)
		}
	}
	for _, s := range option.Vocabulary() {
		if s.Guard {
			want = append(want, s.Key)
		}
	}
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("guards: got %v, want %v", got, want)
	}
	_, after, _ = strings.Cut(page, ".Sh COMPATIBILITY")
	words := strings.Fields(after)
	for alias := range option.KeyAliases {
		if !slices.Contains(words, alias) {
			t.Errorf("%s is read, but not on the page", alias)
		}
	}
	for key, values := range option.ValueAliases {
		for alias := range values {
			if !slices.Contains(words, alias) {
				t.Errorf("%s=%s is read, but not on the page", key, alias)
			}
		}
	}
}

func TestManualNamesAllThatIsBuilt(t *testing.T) {
	manual := readManual(t) + readPage(t, anacronPath)
	words := map[string]bool{}
	for _, word := range strings.FieldsFunc(manual, func(r rune) bool { return r == ' ' || r == '\n' || r == '=' }) {
		words[word] = true
	}
	names := append(timetable.Nicknames(), "CRON_TZ", "RANDOM_DELAY", "START_HOURS_RANGE", "PREFERRED_HOUR", "NO_MAIL_OUTPUT")
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

// TestManualHasEachCode compares the page's list of codes with the codes of the program and their
// descriptions; with UPDATE_SCRIPTS=1 it rewrites the list.
func TestManualHasEachCode(t *testing.T) {
	codes := diagnostic.Codes()
	var want strings.Builder
	for _, code := range codes {
		want.WriteString(".It Li " + string(code) + "\n" + code.Meaning() + "\n")
	}
	page := readManual(t)
	before, section, _ := strings.Cut(page, ".Sh DIAGNOSTICS")
	head, list, _ := strings.Cut(section, ".It Li B0")
	list, after, _ := strings.Cut(list, ".El\n")
	if got := ".It Li B0" + list; got != want.String() {
		if os.Getenv("UPDATE_SCRIPTS") == "" {
			t.Errorf("codes: got\n%s\nwant\n%s", got, want.String())
		} else if err := os.WriteFile(manualPath, []byte(before+".Sh DIAGNOSTICS"+head+want.String()+".El\n"+after), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, code := range codes {
		if group := string(code)[:2] + "xx"; !strings.Contains(head, group) {
			t.Errorf("%s is of no group on the page", code)
		}
	}
}
