package analysis

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/cronring/cronring/crontab"
)

// TestRunsOfAnacrontabAreAPeriodApart: the daemon checks these entries each midnight, and few checks start a run.
func TestRunsOfAnacrontabAreAPeriodApart(t *testing.T) {
	file, diagnostics := crontab.Parse("anacrontab", "1 5 daily true\n7 10 weekly true\n@monthly 15 monthly true\n", crontab.Config{
		Format: crontab.Anacron, Owner: "root",
	})
	if len(file.Entries) != 3 {
		t.Fatalf("got %d entries and %v, want 3", len(file.Entries), diagnostics)
	}
	from := time.Date(2026, 1, 30, 12, 0, 0, 0, time.UTC)
	for i, want := range [][]string{
		{"01-31 00:05", "02-01 00:05", "02-02 00:05"},
		{"01-31 00:10", "02-07 00:10", "02-14 00:10"},
		{"01-31 00:15", "02-28 00:15", "03-28 00:15"},
	} {
		var got []string
		for _, at := range (Window{From: from, Number: 3}).Runs(file.Entries[i].Schedule, time.UTC) {
			got = append(got, at.Format("01-02 15:04"))
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", file.Entries[i].Spec(), diff)
		}
	}
}
