package store

import (
	"testing"
	"time"

	"github.com/cronring/cronring/daemon/job"
	"github.com/cronring/cronring/daemon/store/statistics"
)

func TestTotalsCountWhatWasDecidedSince(t *testing.T) {
	s := open(t, t.TempDir())
	if got, err := s.Totals(t.Context(), noon); err != nil || got != (statistics.Totals{}) {
		t.Errorf("totals of nothing: %+v, %v", got, err)
	}
	manual := ended(104, "m", noon.Add(-time.Hour), 0)
	manual.Run.Trigger, manual.Run.Decided = job.TriggerManual, noon
	dropped := decided(105, "d", noon)
	dropped.Run.State = job.RunDropped
	missed := skipped("s", noon.Add(-2*time.Hour), job.Late) // long ago, but decided now
	missed.At, missed.First, missed.Count = noon, noon.Add(-4*time.Hour), 7
	var records []job.Record
	for id := job.RunID(1); id <= 100; id++ { // lags of 1 to 99 ms, and 0
		records = append(records, ended(id, jobName(int(id)), noon, 0))
	}
	records = append(records,
		ended(101, "failed", noon, 1), decided(102, "live", noon), ended(103, "older", noon.Add(-1), 1),
		manual, dropped, missed, skipped("s", noon, job.Overlapping), skipped("old", noon.Add(-1), job.Late))
	commit(t, s, Batch{Records: records})

	got, err := s.Totals(t.Context(), noon)
	if err != nil {
		t.Fatal(err)
	}
	same(t, "totals", got, statistics.Totals{
		Runs: 104, OK: 101, Failed: 1, Skipped: 8, LagP99: 98 * time.Millisecond,
	})
	all, err := s.Totals(t.Context(), time.Time{})
	if err != nil || all.Runs != 105 || all.Failed != 2 || all.Skipped != 9 {
		t.Errorf("totals of all time: %+v, %v; want 105 runs, 2 failed, 9 skipped", all, err)
	}
}

func TestTotalsAfterTheClockWasSetBack(t *testing.T) {
	s := open(t, t.TempDir())
	later := decided(3, "a", noon.Add(-30*time.Minute))
	later.Era, later.Run.Era = 1, 1
	commit(t, s, Batch{Records: []job.Record{decided(1, "a", noon.Add(-time.Hour)), decided(2, "a", noon), later}})
	for since, want := range map[time.Duration]int{0: 1, -30 * time.Minute: 2, -time.Hour: 3} {
		if got, err := s.Totals(t.Context(), noon.Add(since)); err != nil || got.Runs != want {
			t.Errorf("since noon%s: %d runs, %v; want %d", since, got.Runs, err, want)
		}
	}
}

func TestLivesTellHowEachEnded(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	at := func(n int) time.Time { return noon.Add(time.Duration(n) * time.Minute) }
	commit(t, s, Batch{At: at(0), BootID: "one", Records: []job.Record{{At: at(0), Kind: job.Up}}})
	commit(t, s, Batch{At: at(5), BootID: "one", Records: []job.Record{{At: at(5), Kind: job.Down}}})
	s = reopen(t, s, dir) // a life that commits nothing leaves no trace
	s = reopen(t, s, dir)
	commit(t, s, Batch{At: at(10), BootID: "one"})
	commit(t, s, Batch{At: at(12), BootID: "one"})
	s = reopen(t, s, dir)
	commit(t, s, Batch{At: at(20), BootID: "two"})

	lives := []Life{
		{Up: at(0), LastSeen: at(5), Down: at(5), Clean: true, BootID: "one"},
		{Up: at(10), LastSeen: at(12), BootID: "one"},
		{Up: at(20), LastSeen: at(20), BootID: "two"},
	}
	for _, c := range []struct {
		from, to time.Time
		want     []Life
	}{
		{time.Time{}, at(60), lives},
		{at(6), at(9), nil},
		{at(11), at(11), lives[1:2]},
		{at(5), at(10), lives[:2]},
		{at(20), at(60), lives[2:]},
	} {
		got, err := s.Lives(t.Context(), c.from, c.to)
		if err != nil {
			t.Fatal(err)
		}
		same(t, "lives", got, c.want)
	}
}
