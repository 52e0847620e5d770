package store

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/cronring/cronring/daemon/job"
	"github.com/cronring/cronring/daemon/store/database"
)

// ownerless is a database of version 0.7. The name backup is ann's now, and was
// bob's before, whose job is called by a derived ID since. clean is root's.
func ownerless() string {
	return "INSERT INTO job (n, id, due, era) VALUES (1, 'backup', 5000, 0), (2, 'bob.bob.c15ea7ed-2', 6000, 0), (3, 'clean', 7000, 0), (4, 'never', 8000, 0), (5, 'gone', 100, 0);" +
		row(1, 1, "bob", "i1", "ended", "exited", 1) + row(2, 1, "ann", "i2", "ended", "exited", 1) + row(3, 2, "bob", "i3", "ended", "exited", 0) +
		row(4, 3, "root", "i4", "ended", "exited", 0) + row(5, 1, "ann", "i5", "running", "", 0) + row(6, 5, "ann", "i6", "ended", "exited", 0) +
		`INSERT INTO ledger (job, user, verdict, run, due, ended, success, bad, told) VALUES (1, 'bob', 'dead', 1, 1000, 1005, NULL, 1, 0),
			(1, 'ann', 'fail', 2, 2000, 2005, NULL, 1, 0), (2, 'bob', 'ok', 3, 3000, 3005, 3005, 0, 0), (3, 'root', 'ok', 4, 4000, 4005, 4005, 0, 0);
		INSERT INTO occurrence (due, job, era, count, at, decision, reason, detail, run) VALUES
			(1000, 1, 0, 0, 1000, 'run', 'on-time', '', 1), (2000, 1, 0, 0, 2000, 'run', 'on-time', '', 2), (2500, 1, 0, 0, 2500, 'skip', 'paused', 'secret', NULL),
			(3000, 2, 0, 0, 3000, 'run', 'on-time', '', 3), (3500, 2, 0, 0, 3500, 'skip', 'overlapping', '', NULL), (8000, 4, 0, 0, 8000, 'skip', 'paused', '', NULL);
		INSERT INTO hold VALUES (1, 'ann', '{"since":"1970-01-01T00:00:02Z","by":"ann","user":"ann"}'), (1, 'bob', '{"since":"1970-01-01T00:00:01Z","by":"bob","user":"bob"}');
		INSERT INTO state (job, user, key, at, value) VALUES (1, 'ann', 'k', 1, x'61'), (1, 'bob', 'k', 1, x'62');
		INSERT INTO dead (run, user, at, why) VALUES (1, 'bob', 1005, '');
		INSERT INTO record (at, kind, job, era, reason, detail, hold) VALUES (2000, 'paused', 'backup', 0, '', '', '{"since":"1970-01-01T00:00:02Z","by":"ann","user":"ann"}'),
			(1000, 'paused', 'backup', 0, '', '', '{"since":"1970-01-01T00:00:01Z","by":"bob","user":"bob"}');
		INSERT INTO backfill (id, job, user, asked, state, backfill) VALUES (1, 'backup', 'ann', 1, 'going', '{"id":1,"job":"backup","user":"ann","state":"going"}');`
}

func renamesOfOwnerless() *job.Renames {
	return job.NewRenames([]job.Rename{
		{Old: "backup", New: "ann/backup", User: "ann"},
		{Old: "bob.bob.c15ea7ed-2", New: "bob/backup2", User: "bob"},
		{Old: "bob.bob.11111111", New: "bob/backup", User: "bob"}, // it has no run since ann took the name
		{Old: "never", New: "ann/never", User: "ann"},
	})
}

func TestRenameKeepsWhatBelongsToUsers(t *testing.T) {
	dir := t.TempDir()
	older(t, dir, 8, ownerless())
	s := open(t, dir)
	r := restore(t, s)
	if !r.Unowned {
		t.Fatal("the database is not seen as one of version 0.7")
	}
	if err := s.Rename(t.Context(), renamesOfOwnerless(), &r); err != nil {
		t.Fatal(err)
	}
	again := restore(t, s)
	r.Unowned = false
	same(t, "what is restored later, and what was renamed in memory", summary(again), summary(r))
	same(t, "marks, live runs, pauses, summaries and backfills", summary(again), []string{
		"mark ann/backup 5000", "mark ann/never 8000", "mark bob/backup2 6000", "mark clean 7000", "mark gone 100",
		"live 5 ann/backup", "hold ann/backup ann", "hold bob/backup bob",
		"summary ann/backup ann 2", "summary bob/backup bob 1", "summary bob/backup2 bob 3", "summary clean root 4", "backfill 1 ann/backup",
	})
	runs, err := s.Runs(t.Context(), Filter{})
	got := ""
	for _, run := range runs {
		got += fmt.Sprintf("%d %s, ", run.ID, run.Job)
	}
	if want := "6 gone, 5 ann/backup, 4 clean, 3 bob/backup2, 2 ann/backup, 1 bob/backup, "; err != nil || got != want {
		t.Errorf("runs: %s %v\nwant  %s", got, err, want)
	}
	for id, want := range map[job.ID]string{"ann/backup": "2000 run ann, 2500 skip , ", "bob/backup": "1000 run bob, ", "bob/backup2": "3000 run bob, 3500 skip bob, ", "ann/never": "8000 skip ann, "} {
		decisions, err := s.Decisions(t.Context(), id, database.FromNanos(0), database.FromNanos(10_000), 10)
		got := ""
		for _, d := range decisions {
			user := d.User
			if d.Run != nil {
				user = d.Run.User
			}
			got += fmt.Sprintf("%d %s %s, ", d.Due.UnixNano(), d.Decision, user)
		}
		if err != nil || got != want {
			t.Errorf("decisions of %s: %s %v, want %s", id, got, err, want)
		}
	}
	for id, want := range map[job.ID]string{"ann/backup": "a", "bob/backup": "b"} {
		if value, _, err := s.State(t.Context(), id, id.Owner(), "k"); string(value) != want || err != nil {
			t.Errorf("%s keeps %q, %v; want %q", id, value, err, want)
		}
	}
	if letters, err := s.DeadLetters(t.Context(), Of{Jobs: []job.ID{"bob/backup"}}); len(letters) != 1 || err != nil {
		t.Errorf("dead letters of bob: %v, %v; want one", letters, err)
	}
	records, err := s.Records(t.Context(), database.FromNanos(0), database.FromNanos(10_000), 10)
	if len(records) != 2 || records[0].Job != "backup" || records[1].Job != "ann/backup" || err != nil {
		t.Errorf("records: %v, %v; want ann's pause under her job", records, err)
	}
	if reopened := restore(t, reopen(t, s, dir)); reopened.Unowned {
		t.Error("the next start would rename again")
	}
}

// A crontab that claims a name just before the upgrade, and that the version before
// has never read, gets nothing of the job that has the name.
func TestRenameGivesNothingToACrontabThatIsYounger(t *testing.T) {
	dir := t.TempDir()
	older(t, dir, 8, "INSERT INTO job (n, id, due, era) VALUES (1, 'backup', 5000, 0);"+
		row(1, 1, "bob", "i1", "running", "", 0)+
		`INSERT INTO occurrence (due, job, era, count, at, decision, reason, detail, run) VALUES
			(1000, 1, 0, 0, 1000, 'run', 'on-time', '', 1), (2500, 1, 0, 0, 2500, 'skip', 'overlapping', 'secret', NULL);
		INSERT INTO hold VALUES (1, 'bob', '{"since":"1970-01-01T00:00:01Z","by":"bob","user":"bob"}');`)
	s := open(t, dir)
	r := restore(t, s)
	err := s.Rename(t.Context(), job.NewRenames([]job.Rename{
		{Old: "backup", New: "ann/backup", User: "ann"}, {Old: "bob.bob.c15ea7ed-2", New: "bob/backup", User: "bob"},
	}), &r)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"mark bob/backup 5000", "live 1 bob/backup", "hold bob/backup bob"}
	same(t, "in memory", summary(r), want)
	same(t, "in the database", summary(restore(t, s)), want)
	decisions, err := s.Decisions(t.Context(), "bob/backup", database.FromNanos(0), database.FromNanos(10_000), 10)
	if len(decisions) != 2 || decisions[1].User != "bob" || err != nil {
		t.Errorf("decisions: %+v, %v; want two of bob's", decisions, err)
	}
}

// summary is the state that a start reads, without times.
func summary(r Restored) []string {
	var all []string
	marks := map[string]int64{}
	for _, m := range r.Marks {
		marks[string(m.Job)] = m.Due.UnixNano()
	}
	for _, id := range sorted(marks) {
		all = append(all, fmt.Sprintf("mark %s %d", id, marks[id]))
	}
	for _, run := range r.Live {
		all = append(all, fmt.Sprintf("live %d %s", run.ID, run.Job))
	}
	for _, id := range sorted(r.Holds) {
		for _, h := range r.Holds[id] {
			all = append(all, fmt.Sprintf("hold %s %s", id, h.User))
		}
	}
	summaries := map[string]job.Summary{}
	for _, l := range r.Summaries {
		summaries[string(l.Job)] = l
	}
	for _, id := range sorted(summaries) {
		all = append(all, fmt.Sprintf("summary %s %s %d", id, summaries[id].User, summaries[id].Run))
	}
	for _, b := range r.Backfills {
		all = append(all, fmt.Sprintf("backfill %d %s", b.ID, b.Job))
	}
	return all
}

// Renames on a full disk happen in memory, and in the database as soon as there is space.
func TestRenameOnAFullDisk(t *testing.T) {
	dir, fill, free := smallDisk(t)
	older(t, dir, 8, ownerless())
	fill()
	s := open(t, dir)
	if s.reserve == nil {
		t.Fatal("the disk is not full")
	}
	r := restore(t, s)
	if err := s.Rename(t.Context(), renamesOfOwnerless(), &r); !database.IsFull(err) {
		t.Errorf("rename on a full disk: %v", err)
	}
	if got := summary(r); got[0] != "mark ann/backup 5000" {
		t.Errorf("restored: %q, want new IDs", got)
	}
	free()
	commit(t, s, Batch{Records: []job.Record{decided(13, "ann/backup", noon)}})
	if again := restore(t, s); again.Unowned || summary(again)[1] != "mark ann/never 8000" {
		t.Errorf("restored later: %q, want new IDs", summary(again))
	}
}

func TestNewDatabaseHasOwners(t *testing.T) {
	if r := restore(t, open(t, t.TempDir())); r.Unowned {
		t.Error("a new database is seen as one of version 0.7")
	}
}

func sorted[K ~string, V any](m map[K]V) []K { return slices.Sorted(maps.Keys(m)) }
