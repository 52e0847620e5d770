package main

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/cronring/cronring/daemon/job"
)

// TestSimulateZoneChanges holds simulate to the table of starts that Debian's
// cron was measured to make around changes of zones, which the design names
// row by row.
func TestSimulateZoneChanges(t *testing.T) {
	for _, tc := range []struct {
		row            int
		zone, from, to string
		entry, starts  string
	}{
		{1, "America/New_York", "2026-03-08T05:00Z", "2026-03-08T11:00Z", "30 2 * * *", "07:00"},
		{2, "America/New_York", "2026-03-08T05:00Z", "2026-03-08T11:00Z", "0-59/20 2 * * *", "07:00"},
		{3, "America/New_York", "2026-03-08T05:00Z", "2026-03-08T11:00Z", "0 1-3 * * *", "06:00 07:00"},
		{4, "America/New_York", "2026-03-08T05:00Z", "2026-03-08T11:00Z", "*/20 2 * * *", ""},
		{5, "America/New_York", "2026-03-08T05:00Z", "2026-03-08T11:00Z", "0 */2 * * *", "05:00 08:00 10:00"},
		{6, "America/New_York", "2026-03-08T05:00Z", "2026-03-08T11:00Z", "0 0-23 * * *", "05:00 06:00 07:00 08:00 09:00 10:00"},
		{7, "America/New_York", "2026-03-08T05:00Z", "2026-03-08T11:00Z", "@hourly", "05:00 06:00 07:00 08:00 09:00 10:00"},
		{8, "America/New_York", "2026-11-01T04:00Z", "2026-11-01T11:00Z", "30 1 * * *", "05:30"},
		{9, "America/New_York", "2026-11-01T04:00Z", "2026-11-01T11:00Z", "*/20 1 * * *", "05:00 05:20 05:40 06:00 06:20 06:40"},
		{10, "America/New_York", "2026-11-01T04:00Z", "2026-11-01T11:00Z", "0 0-23 * * *", "04:00 05:00 07:00 08:00 09:00 10:00"},
		{11, "America/New_York", "2026-11-01T04:00Z", "2026-11-01T11:00Z", "0 */2 * * *", "04:00 07:00 09:00"},
		{12, "Europe/London", "2026-03-29T00:00Z", "2026-03-29T04:00Z", "0,30 1,2 * * *", "01:00 01:30"},
		{13, "Europe/London", "2026-10-24T23:00Z", "2026-10-25T05:00Z", "0 1-3 * * *", "00:00 02:00 03:00"},
		{14, "Australia/Lord_Howe", "2026-10-03T13:30Z", "2026-10-03T20:00Z", "0-59/20 2 * * *", "15:30 15:40"},
		{15, "Australia/Lord_Howe", "2026-04-04T13:00Z", "2026-04-04T20:00Z", "0,30 1,2 * * *", "14:00 14:30 15:30 16:00"},
		{16, "Australia/Lord_Howe", "2026-04-04T13:00Z", "2026-04-04T20:00Z", "*/20 1 * * *", "14:00 14:20 14:40 15:10"},
		{17, "Antarctica/Troll", "2026-03-29T00:00Z", "2026-03-29T04:00Z", "0 1-3 * * *", "01:00"},
		{18, "Antarctica/Troll", "2026-10-24T22:00Z", "2026-10-25T06:00Z", "*/20 2 * * *", "00:00 00:20 00:40 02:00 02:20 02:40"},
		{19, "Antarctica/Troll", "2026-10-24T22:00Z", "2026-10-25T06:00Z", "0 0-23 * * *", "22:00 23:00 00:00 03:00 04:00 05:00"},
		{20, "Asia/Beirut", "2026-03-28T20:00Z", "2026-03-29T04:00Z", "@daily", "22:00"},
		{21, "America/Sao_Paulo", "2018-11-04T02:00Z", "2018-11-04T08:00Z", "0 0 * * *", "03:00"},
		{21, "America/Sao_Paulo", "2018-11-04T02:00Z", "2018-11-04T08:00Z", "0 0-23 * * *", "02:00 03:00 04:00 05:00 06:00 07:00"},
		{22, "America/Sao_Paulo", "2018-02-18T00:00Z", "2018-02-18T07:00Z", "0 0 * * *", "03:00"},
		{22, "America/Sao_Paulo", "2018-02-18T00:00Z", "2018-02-18T07:00Z", "0 0-23 * * *", "00:00 01:00 03:00 04:00 05:00 06:00"},
		{22, "America/Sao_Paulo", "2018-02-18T00:00Z", "2018-02-18T07:00Z", "@hourly", "00:00 01:00 02:00 03:00 04:00 05:00 06:00"},
		{23, "Asia/Almaty", "2024-02-29T17:30Z", "2024-03-01T17:30Z", "0 0 * * *", "19:00"},
		{24, "Pacific/Apia", "2011-12-29T11:00Z", "2011-12-31T09:00Z", "0 0 * * *", "10:00"},
	} {
		stdout, stderr, code := Called(t, tc.entry+" true\n", "simulate", "-", "-o", "jsonl",
			"--tz", tc.zone, "--from", seconds(tc.from), "--until", seconds(tc.to))
		var got []string
		for _, s := range simulatedLines(t, stdout) {
			got = append(got, s.Due.Format("15:04"))
		}
		if code != 0 || strings.Join(got, " ") != tc.starts {
			t.Errorf("row %d, %s %s..%s, %s: got %q (exit %d %s), want %q", tc.row, tc.zone, tc.from, tc.to, tc.entry, got, code, stderr, tc.starts)
		}
	}
}

// seconds converts a time of the table to RFC 3339, which requires seconds.
func seconds(t string) string { return strings.Replace(t, "Z", ":00Z", 1) }

// simulatedStart is the part of a line of simulate that the tests compare.
type simulatedStart struct {
	Due, At time.Time
	Job     job.ID
	Trigger job.Trigger
}

func simulatedLines(t *testing.T, text string) []simulatedStart {
	t.Helper()
	var list []simulatedStart
	for line := range strings.Lines(text) {
		var s simulatedStart
		if err := json.Unmarshal([]byte(line), &s); err != nil {
			t.Fatalf("read %q: %v", line, err)
		}
		list = append(list, s)
	}
	return list
}

func TestSimulateOverlapSkips(t *testing.T) {
	stdout, _, _ := Called(t, "#@ name=slow overlap=skip\n*/10 * * * * slow\n", "simulate", "-", "-o", "jsonl", "--utc",
		"--from", "2026-01-01T00:00:00Z", "--until", "2026-01-01T01:00:00Z", "--durations", "15m")
	var got []string
	for _, s := range simulatedLines(t, stdout) {
		got = append(got, s.Due.Format("15:04"))
	}
	if diff := cmp.Diff([]string{"00:00", "00:20", "00:40"}, got); diff != "" {
		t.Errorf("runs of 15 minutes each 10 minutes with overlap=skip (-want +got):\n%s", diff)
	}
}

// Dependencies, conditions and pools hold in a simulation as they do in the
// daemon: upload waits for dump until 01:10, and then for report, which has the
// only slot of the pool.
func TestSimulateChain(t *testing.T) {
	stdout, _, _ := Called(t, `#@ name=dump if='test -e /nowhere'
0 1 * * * dump
#@ name=upload after=dump pool=wan
0 1 * * * upload
#@ name=report pool=wan
5 1 * * * report
#@ name=page on=job:report
0 0 31 2 * page
`, "simulate", "-", "-o", "jsonl", "--utc", "--from", "2026-01-01T00:00:00Z", "--until", "2026-01-02T00:00:00Z", "--durations", "10m")
	var got []string
	for _, s := range simulatedLines(t, stdout) {
		got = append(got, s.At.Format("15:04 ")+string(s.Job)+" "+string(s.Trigger))
	}
	want := []string{"01:00 dump clock", "01:05 report clock", "01:15 page dependency", "01:15 upload clock"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("a chain of runs of 10 minutes (-want +got):\n%s", diff)
	}
}

func TestSimulateRebootNotRun(t *testing.T) {
	stdout, stderr, code := Called(t, "@reboot true\n", "simulate", "-", "-o", "jsonl", "--utc", "--from", "2026-01-01")
	if stdout != "" || code != 0 {
		t.Errorf("@reboot: got %q %q exit %d, want no start and exit 0", stdout, stderr, code)
	}
}

// BenchmarkSimulateDay is a day of 10,000 jobs, each once an hour.
func BenchmarkSimulateDay(b *testing.B) {
	var text strings.Builder
	for i := range 10_000 {
		fmt.Fprintf(&text, "%d * * * * job-%d\n", i%60, i)
	}
	for b.Loop() {
		began := time.Now()
		_, _, code := Called(b, text.String(), "simulate", "-", "-o", "jsonl", "--utc", "--from", "2026-01-01")
		if code != 0 {
			b.Fatalf("simulate: got exit %d", code)
		}
		b.ReportMetric(240_000/time.Since(began).Seconds(), "starts/s")
	}
}

func TestSimulateCrontabWithoutHeader(t *testing.T) {
	stdout, stderr, code := Called(t, "0 3 * * * true\n", "simulate", "-", "--utc", "--from", "2026-01-01", "-o", "plain", "--no-header")
	if code != 0 || !strings.HasPrefix(stdout, "2026-01-01T03:00:00Z\t") || strings.Count(stdout, "\n") != 1 {
		t.Errorf("simulate -o plain --no-header: got exit %d, %q, %q, want the one start", code, stdout, stderr)
	}
}
