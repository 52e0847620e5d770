package crontab

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cronring/cronring/crontab/diagnostic"
	"github.com/cronring/cronring/crontab/option"
	"github.com/cronring/cronring/crontab/sidecar"
)

// set makes settings of key=value words, each in a line of its own of c.toml.
func set(words ...string) []sidecar.Setting {
	var list []sidecar.Setting
	for i, word := range words {
		key, value, _ := strings.Cut(word, "=")
		list = append(list, sidecar.Setting{Key: key, Value: value, File: "c.toml", Line: i + 1})
	}
	return list
}

// parseWith reads a crontab of root's with an account column.
func parseWith(t *testing.T, s *sidecar.Sidecar, text string) (*File, []diagnostic.Diagnostic) {
	t.Helper()
	file, diagnostics := Parse("/etc/cron.d/t", text, Config{Format: System, Zone: time.LoadLocation, Sidecar: s})
	if len(file.Entries) == 0 {
		t.Fatalf("Parse(%q): no entry; %v", text, diagnostics)
	}
	return file, diagnostics
}

// TestPrecedence sets one option at each level in turn, and at all levels below it: the highest
// has effect.
func TestPrecedence(t *testing.T) {
	const entry = "0 1 * * * root x\n"
	job := func(words ...string) map[string]sidecar.JobConfig {
		return map[string]sidecar.JobConfig{"j": {Set: set(words...)}}
	}
	match := []sidecar.Match{{Command: "x", Set: set("jitter=6m", "name=j")}}
	levels := []struct {
		level   string
		sidecar *sidecar.Sidecar
		text    string
		want    time.Duration
		from    string // origin of the item that counts
	}{
		{"built-in", nil, entry, 0, ""},
		{"[default]", &sidecar.Sidecar{Default: set("jitter=1m")}, entry, time.Minute, "[default]"},
		{"setting line", &sidecar.Sidecar{Default: set("jitter=1m")}, "RANDOM_DELAY=2\n" + entry, 2 * time.Minute, ""},
		{"#@ default", &sidecar.Sidecar{Default: set("jitter=1m")}, "RANDOM_DELAY=2\n#@ default jitter=3m\n" + entry, 3 * time.Minute, "#@ default"},
		{"#@", &sidecar.Sidecar{Default: set("jitter=1m")}, "RANDOM_DELAY=2\n#@ default jitter=3m\n#@ name=j jitter=4m\n" + entry, 4 * time.Minute, "#@"},
		{"[[match]]", &sidecar.Sidecar{Default: set("jitter=1m"), Matches: match}, "RANDOM_DELAY=2\n#@ default jitter=3m\n#@ jitter=4m\n" + entry, 6 * time.Minute, "[[match]]"},
		{"a later [[match]]", &sidecar.Sidecar{Default: set("jitter=1m"), Matches: append(slices.Clone(match), sidecar.Match{User: "root", Set: set("jitter=7m")})},
			"RANDOM_DELAY=2\n#@ default jitter=3m\n#@ jitter=4m\n" + entry, 7 * time.Minute, "[[match]]"},
		{"[job.NAME]", &sidecar.Sidecar{Default: set("jitter=1m"), Matches: match, Jobs: job("jitter=8m")}, "RANDOM_DELAY=2\n#@ default jitter=3m\n#@ jitter=4m\n" + entry, 8 * time.Minute, "[job.NAME]"},
	}
	for _, l := range levels {
		file, diagnostics := parseWith(t, l.sidecar, l.text)
		e := &file.Entries[len(file.Entries)-1]
		_, got := jitterOf(e.Schedule)
		from := ""
		for _, it := range e.Options().Items {
			if it.Key == "jitter" {
				from += it.Origin.String()
			}
		}
		if got != l.want || from != l.from || len(diagnostics) > 0 {
			t.Errorf("%s: got jitter %v from %q %v, want %v from %q", l.level, got, from, diagnostics, l.want, l.from)
		}
	}
}

func TestPrecedenceOfSettingsOverHostDefaults(t *testing.T) {
	s := &sidecar.Sidecar{Default: set("tz=Asia/Tokyo", "jitter=5m", "output-max=1K")}
	file, _ := parseWith(t, s, "0 1 * * * root a\nCRON_TZ=Asia/Kolkata\n0 1 * * * root b\nCRON_TZ=\n0 1 * * * root c\nRANDOM_DELAY=0\n0 1 * * * root d\n")
	var got []string
	for i := range file.Entries {
		e := &file.Entries[i]
		_, limit := jitterOf(e.Schedule)
		delayed := limit > 0
		got = append(got, fmt.Sprint(e.Zone(), " ", delayed, " ", len(e.Settings())))
	}
	want := []string{"Asia/Tokyo true 0", "Asia/Kolkata true 1", "UTC true 0", "UTC false 1"}
	if !slices.Equal(got, want) {
		t.Errorf("got zone, delay and settings %q, want %q", got, want)
	}
	for _, text := range []string{"CRON_TZ=Mars/Base\n0 1 * * * root x\n"} {
		file, _ := parseWith(t, s, text)
		if file.Entries[0].Options().Held == "" {
			t.Errorf("%q: [default] let an entry run in another zone than the one that its crontab asks for", text)
		}
	}
}

func TestSidecarItemsKeepTheirPlace(t *testing.T) {
	s := &sidecar.Sidecar{Default: set("retry=2"), Jobs: map[string]sidecar.JobConfig{"j": {Set: set("timeout=1m", "grace=9s")}}}
	file, _ := parseWith(t, s, "#@ name=j timeout=5m\n0 1 * * * root x\n")
	want := []option.Option{
		{Key: "retry", Value: "2", Line: 1, Origin: option.FromSidecarDefault, File: "c.toml"},
		{Key: "name", Value: "j", Line: 1, Column: 4, Length: 6, Origin: option.FromDirective},
		{Key: "timeout", Value: "1m", Line: 1, Origin: option.FromSidecar, File: "c.toml"},
		{Key: "grace", Value: "9s", Line: 2, Origin: option.FromSidecar, File: "c.toml"},
	}
	o := file.Entries[0].Options()
	if !reflect.DeepEqual(o.Items, want) || o.Timeout != time.Minute || o.Retry != 2 || o.Grace != 9*time.Second {
		t.Errorf("got %+v\nwant items %+v", *o, want)
	}
}

// TestSidecarFindsEntries holds each way to mean an entry against crontabs of
// root's and of users'.
func TestSidecarFindsEntries(t *testing.T) {
	const crontabs = "/var/spool/cron/crontabs/"
	entries := []struct {
		id   string
		path string
		c    Config
		text string
	}{
		{"vendor", "/etc/cron.d/certbot", Config{Format: System}, "0 1 * * * root  test -x /a && /a -q \n"},
		{"www", "/etc/cron.d/php", Config{Format: System}, "0 1 * * * www-data /usr/lib/php/clean\n"},
		{"backup", "/etc/crontab", Config{Format: System}, "#@ name=backup\n@daily root -n /b 50% in\n"},
		{"root", crontabs + "root", Config{Owner: "root", Privileged: true}, "#@ name=sync\n0 1 * * * /sync\n"},
		{"bob", crontabs + "bob", Config{Owner: "bob"}, "#@ name=backup\n0 1 * * * /usr/lib/php/clean\n"},
		{"anacron", "/etc/anacrontab", Config{Format: Anacron}, "1 5 cron.daily run-parts /etc/cron.daily\n"},
	}
	tests := []struct {
		what, found, unused string
		sidecar             sidecar.Sidecar
	}{
		{"a file", "vendor", "", sidecar.Sidecar{Matches: []sidecar.Match{{File: "/etc/cron.d/certbot"}}}},
		{"a pattern of files", "vendor www", "", sidecar.Sidecar{Matches: []sidecar.Match{{File: "/etc/cron.d/*"}}}},
		{"a user's file", "bob", "", sidecar.Sidecar{Matches: []sidecar.Match{{File: crontabs + "bob"}}}},
		{"a user", "bob", "", sidecar.Sidecar{Matches: []sidecar.Match{{User: "bob"}}}},
		{"root", "vendor backup root anacron", "", sidecar.Sidecar{Matches: []sidecar.Match{{User: "root"}}}},
		{"a command, which users' crontabs may have too", "www", "", sidecar.Sidecar{Matches: []sidecar.Match{{Command: "/usr/lib/php/clean"}}}},
		{"that command of bob's", "bob", "", sidecar.Sidecar{Matches: []sidecar.Match{{Command: "/usr/lib/php/*", User: "bob"}}}},
		{"a pattern in the middle", "vendor", "", sidecar.Sidecar{Matches: []sidecar.Match{{Command: "test * /a*-q"}}}},
		{"what overlaps itself", "", "1", sidecar.Sidecar{Matches: []sidecar.Match{{Command: "/usr/lib/*/lib/php/clean"}}}},
		{"a command without its input", "backup", "", sidecar.Sidecar{Matches: []sidecar.Match{{Command: "/b 50"}}}},
		{"file and another user", "", "1", sidecar.Sidecar{Matches: []sidecar.Match{{File: "/etc/cron.d/certbot", User: "bob"}}}},
		{"nothing", "", "1", sidecar.Sidecar{Matches: []sidecar.Match{{}}}},
		{"a bad pattern", "", "1", sidecar.Sidecar{Matches: []sidecar.Match{{File: "/etc/cron.d/["}}}},
		{"a name of root's", "backup", "", sidecar.Sidecar{Jobs: map[string]sidecar.JobConfig{"backup": {}}}},
		{"root's own crontab", "root", "", sidecar.Sidecar{Jobs: map[string]sidecar.JobConfig{"sync": {}}}},
		{"a name of bob's", "bob", "", sidecar.Sidecar{Jobs: map[string]sidecar.JobConfig{"backup": {User: "bob"}}}},
		{"a name of nobody's", "", "1", sidecar.Sidecar{Jobs: map[string]sidecar.JobConfig{"backup": {User: "eve"}}}},
		{"an identifier of anacron", "anacron", "", sidecar.Sidecar{Jobs: map[string]sidecar.JobConfig{"cron.daily": {}}}},
		{"no name", "", "1", sidecar.Sidecar{Jobs: map[string]sidecar.JobConfig{"nobody": {}}}},
	}
	for _, tt := range tests {
		s := tt.sidecar
		at := sidecar.Position{File: "c.toml", Line: 1}
		for i := range s.Matches {
			s.Matches[i].Set, s.Matches[i].At = set("grace=7s"), at
		}
		for name, j := range s.Jobs {
			j.Set, j.At = set("grace=7s"), at
			s.Jobs[name] = j
		}
		var found []string
		var all []*File
		for _, e := range entries {
			c := e.c
			c.Sidecar = &s
			file, _ := Parse(e.path, e.text, c)
			if all = append(all, file); file.Entries[0].Options().Grace == 7*time.Second {
				found = append(found, e.id)
			}
		}
		unused := UnusedInSidecar(&s, all)
		for _, d := range unused {
			if d.File != "c.toml" || d.Line != 1 || d.Code != "B601" || d.Severity != diagnostic.Note {
				t.Errorf("%s: got %v %s, want B601 at c.toml:1", tt.what, d, d.Code)
			}
		}
		if got := strings.Join(found, " "); got != tt.found || (len(unused) > 0) != (tt.unused != "") {
			t.Errorf("%s: found %q with %v, want %q", tt.what, got, unused, tt.found)
		}
	}
}

func TestSidecarSaysWhoseTheNameIs(t *testing.T) {
	s := &sidecar.Sidecar{Jobs: map[string]sidecar.JobConfig{"backup": {Set: set("nice=1"), At: sidecar.Position{File: "c.toml", Line: 4}}}}
	file, _ := Parse("bob", "#@ name=backup\n0 1 * * * x\n", Config{Owner: "bob", Sidecar: s})
	got := UnusedInSidecar(s, []*File{file})
	if len(got) != 1 || got[0].Line != 4 || !strings.Contains(got[0].Message, "runs as bob") || got[0].Fix != "write `user = \"bob\"` to select it" {
		t.Errorf("got %+v, want a hint at bob's crontab", got)
	}
	if o := file.Entries[0].Options(); len(o.Items) != 1 {
		t.Errorf("got items %+v: bob took what is root's job's", o.Items)
	}
}

func TestMatchGivesNames(t *testing.T) {
	s := &sidecar.Sidecar{
		Matches: []sidecar.Match{{File: "/etc/cron.d/t", Command: "a", Set: set("name=j", "grace=7s")}},
		Jobs:    map[string]sidecar.JobConfig{"j": {Set: set("timeout=1m")}},
	}
	file, diagnostics := parseWith(t, s, "#@ name=own\n0 1 * * * root a\n0 1 * * * root b\n")
	if o := file.Entries[0].Options(); o.Name != "j" || o.Timeout != time.Minute || o.Grace != 7*time.Second || len(diagnostics) > 0 {
		t.Errorf("got %+v %v, want the name of the sidecar and what it says of it", *o, diagnostics)
	}
	file, diagnostics = parseWith(t, s, "0 1 * * * root a\n0 1 * * * root b\n0 2 * * * root a\n")
	first, third := file.Entries[0].Options(), file.Entries[2].Options()
	if first.Held != "" || third.Held == "" || third.Name != "" || len(diagnostics) != 1 || diagnostics[0].Code != "B409" || diagnostics[0].Line != 3 || !strings.HasPrefix(diagnostics[0].Message, "c.toml:1: ") {
		t.Errorf("got %+v, %+v, %v; want the second entry of that name held, said at its line", *first, *third, diagnostics)
	}
}

// TestSidecarValuesAreChecked holds them to the rules of directives: a bad
// guard holds, all else is left out.
func TestSidecarValuesAreChecked(t *testing.T) {
	tests := []struct {
		word, code, fix string
		held, degraded  bool
	}{
		{"timeout=5m", "", "", false, false},
		{"concurrencyPolicy=Forbid", "", "", false, false},
		{"x-team=ops", "", "", false, false},
		{"timeout=5", "B404", "write `timeout = \"5s\"`; timeout accepts a duration up to 36525d: 90s, 5m, 1h30m, 2d, 1w", false, true},
		{"tiemout=5m", "B403", "write `timeout = \"5m\"`", false, true},
		{"overlap=skpi", "B404", "write `overlap = \"skip\"`; overlap accepts allow, skip, queue, queue-all, replace, kill", true, false},
		{"?overlap=skpi", "B412", "", false, false},
		{"tz=Mars/Base", "B404", "tz accepts a name of the time zone database, such as Europe/Paris", true, false},
		{"name=other", "B410", "write it in a [[match]], or `#@ name=other` above the entry", false, false},
	}
	for _, tt := range tests {
		for _, s := range []*sidecar.Sidecar{
			{Default: set("grace=1s", tt.word)},
			{Jobs: map[string]sidecar.JobConfig{"j": {Set: set("grace=1s", tt.word)}}},
			{Matches: []sidecar.Match{{User: "root", Set: set("grace=1s", tt.word)}}},
		} {
			if s.Matches != nil && strings.HasPrefix(tt.word, "name=") {
				continue
			}
			got := CheckSidecar(s, Config{Zone: time.LoadLocation})
			if tt.code == "" && len(got) > 0 || tt.code != "" && (len(got) != 1 || string(got[0].Code) != tt.code || got[0].Fix != tt.fix || got[0].File != "c.toml" || got[0].Line != 2) {
				t.Errorf("%s: got %+v, want %s at c.toml:2 with fix %q", tt.word, got, tt.code, tt.fix)
			}
			file, diagnostics := parseWith(t, s, "#@ name=j\n0 1 * * * root x\n")
			o := file.Entries[0].Options()
			if len(diagnostics) > 0 || (o.Held != "") != tt.held || (o.Degraded != "") != tt.degraded {
				t.Errorf("%s: got held %q degraded %q %v, want held %v degraded %v", tt.word, o.Held, o.Degraded, diagnostics, tt.held, tt.degraded)
			}
			if why := o.Held + o.Degraded; why != "" && !strings.Contains(why, " in c.toml:2 ") {
				t.Errorf("%s: got %q, want the place in the configuration", tt.word, why)
			}
		}
	}
}

func TestSidecarMendsAndOverridesGuards(t *testing.T) {
	s := &sidecar.Sidecar{Jobs: map[string]sidecar.JobConfig{"j": {Set: set("overlap=skip", "enabled=no")}}}
	file, _ := parseWith(t, s, "#@ name=j overlap=skpi\n0 1 * * * root x\n")
	if o := file.Entries[0].Options(); o.Held != "" || o.Overlap != option.OverlapSkip || o.Enabled {
		t.Errorf("got %+v, want the administrator's word", *o)
	}
}

func TestSidecarClashIsSaidAtTheEntry(t *testing.T) {
	s := &sidecar.Sidecar{Default: set("phase=2h", "every=1h")}
	file, diagnostics := parseWith(t, s, "# one\n0 1 * * * root x\n")
	if len(diagnostics) != 1 || diagnostics[0].Code != "B411" || diagnostics[0].Line != 2 || diagnostics[0].File != "/etc/cron.d/t" || !strings.HasPrefix(diagnostics[0].Message, "c.toml:1: phase=") {
		t.Errorf("got %+v, want B411 in line 2 that names c.toml:1", diagnostics)
	}
	if o := file.Entries[0].Options(); !strings.Contains(o.Degraded, "c.toml:1") {
		t.Errorf("got degraded %q", o.Degraded)
	}
	if file, diagnostics := parseWith(t, s, "#@ every=3h\n0 1 * * * root x\n"); len(diagnostics) > 0 || file.Entries[0].Options().Degraded != "" {
		t.Errorf("a good pair of options: got %v", diagnostics)
	}
}

// TestHostDefaultsAreForEntriesThatTheyCanBeFor: @reboot and the lines of
// anacrontab have no instants, and those have catch-up rules of their own.
func TestHostDefaultsAreForEntriesThatTheyCanBeFor(t *testing.T) {
	s := &sidecar.Sidecar{Default: set("jitter=5m", "catchup=skip", "deadline=1h", "overlap=kill")}
	file, diagnostics := parseWith(t, s, "@reboot root x\n")
	if o := file.Entries[0].Options(); len(diagnostics) > 0 || o.Degraded != "" || !file.Entries[0].Reboot() || o.Overlap != option.OverlapKill {
		t.Errorf("@reboot: got %+v %v", *o, diagnostics)
	}
	file, diagnostics = Parse("/etc/anacrontab", "1 5 cron.daily x\n", Config{Format: Anacron, Sidecar: s})
	if o := file.Entries[0].Options(); len(diagnostics) > 0 || o.Catchup != option.CatchupOnce || o.Deadline != 0 || o.Overlap != option.OverlapSkip {
		t.Errorf("anacrontab: got %+v %v; want anacron's own rules", *o, diagnostics)
	}
	held := &sidecar.Sidecar{Default: set("from=2030-01-01")}
	if file, _ = parseWith(t, held, "@reboot root x\n"); file.Entries[0].Options().Held == "" {
		t.Error("@reboot runs although [default] forbids it until 2030")
	}
}

// TestSidecarIsShared counts what a sidecar costs the entries of a large host.
func TestSidecarIsShared(t *testing.T) {
	s := &sidecar.Sidecar{Default: set("catchup=once", "grace=5s"), Matches: []sidecar.Match{{Command: "m*", User: "root", Set: set("retry=1")}}}
	cache := NewCache()
	options, sections := map[*option.Options]bool{}, map[*section]bool{}
	schedules := map[any]bool{}
	const crontabs, lines = 20, 500
	for i := range crontabs {
		var text strings.Builder
		for j := range lines {
			fmt.Fprintf(&text, "0 %d * * * root %s%d\n", j%4, []string{"m", "x"}[j%2], j)
		}
		file, diagnostics := Parse(fmt.Sprint("/etc/cron.d/t", i), text.String(), Config{Format: System, Sidecar: s, Cache: cache})
		if len(diagnostics) > 0 {
			t.Fatal(diagnostics)
		}
		for k := range file.Entries {
			e := &file.Entries[k]
			options[e.section.options], sections[e.section], schedules[e.Schedule] = true, true, true
			if o := e.Options(); o.Catchup != option.CatchupOnce || o.Deadline != 24*time.Hour || o.Retry != 1-k%2 {
				t.Fatalf("entry %d: got %+v", k, *o)
			}
		}
	}
	if len(options) != 1+crontabs || len(sections) != 2*crontabs || len(schedules) != 4 {
		t.Errorf("got %d options, %d sections, %d schedules for %d entries; want %d, %d, 4", len(options), len(sections), len(schedules), crontabs*lines, 1+crontabs, 2*crontabs)
	}
	if file, _ := parseWith(t, &sidecar.Sidecar{}, "0 1 * * * root x\n"); file.Entries[0].Options() != option.Plain {
		t.Error("an empty sidecar gives an entry options of its own")
	}
}

// FuzzSidecar reads any value of any option from a sidecar: what Check refuses
// holds or degrades the entry, and nothing else does.
func FuzzSidecar(f *testing.F) {
	for _, s := range option.Vocabulary() {
		f.Add(s.Key, s.Values, "x")
	}
	f.Add("?timeout", "5m", "a*b")
	f.Add("name", "j", "*")
	f.Fuzz(func(t *testing.T, key, value, command string) {
		at := []sidecar.Setting{{Key: key, Value: value, File: "c.toml", Line: 3}}
		text := "0 1 * * * root x\n"
		for _, s := range []*sidecar.Sidecar{{Default: at}, {Matches: []sidecar.Match{{User: "root", Command: command, Set: at}}}, {Jobs: map[string]sidecar.JobConfig{"j": {Set: at}}}} {
			file, diagnostics := Parse("fuzz", "#@ name=j\n"+text, Config{Format: System, Zone: zones, Sidecar: s})
			checkDiagnostics(t, "#@ name=j\n"+text, diagnostics)
			if len(file.Entries) != 1 {
				t.Fatalf("%q = %q: got %d entries, want 1", key, value, len(file.Entries))
			}
			found := len(s.Matches) == 0 || file.touched != nil
			refused := slices.ContainsFunc(CheckSidecar(s, Config{Zone: zones}), func(d diagnostic.Diagnostic) bool {
				if d.File != "c.toml" || d.Line != 3 && d.Code != "B602" || d.Message == "" || d.Code.Meaning() == "" {
					t.Fatalf("%q = %q: got %+v", key, value, d)
				}
				return d.Severity == diagnostic.Error || d.Severity == diagnostic.Warning
			})
			clash := len(diagnostics) > 0
			o := file.Entries[0].Options()
			if bad := o.Held != "" || o.Degraded != ""; found && key != "name" && bad != (refused || clash) {
				t.Fatalf("%q = %q: refused %t, %v, but held %q, degraded %q", key, value, refused, diagnostics, o.Held, o.Degraded)
			}
		}
	})
}
