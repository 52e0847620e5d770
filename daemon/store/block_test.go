package store

import (
	"errors"
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/cronring/cronring/daemon/job"
	"github.com/cronring/cronring/daemon/store/database"
	"github.com/cronring/cronring/daemon/store/prune"
	"github.com/cronring/cronring/daemon/store/statistics"
)

// samples returns the samples of all jobs, a line for each run.
func samples(t *testing.T, s *Store, from, to time.Time, n int) (lines []string) {
	t.Helper()
	names, err := s.JobNumbers(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	err = s.Samples(t.Context(), nil, from, to, n, func(r *statistics.Sample) {
		lines = append(lines, fmt.Sprint(names[r.Number], *r.Kind, r.ID, r.Due, r.Decided, r.Started, r.Ended, r.Code, r.CPU, r.Memory))
	})
	if err != nil {
		t.Fatal(err)
	}
	return lines
}

// Blocks hold what the rows of runs hold, however these change.
func TestBlocksEqualRows(t *testing.T) {
	s := open(t, t.TempDir())
	const runs = 3*statistics.BlockRuns + 100
	var batch Batch
	for id := range job.RunID(runs) {
		r := ended(id+1, jobName(int(id)%7), noon.Add(time.Duration(id-runs)*time.Second), int(id)%3)
		r.Run.User = fmt.Sprintf("user%d", id%5)
		r.Run.Usage = job.Usage{CPU: time.Duration(id), Memory: int64(id) << 20}
		switch id % 50 {
		case 0:
			r.Run.Due, r.Run.Trigger, r.Run.Verdict = time.Time{}, job.TriggerManual, job.VerdictFail
		case 1:
			r.Run.State, r.Run.Started, r.Run.Ended, r.Run.Outcome = job.RunDropped, time.Time{}, time.Time{}, job.Outcome{}
		case 3: // it was lost
			r.Run.Ended, r.Run.Outcome, r.Run.Verdict = time.Time{}, job.Outcome{Kind: job.Lost}, job.VerdictLost
		case 2: // the clock was set back while it ran
			r.Run.Ended = r.Run.Started.Add(-time.Hour)
		}
		batch.Records = append(batch.Records, r)
	}
	waiting := decided(runs+1, jobName(3), noon)
	batch.Records = append(batch.Records, waiting)
	commit(t, s, batch)

	rows := func() { // without blocks
		t.Helper()
		if err := s.Write(t.Context(), func(w *database.Writer) error { return w.Script(t.Context(), "DELETE FROM block") }); err != nil {
			t.Fatal(err)
		}
	}
	compare := func(what string, blocks int) {
		t.Helper()
		pruned(t, s, prune.Policy{})
		if n := count(t, s, "block WHERE runs NOTNULL"); n != blocks {
			t.Errorf("%s: %d blocks, want %d", what, n, blocks)
		}
		past := noon.Add(-runs * time.Second)
		var got, want [4][]string
		for i, answers := range []*[4][]string{&got, &want} {
			if i == 1 {
				rows()
			}
			answers[0] = samples(t, s, past, noon.Add(1), math.MaxInt)
			answers[1] = samples(t, s, past.Add(500*time.Second), past.Add(2500*time.Second), math.MaxInt)
			answers[2] = samples(t, s, past, noon.Add(1), statistics.BlockRuns+500)
			answers[3] = samples(t, s, past.Add(1100*time.Second), past.Add(1101*time.Second), 1)
		}
		for i := range got {
			same(t, fmt.Sprint(what, " ", i), got[i], want[i])
		}
		pruned(t, s, prune.Policy{})
	}
	compare("all over but one", 3)
	sql := func(text string) {
		t.Helper()
		if err := s.Write(t.Context(), func(w *database.Writer) error { return w.Script(t.Context(), text) }); err != nil {
			t.Fatal(err)
		}
	}
	const others = "due, job, era, attempt, trigger, by, invocation, state, reason, decided, pid, user, outcome, code, signal, error"
	for _, change := range []string{
		"UPDATE run SET verdict = 'lost' WHERE id = 1500",
		"DELETE FROM run WHERE id = 1600",
		"INSERT INTO run (id, " + others + ") SELECT 1600, " + others + " FROM run WHERE id = 1601",
	} {
		sql(change)
		if n := count(t, s, "block"); n != 2 {
			t.Errorf("%s: %d blocks are left, want 2", change, n)
		}
		compare(change, 3)
	}
}

// A block is not filled with runs that changed while it was read.
func TestBlockOfChangedRuns(t *testing.T) {
	s := open(t, t.TempDir())
	fill(t, s, 10, 3000)
	var err error
	for _, step := range []func(w *database.Writer) error{
		func(w *database.Writer) error { return w.Once(t.Context(), statistics.BeginBlock, int64(1)) },
		func(w *database.Writer) error { // after it was read
			return w.Script(t.Context(), "UPDATE run SET verdict = 'lost' WHERE id = 1500")
		},
		func(w *database.Writer) error {
			return w.Once(t.Context(), statistics.FillBlock, int64(1), []byte("[]\x00"))
		},
	} {
		err = errors.Join(err, s.Write(t.Context(), step))
	}
	if n := count(t, s, "block"); n != 0 || err != nil {
		t.Errorf("%d blocks, %v", n, err)
	}
	if n := len(samples(t, s, noon.Add(-300*24*time.Hour), noon, math.MaxInt)); n != 3000 {
		t.Errorf("%d runs", n)
	}
}
