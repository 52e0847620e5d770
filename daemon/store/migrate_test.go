package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/cronring/cronring/daemon/job"
	"github.com/cronring/cronring/daemon/store/database"
)

// older makes a database of an earlier schema version, filled by a script.
func older(t testing.TB, dir string, steps int, script string) {
	t.Helper()
	db, err := sql.Open("sqlite", "file:"+filepath.Join(dir, fileName)+"?_pragma=journal_mode(wal)")
	if err != nil {
		t.Fatal(err)
	}
	db.SetMaxOpenConns(1)
	names, err := filepath.Glob("database/schema/*.sql")
	for i := 0; i < steps && err == nil; i++ {
		var text []byte
		if text, err = os.ReadFile(names[i]); err == nil {
			_, err = db.ExecContext(t.Context(), fmt.Sprintf("BEGIN; %s; PRAGMA user_version = %d; COMMIT", text, i+1))
		}
	}
	if err == nil {
		_, err = db.ExecContext(t.Context(), script)
	}
	if err = errors.Join(err, db.Close()); err != nil {
		t.Fatal(err)
	}
}

// row is a run in an older database.
func row(id int, name int, user, invocation, state, outcome string, code int) string {
	return fmt.Sprintf(`INSERT INTO run (id, job, due, era, attempt, trigger, by, invocation, state, reason, decided, ended,
		pid, user, outcome, code, signal, error) VALUES (%d, %d, %d, 0, 1, 'clock', '', '%s', '%s', '', %[3]d, %[3]d + 5,
		0, '%[6]s', '%[7]s', %[8]d, 0, '');`, id, name, id*1000, invocation, state, user, outcome, code)
}

// past is a history from before there were summaries, and the expected summaries.
func past() (script string, want []job.Summary) {
	script = "INSERT INTO job (n, id) VALUES (1, 'a'), (2, 'b'), (3, 'c'), (4, 'd'), (5, 'e');" +
		// an attempt with a later attempt is not a separate failure
		row(1, 1, "ann", "i1", "ended", "exited", 0) + row(2, 1, "ann", "i2", "ended", "exited", 1) +
		row(3, 1, "ann", "i2", "ended", "exited", 1) + row(4, 1, "ann", "i4", "ended", "exited", 3) +
		// nothing is over while an attempt lives
		row(6, 2, "ann", "i6", "ended", "exited", 0) + row(7, 2, "ann", "i7", "ended", "exited", 1) +
		row(8, 2, "ann", "i7", "waiting", "", 0) +
		// a dropped attempt keeps the state of the previous attempt
		row(9, 3, "ann", "i9", "ended", "lost", 0) + row(10, 3, "ann", "i9", "dropped", "", 0) +
		// of the account before nothing is known: its runs were another job's
		row(5, 4, "bob", "i5", "ended", "exited", 0) + row(11, 4, "ann", "i11", "dropped", "", 0) + row(12, 5, "ann", "i12", "running", "", 0)
	at := func(n int64) time.Time { return database.FromNanos(n) }
	want = []job.Summary{
		{Job: "a", User: "ann", Verdict: job.VerdictFail, Run: 4, Due: at(4000), Ended: at(4005), Success: at(1005), Bad: 2},
		{Job: "b", User: "ann", Verdict: job.VerdictOK, Run: 6, Due: at(6000), Ended: at(6005), Success: at(6005), SuccessDue: at(6000)},
		{Job: "c", User: "ann", Verdict: job.VerdictLost, Run: 9, Due: at(9000), Ended: at(9005), Bad: 1},
	}
	return script, want
}

func TestOlderDatabaseGetsItsSummaries(t *testing.T) {
	script, want := past()
	for _, steps := range []int{3, 4} { // 4: it was stopped between the steps
		dir := t.TempDir()
		older(t, dir, steps, script)
		s := open(t, dir)
		r := restore(t, s)
		same(t, "summaries", r.Summaries, want)
		if len(r.Live) != 2 || r.NextRun != 13 || s.Notice != "" {
			t.Errorf("%d live runs, next %d, notice %q", len(r.Live), r.NextRun, s.Notice)
		}
		failed, err := s.Runs(t.Context(), Filter{FailedOnly: true})
		if err != nil || len(failed) != 5 {
			t.Errorf("%d failed runs, %v; want 5", len(failed), err)
		}
		commit(t, s, Batch{Summaries: []job.Summary{{Job: "c", User: "ann", Run: 13}}})
		s = reopen(t, s, dir)
		if got := restore(t, s).Summaries; got[2].Run != 13 || got[2].Bad != 0 {
			t.Errorf("summaries are derived again: %+v", got[2])
		}
	}
}

// A new version on a full disk cannot migrate the database, and still needs its content.
func TestOpenOlderDatabaseOnAFullDisk(t *testing.T) {
	script, want := past()
	const kept = `INSERT INTO ledger (job, user, verdict, run, due, ended, success, bad, told) VALUES
		(1, 'ann', 'fail', 4, 4000, 4005, 1005, 2, 0), (2, 'ann', 'ok', 6, 6000, 6005, 6005, 0, 0), (3, 'ann', 'lost', 9, 9000, 9005, NULL, 1, 0);`
	for steps, more := range map[int]string{3: "", 4: "", 5: kept, 6: kept, 17: kept + "UPDATE ledger SET success_due = due WHERE verdict = 'ok';"} {
		t.Run(fmt.Sprint(steps), func(t *testing.T) {
			dir, fill, free := smallDisk(t)
			older(t, dir, steps, script+more)
			fill()
			s := open(t, dir)
			if s.reserve == nil {
				t.Fatal("the disk is not full")
			}
			r := restore(t, s)
			same(t, "summaries", r.Summaries, want)
			if len(r.Live) != 2 || r.NextRun != 13 || r.NextBackfill != 1 {
				t.Errorf("%d live runs, next %d, next backfill %d", len(r.Live), r.NextRun, r.NextBackfill)
			}
			free()
			commit(t, s, Batch{Records: []job.Record{decided(13, "a", noon)}})
			same(t, "summaries later", restore(t, s).Summaries, want)
		})
	}
}

// manyRuns is a history of runs of 200 jobs, of which one in the given number failed.
func manyRuns(runs, failing int) string {
	return fmt.Sprintf(`INSERT INTO job (id) WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 200) SELECT 'job' || i FROM n;
		INSERT INTO run WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < %d)
		SELECT i, i %% 200 + 1, i * 1000000000, 0, 1, 'clock', '', hex(randomblob(16)), 'ended', 'on-time', NULL, i * 1000000000,
			i * 1000000000, i * 1000000000, i, 'root', 'exited', i %% %d = 0, 0, '' FROM n;`, runs, failing)
}

// BenchmarkMigrate brings a history of 200,000 runs up to date.
func BenchmarkMigrate(b *testing.B) {
	for _, failing := range []int{20, 1} {
		b.Run(fmt.Sprintf("OneFailsIn%d", failing), func(b *testing.B) {
			dir := b.TempDir()
			older(b, dir, 3, manyRuns(200_000, failing))
			for b.Loop() {
				b.StopTimer()
				fresh := b.TempDir()
				copyFile(b, filepath.Join(dir, fileName), filepath.Join(fresh, fileName))
				b.StartTimer()
				s, err := Open(context.Background(), fresh)
				if err != nil {
					b.Fatal(err)
				}
				b.StopTimer()
				if err := s.Close(); err != nil {
					b.Fatal(err)
				}
				b.StartTimer()
			}
		})
	}
}

func copyFile(t testing.TB, from, to string) {
	t.Helper()
	text, err := os.ReadFile(from)
	if err == nil {
		err = os.WriteFile(to, text, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// A history of the version before keeps the meaning of its reasons under their new words.
func TestOlderDatabaseGetsTheNewReasons(t *testing.T) {
	dir := t.TempDir()
	script := "INSERT INTO job (n, id) VALUES (1, 'a');"
	for i, reason := range []string{"made-up", "ran-after-place", "waits-for-place", "handed-on", "on-time"} {
		script += row(i+1, 1, "ann", fmt.Sprint("i", i), "ended", "exited", 0) + fmt.Sprintf("UPDATE run SET reason = '%s' WHERE id = %d;", reason, i+1)
	}
	script += `INSERT INTO occurrence (due, job, era, count, at, decision, reason, detail) VALUES (9000, 1, 0, 1, 9000, 'skip', 'no-account', 'unknown user ann');`
	older(t, dir, 12, script)
	s := open(t, dir)
	runs, err := s.Runs(t.Context(), Filter{})
	if err != nil {
		t.Fatal(err)
	}
	var got []job.Reason
	for _, r := range slices.Backward(runs) {
		got = append(got, r.Reason)
	}
	same(t, "reasons of runs", got, []job.Reason{job.CaughtUp, job.RanAfterSlot, job.WaitsForSlot, job.HandedOver, job.OnTime})
	skip, ok, err := s.DecisionAt(t.Context(), "a", database.FromNanos(9000))
	if err != nil || !ok || skip.Reason != job.NoUser {
		t.Errorf("got %+v, %v; want one decision because of no-user", skip, err)
	}
}

// An older history has the occurrence that ran twice only in the text of the record.
func TestOlderDatabaseKeepsItsDoubles(t *testing.T) {
	dir := t.TempDir()
	script := ""
	for i, detail := range []string{
		"the occurrence of 2026-11-20T12:03:00Z ran on elm too, as run 7", "the occurrence of 2026-11-20T12:03:00.05Z ran on elm too, as run 8",
		"the occurrence of 1960-02-29T23:59:59.999999999Z ran on Z ran on too, as run 9", "an unknown text",
	} {
		script += fmt.Sprintf("INSERT INTO record (at, kind, job, era, reason, detail) VALUES (%d, 'doubled', 'a', 0, '', '%s');", i, detail)
	}
	older(t, dir, 15, script+"INSERT INTO record (at, kind, job, era, reason, detail) VALUES (4, 'up', '', 0, '', 'the occurrence of 2026-11-20T12:03:00Z ran on elm');")
	var got []string
	s := open(t, dir)
	err := s.Doubles(t.Context(), time.Time{}, func(id job.ID, due time.Time, where job.Detail) {
		got = append(got, fmt.Sprint(id, " ", due.Format(time.RFC3339Nano), " ", where))
	})
	if err != nil {
		t.Fatal(err)
	}
	same(t, "doubles", got, []string{"a 2026-11-20T12:03:00Z ran on elm too, as run 7", "a 2026-11-20T12:03:00.05Z ran on elm too, as run 8",
		"a 1960-02-29T23:59:59.999999999Z ran on Z ran on too, as run 9"})
	records, err := s.Records(t.Context(), time.Time{}, noon, 10)
	if err != nil || len(records) != 5 || records[0].Detail != "ran on elm too, as run 7" || records[3].Detail != "an unknown text" || !records[4].Due.IsZero() {
		t.Errorf("records %+v, %v", records, err)
	}
}
