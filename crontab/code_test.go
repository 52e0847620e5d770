package crontab

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/cronring/cronring/crontab/diagnostic"
	"github.com/cronring/cronring/crontab/source"
	"github.com/cronring/cronring/crontab/timetable"
)

// TestEachCodeIsListedAndMade reads the tables of testdata and what they
// cannot hold: each code that is listed must be made by some line, and each
// that is made must be listed with its severity.
func TestEachCodeIsListedAndMade(t *testing.T) {
	texts := []string{
		"A=" + strings.Repeat("x", MaxSetting) + "\n=b\nRANDOM_DELAY=x\nTZ=UTC\nPATH=$PATH\nA=b # c\nUSER=x\nSHELL=sh\n",
		"0 1 * * * a \\\n0 1 * * * date +%F\n0 1 * * * a #@ overlap=skip\n0 1 * * * " + strings.Repeat("x", MaxCommand+1) + "\n0 1 * * * \x00\n",
		"0 1 * * *" + strings.Repeat(" ", 70_000) + "a\n",
		"\ufeff0 1 * * * a\r\n",
		strings.Repeat("x\n", source.MaxDiagnostics+1),
		strings.Repeat("\n", MaxText+1),
		"#@ notify=unheard-of\n@reboot a\n#@ for people\n#@no-overlap\n#@ no-overlap\n#@ cpu=64\n0 1 * * * # x\n#@ timeout=5m\n\n#@ ?quorum=3\n@reboot a\n#@ window=08:00-20:00\n0 1 * * * a\n#@ file strict\n#@ jitter=5m\n@reboot a\n#@ nice=-1\n@reboot a\n",
		"#@ " + strings.Repeat("ok=1 ", maxItems+1) + "\n0 1 * * * a\n",
		"@@ a\n@ a\n@every a\n0 0 0 12 1 1 a\n* * * * * * a\n",
	}
	paths, _ := filepath.Glob(filepath.Join(corpus, "*"))
	for _, path := range paths {
		if text, err := os.ReadFile(path); err == nil {
			texts = append(texts, string(text))
		}
	}
	made := map[diagnostic.Code]bool{}
	for _, text := range texts {
		for _, format := range []Format{User, System} {
			file, diagnostics := Parse("codes", text, Config{Format: format, Zone: time.LoadLocation, Channels: map[string][]string{}, Processors: 4})
			for _, d := range append(diagnostics, file.Losses()...) {
				made[d.Code] = true
				if d.Code.Meaning() == "" || d.Code.Severity() != d.Severity {
					t.Fatalf("%v: code %s is not listed as %v", d, d.Code, d.Severity)
				}
			}
		}
	}
	for _, family := range []Family{Debian, RHEL} {
		_, diagnostics := Parse("codes", "x\n@daily 1 a b\n@sometimes 1 a b\n99999999999 1 a b\n1 1 .. b\n1 1 a b\n1 1 a c\\d\n"+
			"START_HOURS_RANGE=3-5\nPREFERRED_HOUR=7\nRANDOM_DELAY=x\n", Config{Format: Anacron, Family: family})
		for _, d := range diagnostics {
			made[d.Code] = true
			if d.Code.Severity() != d.Severity {
				t.Fatalf("%v: code %s is not listed as %v", d, d.Code, d.Severity)
			}
		}
	}
	graph, entries := connectNamed(
		userCrontab(t, "ann", "#@ name=a after=b\n0 1 * * * a\n#@ name=c after=c\n0 1 * * * c\n#@ name=p\n0 1 * * * p\n"),
		userCrontab(t, "bob", "#@ name=p\n0 1 * * * p\n#@ default after=p\n"+strings.Repeat("0 1 * * * q\n", maxLinks+1)))
	for _, d := range graph.Diagnostics(func(i int) *Entry { return entries[i] }) {
		made[d.Code] = true
	}
	side := &Sidecar{Jobs: map[string]JobConfig{"a b": {}}}
	for _, d := range append(side.Check(Config{}), side.Unused(nil)...) {
		made[d.Code] = true
	}
	_, diagnostics := Parse("codes", "0 1 * * * a\n0 1 * * * b\n", Config{MaxEntries: 1})
	made[diagnostics[0].Code] = true
	for _, spec := range []string{"@reboot", "0 0 * * * x"} { // these two only where a line is all time fields
		_, diagnostics := timetable.ParseSchedule(spec, timetable.NewZone(nil), 0)
		for _, d := range diagnostics {
			made[d.Code] = true
		}
	}
	for _, code := range diagnostic.Codes() {
		if !made[code] {
			t.Errorf("%s (%s) is listed, but no line of this test makes it", code, code.Meaning())
		}
	}
}
