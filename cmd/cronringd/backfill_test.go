package main

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/cronring/cronring/daemon/api"
	"github.com/cronring/cronring/daemon/job"
	"github.com/cronring/cronring/daemon/store"
)

// TestBackfillCrash kills the daemon with SIGKILL in the middle of a backfill,
// again and again. In the end each occurrence was run, and none twice.
func TestBackfillCrash(t *testing.T) {
	const occurrences, crashes = 60, 3
	dir := t.TempDir()
	ran := filepath.Join(t.TempDir(), "ran")
	file := crontabFile(t, "#@ name=fill\n* * * * * echo $CRONRING_DUE $CRONRING_TRIGGER >>"+ran+"; sleep 0.3\n")
	to := time.Now().Add(-time.Hour).Truncate(time.Minute)
	from := to.Add(-(occurrences - 1) * time.Minute)

	d := launch(t, dir, file)
	b, err := d.client.Backfill(t.Context(), api.BackfillRequest{
		Ref: "fill", From: from.Format(time.RFC3339), To: to.Format(time.RFC3339), MaxActive: 3,
	})
	if err != nil || b.Plan.Count != occurrences {
		t.Fatalf("Backfill: %+v, %v, want %d occurrences", b, err, occurrences)
	}
	for range crashes {
		for range 8 {
			d.await("fill[", "starting (backfill)")
		}
		if status := d.signal(syscall.SIGKILL); status != -1 {
			t.Fatalf("killed daemon: exit status %d", status)
		}
		d = launch(t, dir, file)
	}
	d.await("backfill 1 done")
	all, err := d.client.Backfills(t.Context(), nil)
	if err != nil || len(all) != 1 || all[0].ID != b.ID {
		t.Fatalf("Backfills: %+v, %v, want the one", all, err)
	}
	over := all[0]
	if over.State != job.BackfillDone || over.Started != occurrences {
		t.Errorf("it ended as %+v, want it done and %d started", over, occurrences)
	}
	if status := d.signal(syscall.SIGTERM); status != 0 {
		t.Fatalf("after SIGTERM: exit status %d", status)
	}

	runs, err := openStore(t, dir).Runs(t.Context(), store.Filter{Trigger: job.TriggerBackfill, Limit: 10_000})
	if err != nil {
		t.Fatal(err)
	}
	lost, seen := 0, map[int64]job.RunID{}
	for _, r := range runs {
		if other, twice := seen[r.Due.Unix()]; twice {
			t.Errorf("%s was decided twice: runs %d and %d", r.Due, other, r.ID)
		}
		seen[r.Due.Unix()] = r.ID
		if r.Verdict == job.VerdictLost {
			lost++
		}
	}
	for at := from; !at.After(to); at = at.Add(time.Minute) {
		if seen[at.Unix()] == 0 {
			t.Errorf("%s was left out", at)
		}
	}
	if lost != over.Failed {
		t.Errorf("%d runs were lost, and %d are counted as failed", lost, over.Failed)
	}
	once(t, ran, occurrences-lost)
	t.Logf("%d runs, %d lost", len(runs), lost)
}

// once holds that the command ran at least so often, and for no occurrence twice.
func once(t *testing.T, file string, least int) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	seen := map[string]bool{}
	fills := 0
	for _, line := range lines {
		if seen[line] {
			t.Errorf("the command ran twice: %s", line)
		}
		seen[line] = true
		if strings.HasSuffix(line, " backfill") {
			fills++
		}
	}
	if fills < least {
		t.Errorf("the command ran %d times, want at least %d", fills, least)
	}
}
