package main

import (
	"context"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/cronring/cronring/daemon/job"
	"github.com/cronring/cronring/daemon/store"
)

var crashCrontab = `
# Every second, made up without limit: each second must have run.
#@ name=all every=1s catchup=all:1000 deadline=1d grace=1s
* * * * * true
# Every second, the newest made up: each second must be decided.
#@ name=once every=1s catchup=once grace=1s
* * * * * echo some output
# Every second, never made up, and one at a time.
#@ name=skip every=1s catchup=skip grace=1s overlap=skip
* * * * * sleep 0.9
# Survives each crash: nobody ends it, and no second one starts beside it.
#@ name=alone every=1s catchup=skip grace=1s overlap=skip if-lost=rerun
* * * * * mkdir "$DIR/alone" || echo "$CRONRING_RUN_ID" >>"$DIR/doubled"; for i in 1 2 3 4 5; do echo $i; sleep 0.3; done; rmdir "$DIR/alone"
# Fails and is tried again.
#@ name=flaky every=2s retry=2 backoff=1s
* * * * * false
` + strings.Repeat("#@ every=1s\n* * * * * echo load\n", 60)

// TestCrash kills a daemon without a service manager with SIGKILL at random
// points under load. After all of it no occurrence was decided twice, none is
// missing, no running job was ended by a crash or started beside itself, and the
// database opens.
func TestCrash(t *testing.T) {
	crashes := 12
	if n, err := strconv.Atoi(os.Getenv("CRONRING_CRASHES")); err == nil {
		crashes = n
	}
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 0))
	dir := t.TempDir()
	file := crontabFile(t, "DIR="+dir+"\n"+crashCrontab)

	for range crashes {
		d := launch(t, dir, file)
		for range rng.IntN(400) { // complete lines first, then a part of the next line
			if _, ok := <-d.lines; !ok {
				t.Fatal("the daemon ended by itself")
			}
		}
		for spin := rng.IntN(2_000_000); spin > 0; spin-- {
		}
		if status := d.signal(syscall.SIGKILL); status != -1 {
			t.Fatalf("killed daemon: exit status %d", status)
		}
	}
	d := launch(t, dir, file)
	d.await("all[", "starting")
	if status := d.signal(syscall.SIGTERM); status != 0 {
		t.Fatalf("after SIGTERM: exit status %d", status)
	}
	checkHistory(t, dir)
	if doubled, err := os.ReadFile(filepath.Join(dir, "doubled")); err == nil {
		t.Errorf("runs that began while another was under way, or after one that was cut off: %s", doubled)
	}
}

func checkHistory(t *testing.T, dir string) {
	s := openStore(t, dir)
	if s.Notice != "" {
		t.Errorf("the database was damaged: %s", s.Notice)
	}
	memory, err := s.Restore(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range memory.Live {
		if r.State != job.RunWaiting && r.State != job.RunQueued {
			t.Errorf("run %d of %s is still %s", r.ID, r.Job, r.State)
		}
	}
	lost := 0
	for _, id := range []job.ID{"all", "once", "skip", "alone"} {
		lost += checkJob(t, s, id)
	}
	t.Logf("%d runs were lost; database: %s", lost, filepath.Join(dir, "cronring.db"))
}

func openStore(t *testing.T, dir string) *store.Store {
	t.Helper()
	s, err := store.Open(context.Background(), dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

// checkJob holds that the decisions on a job follow each other second by
// second, and returns how many of its runs were lost.
func checkJob(t *testing.T, s *store.Store, id job.ID) (lost int) {
	records, err := s.Decisions(t.Context(), id, time.Time{}, time.Now(), 1_000_000)
	if err != nil {
		t.Fatal(err)
	}
	var next time.Time
	for _, r := range records {
		first, count := r.Due, 1
		if r.Count > 1 {
			first, count = r.First, r.Count
		}
		if !next.IsZero() && !first.Equal(next) {
			t.Errorf("%s: after %s comes %s, not %s", id, next.Add(-time.Second), first, next)
		}
		if want := first.Add(time.Duration(count-1) * time.Second); !r.Due.Equal(want) {
			t.Errorf("%s: %d occurrences from %s end at %s, not %s", id, count, first, r.Due, want)
		}
		next = r.Due.Add(time.Second)
		if id == "all" && r.Decision != job.DecideRun {
			t.Errorf("%s at %s was not run but %s: %s", id, r.Due, r.Decision, r.Reason)
		}
		if r.Decision == job.DecideSkip && r.Reason.Sentence() == "" {
			t.Errorf("%s at %s was skipped without a reason", id, r.Due)
		}
		if r.Run != nil && r.Run.Outcome.Kind == job.Lost {
			lost++
		}
	}
	t.Logf("%s: %d decisions, %d lost", id, len(records), lost)
	return lost
}
