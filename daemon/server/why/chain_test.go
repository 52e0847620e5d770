package why

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/cronring/cronring/crontab"
	"github.com/cronring/cronring/crontab/timetable"
	"github.com/cronring/cronring/daemon/api"
	"github.com/cronring/cronring/daemon/job"
	"github.com/cronring/cronring/daemon/store"
)

// A daemon that waits for running jobs before it ends is not down, but starts no job.
func TestDaemonFactOfADaemonThatStopped(t *testing.T) {
	file, _ := crontab.Parse("jobs", "CRON_TZ=UTC\n* * * * * true\n", crontab.Config{Zone: time.LoadLocation})
	at := time.Date(2026, 11, 28, 9, 8, 20, 0, time.UTC)
	ended, again := at.Add(8*time.Second), at.Add(10*time.Second)
	for want, before := range map[string]store.Life{
		"it was stopping, and started no more jobs: it ended at Sat 28 Nov 2026 09:08:28 UTC, and started again at Sat 28 Nov 2026 09:08:30 UTC": {Down: ended, Clean: true},
		"down from Sat 28 Nov 2026 09:08:19 UTC to Sat 28 Nov 2026 09:08:30 UTC":                                                                 {Down: at.Add(-time.Second), Clean: true},
	} {
		ev := &evidence{entry: &file.Entries[0], at: at, now: again, before: &before, after: &store.Life{Up: again}}
		if got := ev.daemonFact(); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

// A run that waits for a new grant of the ring will start: another one would run its occurrence twice.
func TestRemediesOfARunThatWaitsForAClaim(t *testing.T) {
	r := job.Run{ID: 7, Job: "sync"}
	r.Wait(job.WaitsOnClaim)
	ev := &evidence{decided: true, run: &r}
	want := []api.Remedy{{What: "watch it", Command: "cronring logs -f 7"}}
	if diff := cmp.Diff(want, ev.remedies(r.Reason.Step())); diff != "" {
		t.Errorf("remedies (-want +got):\n%s", diff)
	}
}

// Clocks that go forward in the next night, or went forward in the night before, do not affect a day.
func TestClockFactOnTheDaysAroundAChange(t *testing.T) {
	berlin, beirut := load(t, "Europe/Berlin"), load(t, "Asia/Beirut")
	for _, tc := range []struct {
		zone *time.Location
		at   time.Time
		want string
	}{
		{berlin, time.Date(2027, 3, 27, 2, 30, 0, 0, berlin), "02:30 exists once in Europe/Berlin that day"},
		{berlin, time.Date(2027, 3, 28, 3, 0, 0, 0, berlin), "clocks went forward from 02:00 to 03:00 in Europe/Berlin that day; fixed times between run at 03:00"},
		{berlin, time.Date(2027, 3, 29, 2, 30, 0, 0, berlin), "02:30 exists once in Europe/Berlin that day"},
		{beirut, time.Date(2026, 3, 28, 23, 0, 0, 0, beirut), "23:00 exists once in Asia/Beirut that day"},
		{beirut, time.Date(2026, 3, 29, 1, 0, 0, 0, beirut), "clocks went forward from 00:00 to 01:00 in Asia/Beirut that day; fixed times between run at 01:00"},
	} {
		if got := wallFact(timetable.NewZone(tc.zone), tc.at); got != tc.want {
			t.Errorf("%s: got %q, want %q", tc.at, got, tc.want)
		}
	}
}

func load(t *testing.T, zone string) *time.Location {
	loc, err := time.LoadLocation(zone)
	if err != nil {
		t.Fatal(err)
	}
	return loc
}

// An occurrence that was due within its hours, and was noticed outside of them, is explained by both.
func TestFactOfAnOccurrenceThatWasNoticedOutsideOfItsHours(t *testing.T) {
	file, _ := crontab.Parse("jobs", "CRON_TZ=UTC\n#@ name=night window=01:00-03:00\n30 2 * * * true\n", crontab.Config{Zone: time.LoadLocation})
	due := time.Date(2027, 3, 27, 2, 30, 0, 0, time.UTC)
	for _, tc := range []struct {
		noticed time.Time
		want    string
	}{
		{due.Add(6 * time.Hour), "; it was noticed only at Sat 27 Mar 2027 08:30:00 UTC, 6h after its time"},
		{due, ""},
	} {
		ev := &evidence{entry: &file.Entries[0], at: due, decided: true, record: job.Record{At: tc.noticed, Reason: job.OutsideHours, Detail: "window=01:00-03:00"}}
		want := "it must not start at this time, because of window=, blackout= or a blackout of the host: window=01:00-03:00" + tc.want
		if got := ev.crossFact(ev.crossed()); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

// With dst=second, the first of two times is the one that does not run.
func TestMismatchInAnHourThatComesTwice(t *testing.T) {
	file, _ := crontab.Parse("jobs", "CRON_TZ=Europe/Berlin\n30 2 * * * true\n#@ dst=second\n30 2 * * * true\n", crontab.Config{Zone: time.LoadLocation})
	first := time.Date(2027, 10, 31, 0, 30, 0, 0, time.UTC)
	for i, want := range []string{
		"02:30 came twice in Europe/Berlin that day, this is the second pass, and a fixed time is run in the first pass only",
		"02:30 came twice in Europe/Berlin that day, this is the first pass, and a fixed time is run in the second pass only",
	} {
		at := first.Add(time.Duration(1-i) * time.Hour)
		if got := mismatch(&file.Entries[i], at); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
