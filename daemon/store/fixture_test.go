package store

import (
	"fmt"
	"testing"
	"time"

	"github.com/cronring/cronring/daemon/job"
)

// fileName is the database in the state directory.
const fileName = "cronring.db"

// noon is the instant around which tests happen.
var noon = time.Date(2026, 3, 14, 12, 0, 0, 0, time.UTC)

func open(t testing.TB, dir string) *Store {
	t.Helper()
	s, err := Open(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

// reopen is a restart of the daemon.
func reopen(t testing.TB, s *Store, dir string) *Store {
	t.Helper()
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	return open(t, dir)
}

func commit(t testing.TB, s *Store, b Batch) {
	t.Helper()
	if b.At.IsZero() {
		b.At = noon
	}
	if err := s.Commit(t.Context(), b); err != nil {
		t.Fatal(err)
	}
}

func restore(t testing.TB, s *Store) Restored {
	t.Helper()
	r, err := s.Restore(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// decided is the record of a run on the clock.
func decided(id job.RunID, name job.ID, due time.Time) job.Record {
	return recordOf(job.Decided, job.DecideRun, job.Run{
		ID: id, Job: name, Due: due, Attempt: 1, Trigger: job.TriggerClock,
		State: job.RunDecided, Reason: job.OnTime, Decided: due, User: "root",
		Invocation: job.Invocation(name, due, 0, 0),
	})
}

func recordOf(kind job.RecordKind, d job.Decision, r job.Run) job.Record {
	return job.Record{At: r.Decided, Kind: kind, Job: r.Job, Due: r.Due, Era: r.Era, Decision: d, Reason: r.Reason, Run: &r}
}

// ended is the record that a run is decided and has ended with the given exit
// status already, to fill a history quickly.
func ended(id job.RunID, name job.ID, due time.Time, code int) job.Record {
	rec := decided(id, name, due)
	rec.Run.State = job.RunEnded
	rec.Run.Started = due.Add(time.Duration(id%100) * time.Millisecond)
	rec.Run.Ended = rec.Run.Started.Add(time.Second)
	rec.Run.PID = 1000 + int(id)
	rec.Run.Outcome = job.Outcome{Kind: job.Exited, Code: code}
	return rec
}

// requested are the records of two runs of job a with a due time: one of a user, and one of a backfill.
func requested(id job.RunID, due time.Time) []job.Record {
	manual, filled := ended(id, "a", due, 0), ended(id+1, "a", due, 0)
	manual.Run.By, manual.Run.Trigger = "ann", job.TriggerManual
	filled.Run.By, filled.Run.Trigger, filled.Run.Backfill = "ann", job.TriggerBackfill, 1
	return []job.Record{manual, filled}
}

func skipped(name job.ID, due time.Time, reason job.Reason) job.Record {
	return job.Record{At: due, Kind: job.Decided, Job: name, Due: due, Decision: job.DecideSkip, Reason: reason}
}

func jobName(n int) job.ID { return job.ID(fmt.Sprintf("crontab.root.%08x", int64(n)*2654435761)) }

// fill writes a history of n runs up to noon: each job has run once a minute, each tenth
// occurrence was also skipped, and each twentieth run failed.
func fill(t testing.TB, s *Store, jobs, runs int) {
	t.Helper()
	id := job.RunID(0)
	for minute := runs / jobs; minute > 0; minute-- {
		b := Batch{At: noon.Add(-time.Duration(minute) * time.Minute)}
		for n := range jobs {
			id++
			code := 0
			if id%20 == 0 {
				code = 1
			}
			b.Records = append(b.Records, ended(id, jobName(n), b.At, code))
			if id%10 == 0 {
				b.Records = append(b.Records, skipped(jobName(n), b.At.Add(30*time.Second), job.Overlapping))
			}
		}
		commit(t, s, b)
	}
}
