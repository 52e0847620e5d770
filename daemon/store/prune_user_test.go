package store

import (
	"database/sql"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cronring/cronring/daemon/job"
	"github.com/cronring/cronring/daemon/store/prune"
)

// runOf is an ended run of a user's job.
func runOf(user string, id job.RunID, name job.ID) job.Record {
	r := ended(id, name, noon.Add(time.Duration(id)*time.Second), 0)
	r.Run.User = user
	return r
}

// users writes a history of three users with n runs, skips, pauses and backfills of a job each,
// and ten times as many for ann.
func users(t *testing.T, s *Store, n int) {
	t.Helper()
	id := job.RunID(0)
	for _, user := range []string{"ann", "bob", "root"} {
		name, many := job.ID("job"), n
		if user != "root" {
			name = job.ID(user + "/job")
		}
		if user == "ann" {
			many *= 10
		}
		var b Batch
		for range many {
			id++
			at := noon.Add(time.Duration(id) * time.Second)
			skip := skipped(name, at.Add(time.Hour*24), job.Late)
			skip.User = user
			fill := backfill(int64(id), name, user)
			fill.State = job.BackfillDone
			b.Records = append(b.Records, runOf(user, id, name), skip, filled(fill, ""))
		}
		commit(t, s, b)
	}
}

// rowsOf counts what the history has of a job.
func rowsOf(t *testing.T, s *Store, name job.ID) (all [4]int) {
	t.Helper()
	for i, query := range []string{
		"SELECT count(*) FROM run JOIN job ON n = run.job WHERE job.id = ?",
		"SELECT count(*) FROM occurrence AS o JOIN job ON n = o.job WHERE run IS NULL AND id = ?",
		"SELECT count(*) FROM backfill WHERE job = ?", "SELECT count(*) FROM record WHERE job = ?",
	} {
		if err := s.Row(t.Context(), query, name).Scan(&all[i]); err != nil {
			t.Fatal(err)
		}
	}
	return all
}

func TestPruneRowsOfAUserLeavesThoseOfOthers(t *testing.T) {
	s := open(t, t.TempDir())
	users(t, s, 50)
	same(t, "pruned", pruned(t, s, prune.Policy{Rows: 60}), prune.Pruned{Runs: 440, Skips: 440})
	for name, want := range map[job.ID][4]int{"ann/job": {60, 60, 60, 60}, "bob/job": {50, 50, 50, 50}, "job": {50, 50, 50, 50}} {
		if got := rowsOf(t, s, name); got != want {
			t.Errorf("%s: %d runs, skips, backfills and facts are left, want %d", name, got, want)
		}
	}
	recent, err := s.Recent(t.Context(), []job.ID{"ann/job"}, 100)
	if got := ids(recent["ann/job"]); err != nil || got[0] != 500 || got[59] != 441 {
		t.Errorf("left are runs %v, %v; want the newest", got, err)
	}
	same(t, "pruned again", pruned(t, s, prune.Policy{Rows: 60}), prune.Pruned{})
	same(t, "of root", pruned(t, s, prune.Policy{Rows: 10, All: true}), prune.Pruned{Runs: 50 + 40, Skips: 50 + 40})
	if got := rowsOf(t, s, "job"); got != [4]int{50, 50, 50, 10} { // a pause of a job of root's may be a user's
		t.Errorf("of root's job %d are left, want all runs, skips and backfills", got)
	}
}

// A user who installs crontab after crontab with other names fills no disk: the
// oldest jobs that are gone are forgotten, but none that is installed, that runs,
// or that is of another user.
func TestPruneLimitsTheJobsOfAUserThatAreGone(t *testing.T) {
	s := open(t, t.TempDir())
	var b Batch
	id := job.RunID(0)
	for n := range 20 {
		for _, user := range []string{"ann", "bob"} {
			id++
			name := job.ID(fmt.Sprintf("%s/%02d", user, n))
			skip := skipped(name, noon.Add(time.Hour), job.Late)
			b.Records = append(b.Records, runOf(user, id, name), skip)
			b.Summaries = append(b.Summaries, job.Summary{Job: name, User: user, Run: id})
		}
	}
	b.Records = append(b.Records, runOf("ann", 100, "root's"), decided(101, "ann/03", noon.Add(time.Minute)))
	chunks := []job.Chunk{{Stream: job.Stdout, At: noon, Data: []byte("x")}}
	b.Outputs = append(b.Outputs, Output{1, chunks}, Output{3, chunks})
	commit(t, s, b)
	if err := s.SetState(t.Context(), "ann/00", "ann", "k", []byte("v"), noon); err != nil {
		t.Fatal(err)
	}
	p := prune.Policy{Gone: 5, Installed: func(id job.ID, user string) bool {
		return strings.HasPrefix(string(id), "bob/") && user == "bob" || id == "ann/01" || id == "ann/03"
	}}
	done, err := s.Prune(t.Context(), noon.Add(24*time.Hour), p)
	if err != nil {
		t.Fatal(err)
	}
	done.Longest, done.Steps, done.Widest = 0, 0, 0
	same(t, "pruned", done, prune.Pruned{Runs: 13, Skips: 13, Jobs: 13})
	var left []string
	err = s.Each(t.Context(), func(rows *sql.Rows) error {
		var id string
		err := rows.Scan(&id)
		left = append(left, id)
		return err
	}, "SELECT id FROM job WHERE owner = 'ann/' ORDER BY id")
	if err != nil {
		t.Fatal(err)
	}
	if want := []string{"ann/01", "ann/03", "ann/15", "ann/16", "ann/17", "ann/18", "ann/19"}; !slices.Equal(left, want) {
		t.Errorf("left of ann's jobs are %v, want %v: one is installed, one runs", left, want)
	}
	for file, want := range map[string]int{"state": 0, "output": 1, "ledger": 20 + 7, "run": 20 + 7 + 1 + 1} {
		if got := count(t, s, file); got != want {
			t.Errorf("%d rows of %s are left, want %d", got, file, want)
		}
	}
	commit(t, s, Batch{Records: []job.Record{runOf("ann", 200, "ann/00")}}) // the name comes back
	if got := rowsOf(t, s, "ann/00"); got[0] != 1 {
		t.Errorf("%d runs of a job that came back, want its new one", got[0])
	}
}

// A user can set many KiB of variables for each run, and let each depend on many others: both count like
// what the runs print. A run that lives does not keep later ones from being counted, and live runs and
// dead letters keep what they need to run.
func TestPruneBoundsVariablesAndParentsOfAUser(t *testing.T) {
	s := open(t, t.TempDir())
	env, parents := []string{"X=" + strings.Repeat("x", 980)}, []job.Parent{{Job: job.ID(strings.Repeat("x", 960)), Run: 1}}
	live := decided(1, "ann/live", noon)
	live.Run.User, live.Run.Env = "ann", env
	letter := dies(2, "ann/dead", "ann")
	letter.Run.Env, letter.Run.Parents = env, parents
	b := Batch{Records: []job.Record{live, letter}}
	for id := job.RunID(3); id <= 20; id++ {
		r := runOf([]string{"ann", "bob", "cid"}[id%3], id, "job")
		switch r.Run.Env = env; r.Run.User {
		case "bob":
			r.Run.Env, r.Run.Parents = nil, parents
		case "cid":
			r.Run.Env = []string{"X=x"}
		}
		b.Records = append(b.Records, r)
	}
	commit(t, s, b)
	p := prune.Policy{Bytes: 4000}
	same(t, "pruned", pruned(t, s, p), prune.Pruned{Outputs: 4})
	same(t, "pruned again", pruned(t, s, p), prune.Pruned{})
	more := runOf("ann", 21, "job")
	more.Run.Env = env
	commit(t, s, Batch{Records: []job.Record{more}})
	same(t, "pruned of more", pruned(t, s, p), prune.Pruned{Outputs: 1})
	runs, err := s.Runs(t.Context(), Filter{})
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range runs {
		trimmed := r.ID >= 3 && (r.User == "ann" && r.ID < 12 || r.User == "bob" && r.ID < 10)
		if r.Trimmed != trimmed || (len(r.Env) == 0 && len(r.Parents) == 0) != trimmed {
			t.Errorf("run %d of %s: trimmed %t, %d variables, %d parents; want trimmed %t", r.ID, r.User, r.Trimmed, len(r.Env), len(r.Parents), trimmed)
		}
	}
}

// Dead letters keep their variables and parents, so that a user can have fewer of those with much of them.
func TestPruneCountsVariablesOfDeadLetters(t *testing.T) {
	s := open(t, t.TempDir())
	var b Batch
	for id := range job.RunID(6) {
		r := dies(id+1, "a", "ann")
		if id == 3 {
			r.Run.Env = []string{"X=" + strings.Repeat("x", 2<<10)}
		}
		b.Records = append(b.Records, r)
	}
	commit(t, s, b)
	same(t, "pruned", pruned(t, s, prune.Policy{DeadLetters: 5}), prune.Pruned{DeadLetters: 3})
}

func TestPruneForgetsTheStateOfJobsThatAreGone(t *testing.T) {
	s := open(t, t.TempDir())
	for id, at := range map[job.ID]time.Time{"gone": noon.Add(-2 * time.Hour), "lately gone": noon, "here": noon.Add(-2 * time.Hour)} {
		if err := s.SetState(t.Context(), id, "ann", "k", nil, at); err != nil {
			t.Fatal(err)
		}
	}
	pruned(t, s, prune.Policy{Age: time.Hour, Installed: func(id job.ID, user string) bool { return id == "here" && user == "ann" }})
	for id, want := range map[job.ID]bool{"gone": false, "lately gone": true, "here": true} {
		if _, ok, err := s.State(t.Context(), id, "ann", "k"); ok != want || err != nil {
			t.Errorf("state of %s is there: %t, %v; want %t", id, ok, err, want)
		}
	}
}
