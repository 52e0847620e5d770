package crontab_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/cronring/cronring/crontab"
	"github.com/cronring/cronring/crontab/dependency"
	"github.com/cronring/cronring/crontab/diagnostic"
	"github.com/cronring/cronring/crontab/sidecar"
	"github.com/cronring/cronring/crontab/source"
	"github.com/cronring/cronring/crontab/timetable"
)

// TestEachCodeIsListedAndMade reads the crontabs of testdata and what they
// cannot hold: each code that is listed must be made by some line, and each
// that is made must be listed with its severity.
func TestEachCodeIsListedAndMade(t *testing.T) {
	texts := []string{
		"A=" + strings.Repeat("x", crontab.MaxSetting) + "\n=b\nRANDOM_DELAY=x\nTZ=UTC\nPATH=$PATH\nA=b # c\nUSER=x\nSHELL=sh\nMAILTO=a, b\n",
		"0 1 * * * a \\\n0 1 * * * date +%F\n0 1 * * * a #@ overlap=skip\n0 1 * * * " + strings.Repeat("x", crontab.MaxCommand+1) + "\n0 1 * * * \x00\n",
		"0 1 * * *" + strings.Repeat(" ", 70_000) + "a\n",
		"\ufeff0 1 * * * a\r\n",
		strings.Repeat("x\n", source.MaxDiagnostics+1),
		strings.Repeat("\n", crontab.MaxText+1),
		"#@ notify=unheard-of\n@reboot a\n#@ for people\n#@no-overlap\n#@ no-overlap\n#@ cpu=64\n0 1 * * * # x\n#@ timeout=5m\n\n#@ ?quorum=3\n@reboot a\n#@ on=clock\n0 1 * * * a\n#@ window=08:00-20:00\n0 1 * * * a\n#@ day=last\n0 1 1 * * a\n#@ jitter=5m\n@reboot a\n#@ nice=-1\n@reboot a\n",
		"#@ " + strings.Repeat("ok=1 ", 65) + "\n0 1 * * * a\n",
		"@@ a\n@ a\n@every a\n0 0 0 12 1 1 a\n* * * * * * a\n",
	}
	paths, _ := filepath.Glob("../testdata/crontab/*")
	for _, path := range paths {
		if text, err := os.ReadFile(path); err == nil {
			texts = append(texts, string(text))
		}
	}
	made := map[diagnostic.Code]bool{}
	for _, text := range texts {
		for _, format := range []crontab.Format{crontab.User, crontab.System} {
			file, diagnostics := crontab.Parse("codes", text, crontab.Config{Format: format, Zone: time.LoadLocation, Channels: map[string][]string{}, Processors: 4})
			for _, d := range append(diagnostics, file.Losses()...) {
				made[d.Code] = true
				if d.Code.Meaning() == "" || d.Code.Severity() != d.Severity {
					t.Fatalf("%v: code %s is not listed as %v", d, d.Code, d.Severity)
				}
			}
		}
	}
	for _, family := range []crontab.Family{crontab.Debian, crontab.RHEL} {
		_, diagnostics := crontab.Parse("codes", "x\n@daily 1 a b\n@sometimes 1 a b\n99999999999 1 a b\n1 1 .. b\n1 1 a b\n1 1 a c\\d\n"+
			"START_HOURS_RANGE=3-5\nPREFERRED_HOUR=7\nRANDOM_DELAY=x\n", crontab.Config{Format: crontab.Anacron, Family: family})
		for _, d := range diagnostics {
			made[d.Code] = true
			if d.Code.Severity() != d.Severity {
				t.Fatalf("%v: code %s is not listed as %v", d, d.Code, d.Severity)
			}
		}
	}
	var entries []*crontab.Entry
	var edged []int
	names := map[string]int{}
	for owner, text := range map[string]string{
		"ann": "#@ name=a after=b\n0 1 * * * a\n#@ name=c after=c\n0 1 * * * c\n#@ name=p\n0 1 * * * p\n",
		"bob": "#@ name=p\n0 1 * * * p\n#@ default after=p\n" + strings.Repeat("0 1 * * * q\n", 200_001),
	} {
		file, _ := crontab.Parse("crontabs/"+owner, text, crontab.Config{Owner: owner})
		for i := range file.Entries {
			e := &file.Entries[i]
			names[owner+"/"+e.Options().Name] = len(entries)
			if len(e.Options().After) > 0 {
				edged = append(edged, len(entries))
			}
			entries = append(entries, e)
		}
	}
	called := func(owner, name string) (int, bool) { i, ok := names[owner+"/"+name]; return i, ok }
	entry := func(i int) *crontab.Entry { return entries[i] }
	for _, d := range dependency.Connect(edged, entry, called).Diagnostics(entry) {
		made[d.Code] = true
	}
	side := &sidecar.Sidecar{Jobs: map[string]sidecar.JobConfig{"a b": {}}}
	for _, d := range append(crontab.CheckSidecar(side, crontab.Config{}), crontab.UnusedInSidecar(side, nil)...) {
		made[d.Code] = true
	}
	_, diagnostics := crontab.Parse("codes", "0 1 * * * a\n0 1 * * * b\n", crontab.Config{MaxEntries: 1})
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
