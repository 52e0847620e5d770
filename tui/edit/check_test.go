package edit

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cronring/cronring/crontab"
	"github.com/cronring/cronring/crontab/timetable"
	"github.com/cronring/cronring/daemon/api"
)

func checker(text string) *Checker {
	return NewChecker(&api.CrontabText{
		CrontabFile: api.CrontabFile{File: "/etc/cron.d/etl"}, Text: []byte(text), Format: api.FormatSystem, Family: api.FamilyDebian,
		Account: "root", Privileged: true, Zone: "Europe/Berlin",
	}, time.LoadLocation)
}

func TestCheckFindsProblemsAndEntries(t *testing.T) {
	const old = "61 * * * * root old\n#@ name=a\n* * * * * root a\n"
	c := checker(old)
	got := c.Check(old + "0 0 13 * 5 root b\n62 * * * * root c\n")
	if got.Errors != 2 || got.Warnings != 1 || len(got.Blocking) != 1 || got.Blocking[0].Line != 5 {
		t.Errorf("got %d errors, %d warnings, blocking %v; want 2, 1 and line 5", got.Errors, got.Warnings, got.Blocking)
	}
	if added, changed, removed := got.Count(); added != 1 || changed != 0 || removed != 0 {
		t.Errorf("got +%d ~%d -%d, want one added", added, changed, removed)
	}
	for from, want := range map[int]int{0: 1, 1: 4, 4: 5, 5: 1} {
		if next, ok := got.NextProblem(from); !ok || next != want {
			t.Errorf("after line %d comes %d, want %d", from, next, want)
		}
	}
	if got.Worst(4) != crontab.Warning || got.Worst(5) != crontab.Error || got.Worst(3) != crontab.Note {
		t.Errorf("worst of lines 3, 4 and 5: %v, %v, %v", got.Worst(3), got.Worst(4), got.Worst(5))
	}
	lines := strings.Split(old, "\n")
	about := got.About(2, func(line int) (string, bool) { return lines[line-1], line <= len(lines) })
	if about == nil || about.Line() != 3 || got.Entry(2) != nil || got.Entry(3) == nil {
		t.Errorf("line 2 is about %v, want the entry of line 3", about)
	}
}

func TestLookAheadTellsYearAndClocks(t *testing.T) {
	c := checker("")
	now := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	for line, want := range map[string]Outlook{
		"0 5 * * * root a":  {2026, 365, "no effect: it names no repeated time", 1},
		"30 2 * * * root a": {2026, 365, "28 Mar 2027: 02:30 does not exist: it runs once at 03:00 +02:00; 31 Oct 2027: 02:30 comes twice: it runs the first time only", 0},
		"@reboot root a":    {0, 0, "no change of the clock within two years", 0},
	} {
		checked := c.Check(line + "\n0 5 21 11 * root other\n")
		e := checked.Entry(1)
		if e == nil {
			t.Fatalf("%q is no entry", line)
		}
		if got := checked.LookAhead(e, now); got != want {
			t.Errorf("%q: got %+v, want %+v", line, got, want)
		}
	}
}

// BenchmarkCheck measures the cost of a key in a crontab of 2,000 lines, aside from the
// drawing: the text is put together, read, and compared.
func BenchmarkCheck(b *testing.B) {
	var text strings.Builder
	for i := range 1000 {
		fmt.Fprintf(&text, "#@ name=job-%d overlap=skip\n%d %d * * * root /usr/bin/run --job %d\n", i, i%60, i/60%24, i)
	}
	c := checker(text.String())
	buffer := NewBuffer(text.String())
	buffer.Go(1001, 0)
	for b.Loop() {
		buffer.Insert("#")
		if n := len(c.Check(buffer.Text()).Changes); n == 0 {
			b.Fatal(n)
		}
	}
}

// Versions are looked at side by side, as keys come faster than a check ends.
func TestCheckerServesSeveralAtOnce(t *testing.T) {
	const old = "#@ name=a tz=Europe/Paris\n30 2 * * * root a\n"
	c := checker(old)
	now := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	checked := c.Check(old)
	shared := checked.Entry(2)
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			text := old + strings.Repeat("* * * * * root b\n", i)
			if added, _, _ := c.Check(text).Count(); added != i {
				t.Errorf("%d lines more: got %d added", i, added)
			}
			checked.LookAhead(shared, now)
			Next(shared, nil, now, 3)
		})
	}
	all.Wait()
}

// TestNextLeavesOutBlackouts reads blackouts as the daemon sends them: an occurrence in one is
// skipped, or moved to its end by outside=wait.
func TestNextLeavesOutBlackouts(t *testing.T) {
	now := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	spans, err := timetable.ParseSpans("sat/01:00-03:00")
	if err != nil {
		t.Fatal(err)
	}
	sent := api.CrontabText{Zone: "UTC", Format: api.FormatUser, Blackouts: api.NewBlackouts(timetable.Blackouts{
		{Name: "upgrade", Reason: "disks", From: now, Until: now.Add(time.Hour)},
		{Name: "backup", Allowed: timetable.NewHours(nil, spans, timetable.NewZone(time.UTC))},
	})}
	blackouts := sent.HostBlackouts(time.LoadLocation)
	for _, tt := range []struct{ text, first, in string }{
		{"30 2 * * * a\n", "22 02:30", "blackout.backup"},
		{"#@ outside=wait window=00:00-24:00\n30 2 * * * a\n", "21 03:00", "blackout.backup"},
		{"30 12 * * * a\n", "21 12:30", "blackout.upgrade: disks"},
		{"0 14 * * * a\n", "20 14:00", ""},
	} {
		file, _ := crontab.Parse("t", tt.text, sent.Config(time.LoadLocation))
		list, in := Next(&file.Entries[0], blackouts, now, 2)
		if len(list) != 2 || list[0].UTC().Format("02 15:04") != tt.first || in != tt.in {
			t.Errorf("%s: got %v in %q, want %s first, in %q", tt.text, list, in, tt.first, tt.in)
		}
	}
}
