package crontab

import (
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"
)

const (
	manualPath  = "../man/crontab.5"
	optionsPath = "../man/cronring-options.7"
	ringPath    = "../man/cronring-ring.7"
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
	void   bool
	text   string
}

// examples finds the literal blocks; a comment `.\" system` stands above those
// with an account column, with `void` behind it if their directives have no
// effect, `.\" anacrontab` or `.\" anacrontab rhel` above those of anacron.
func examples(manual string) []example {
	var found []example
	var block *example
	var next example
	for i, line := range strings.Split(manual, "\n") {
		switch {
		case line == `.\" system`:
			next.format = System
		case line == `.\" system void`:
			next.format, next.void = System, true
		case line == `.\" anacrontab`:
			next.format = Anacron
		case line == `.\" anacrontab rhel`:
			next.format, next.family = Anacron, RHEL
		case strings.HasPrefix(line, ".Bd -literal"):
			block = &example{line: i + 1, format: next.format, family: next.family, void: next.void}
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
	for path, least := range map[string]int{manualPath: 12, optionsPath: 6} {
		found := examples(readPage(t, path))
		if len(found) < least {
			t.Errorf("%s: got %d examples, want at least %d", path, len(found), least)
		}
		for _, x := range found {
			x.check(t, path)
		}
	}
}

// TestRingPagesTablesParse: beside them that page has examples of configuration.
func TestRingPagesTablesParse(t *testing.T) {
	tables := 0
	for _, x := range examples(readPage(t, ringPath)) {
		if x.format == System {
			tables++
			x.check(t, ringPath)
		}
	}
	if tables < 2 {
		t.Errorf("%s: got %d tables, want at least 2", ringPath, tables)
	}
}

func (x *example) check(t *testing.T, path string) {
	table, remarks := Parse("example", x.text, Config{Format: x.format, Family: x.family, StandIn: true, Zone: time.LoadLocation})
	void := false
	for _, d := range remarks {
		void = void || d.Code == "B402"
		if d.Severity == Error || d.Severity == Warning && d.Code != codeEitherDay && d.Code != codeRandomValue && (d.Code != "B402" || !x.void) {
			t.Errorf("%s:%d: %v (%s)\n%s", path, x.line+d.Line, d, d.Code, d.Excerpt(x.text))
		}
	}
	if void != x.void {
		t.Errorf("%s:%d: directives without effect: got %v, want %v", path, x.line, void, x.void)
	}
	if len(table.Entries) == 0 {
		t.Errorf("%s:%d: an example without entry", path, x.line)
	}
	for i := range table.Entries {
		o := table.Entries[i].Options()
		if o.Held != "" || o.Degraded != "" {
			t.Errorf("%s:%d: held %q, degraded %q", path, x.line, o.Held, o.Degraded)
		}
		if x.format == Anacron && o.Period == nil {
			t.Errorf("%s:%d: a line of anacrontab without period", path, x.line)
		}
		if x.void && o != plain {
			t.Errorf("%s:%d: got options %+v, want none", path, x.line, *o)
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
			if spec := vocabularyByKey[key]; spec == nil || !spec.Built() || items[key] != "" {
				t.Errorf("%s: %s is twice on the page, or no option that is built", optionsPath, key)
			}
			items[key] = item + "\n"
		}
	}
	for _, s := range Vocabulary() {
		if !s.Built() {
			continue
		}
		if want := "\n.Em Plain cron :\n" + s.Loss + ".\n"; !strings.Contains(items[s.Key], want) {
			t.Errorf("%s: got\n%s\nwant %s", s.Key, items[s.Key], want)
		}
		values := strings.Split(s.Values, ", ")
		if slices.ContainsFunc(values, func(v string) bool { return strings.ContainsAny(v, " :./") }) {
			continue // told in words
		}
		for _, value := range values {
			if !slices.Contains(strings.Fields(items[s.Key]), value) {
				t.Errorf("%s: the page does not have the value %s", s.Key, value)
			}
		}
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
	for _, s := range Vocabulary() {
		if s.Guard && (s.Built() || !s.Extend) {
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
	for alias := range keyAliases {
		if !slices.Contains(words, alias) {
			t.Errorf("%s is read, but not on the page", alias)
		}
	}
	for key, values := range valueAliases {
		for alias := range values {
			if !slices.Contains(words, alias) {
				t.Errorf("%s=%s is read, but not on the page", key, alias)
			}
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
	if out, err := exec.Command(mandoc, "-T", "lint", "-W", "warning", manualPath, optionsPath, ringPath).CombinedOutput(); err != nil {
		t.Errorf("mandoc: %v\n%s", err, out)
	}
}
