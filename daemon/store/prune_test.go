package store

import (
	"database/sql"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cronring/cronring/daemon/job"
)

func prune(t *testing.T, s *Store, p Policy) Pruned {
	t.Helper()
	done, err := s.Prune(t.Context(), noon, p)
	if err != nil {
		t.Fatal(err)
	}
	return done
}

// count is the number of rows in a table.
func count(t *testing.T, s *Store, table string) (n int) {
	t.Helper()
	if err := s.read.QueryRowContext(t.Context(), "SELECT count(*) FROM "+table).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

// chatter gives each of so many runs, numbered from 1, a line of output.
func chatter(t *testing.T, s *Store, runs int) {
	t.Helper()
	var outputs []Output
	for id := range runs {
		outputs = append(outputs, Output{job.RunID(id + 1), []job.Chunk{{Stream: job.Stdout, At: noon, Data: []byte("x")}}})
	}
	commit(t, s, Batch{Outputs: outputs})
}

func TestPruneByAgeKeepsLiveAndNewest(t *testing.T) {
	s := open(t, t.TempDir())
	hours := func(n int) time.Time { return noon.Add(-time.Duration(n) * time.Hour) }
	commit(t, s, Batch{At: hours(9), Records: []job.Record{
		ended(1, "a", hours(9), 0), ended(2, "a", hours(8), 1), decided(3, "a", hours(7)), ended(4, "a", hours(6), 0), ended(5, "a", hours(1), 0),
		ended(6, "b", hours(9), 0), ended(7, "b", hours(8), 0), // b has not run for long
		skipped("a", hours(5), job.Late), skipped("c", hours(4), job.Late), skipped("c", hours(2), job.Late),
		{At: hours(5), Kind: job.Loaded}, {At: hours(1), Kind: job.Loaded},
	}})
	chatter(t, s, 7)
	marks := restore(t, s).Marks

	same(t, "pruned", prune(t, s, Policy{Age: 3 * time.Hour}), Pruned{Runs: 4, Skips: 2})
	runs, err := s.Runs(t.Context(), Filter{})
	if err != nil || !slices.Equal(ids(runs), []job.RunID{7, 5, 3}) {
		t.Errorf("left are runs %v, %v; want 7, 5, 3", ids(runs), err)
	}
	for table, want := range map[string]int{"output": 3, "occurrence": 4, "record": 1} {
		if got := count(t, s, table); got != want {
			t.Errorf("%d rows of %s are left, want %d", got, table, want)
		}
	}
	r := restore(t, s)
	same(t, "marks", r.Marks, marks)
	if r.NextRun != 8 || len(r.Live) != 1 {
		t.Errorf("next run %d, %d live; want 8 and 1", r.NextRun, len(r.Live))
	}
	same(t, "pruned again", prune(t, s, Policy{Age: 3 * time.Hour}), Pruned{})
}

func TestPrunePerJobKeepsTheNewest(t *testing.T) {
	s := open(t, t.TempDir())
	fill(t, s, 10, 500) // 50 runs of each job, and 50 skips of the last one
	chatter(t, s, 500)
	commit(t, s, Batch{Records: []job.Record{
		recordOf(job.Started, "", job.Run{ID: 1, Job: jobName(0), Attempt: 1, State: job.RunRunning, Decided: noon}),
	}})
	marks := restore(t, s).Marks

	same(t, "pruned", prune(t, s, Policy{PerJob: 7}), Pruned{Runs: 10*43 - 1, Skips: 43})
	recent, err := s.Recent(t.Context(), []job.ID{jobName(0), jobName(9)}, 50)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := ids(recent[jobName(0)]), []job.RunID{491, 481, 471, 461, 451, 441, 431, 1}; !slices.Equal(got, want) {
		t.Errorf("left of the job with a live run: %v, want %v", got, want)
	}
	if got, want := ids(recent[jobName(9)]), []job.RunID{500, 490, 480, 470, 460, 450, 440}; !slices.Equal(got, want) {
		t.Errorf("left of another job: %v, want %v", got, want)
	}
	for table, want := range map[string]int{"output": 71, "occurrence": 71 + 7} {
		if got := count(t, s, table); got != want {
			t.Errorf("%d rows of %s are left, want %d", got, table, want)
		}
	}
	same(t, "marks", restore(t, s).Marks, marks)
}

func TestPruneWithoutPolicyKeepsAll(t *testing.T) {
	s := open(t, t.TempDir())
	fill(t, s, 2, 20)
	same(t, "pruned", prune(t, s, Policy{}), Pruned{})
	if got := count(t, s, "run"); got != 20 {
		t.Errorf("%d runs are left of 20", got)
	}
}

func TestPruneForgetsLivesButTheNewest(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	for n := range 3 {
		commit(t, s, Batch{At: noon.Add(time.Duration(n-9) * time.Hour), BootID: "b"})
		s = reopen(t, s, dir)
	}
	prune(t, s, Policy{Age: time.Hour})
	lives, err := s.Lives(t.Context(), time.Time{}, noon)
	if err != nil || len(lives) != 1 || !lives[0].Up.Equal(noon.Add(-7*time.Hour)) {
		t.Errorf("lives left: %v, %v; want the newest", lives, err)
	}
}

// TestPruneManyLetsCommitsPass prunes a big history while commits go on.
func TestPruneManyLetsCommitsPass(t *testing.T) {
	if testing.Short() {
		t.Skip("writes a history of 60,000 runs")
	}
	s := open(t, t.TempDir())
	const runs = 60_000
	fill(t, s, 100, runs)
	var wg sync.WaitGroup
	var done Pruned
	over := make(chan struct{})
	wg.Go(func() {
		defer close(over)
		done = prune(t, s, Policy{PerJob: 10})
	})
	var waits []time.Duration
	for id := job.RunID(runs + 1); ; id++ {
		begun := time.Now()
		commit(t, s, Batch{Records: []job.Record{decided(id, "busy", noon.Add(time.Duration(id)))}})
		waits = append(waits, time.Since(begun))
		select {
		case <-over:
		default:
			continue
		}
		break
	}
	wg.Wait()
	if want := runs - 100*10; done.Runs < want {
		t.Errorf("%d runs were pruned, want at least %d", done.Runs, want)
	}
	slices.Sort(waits)
	t.Logf("%d commits during the prune took: median %s, 99%% %s, most %s", len(waits), waits[len(waits)/2], waits[len(waits)*99/100], waits[len(waits)-1])
	if median := waits[len(waits)/2]; median > 50*time.Millisecond {
		t.Errorf("a commit took %s during the prune", median)
	}
}

func TestQueriesLookThroughIndexes(t *testing.T) {
	s := open(t, t.TempDir())
	rows := 1
	for _, c := range (Policy{PerJob: 1, Age: 1}).cuts(noon, &Pruned{}) {
		if c.find != oldLives { // there are few
			holdPlan(t, s, c.find, c.keep, rows)
		}
		holdPlan(t, s, c.drop, []any{1, 2, 3}[:strings.Count(c.drop, "?")]...)
	}
	holdPlan(t, s, decisionsQuery, "a", 1, 2, 3)
	holdPlan(t, s, decisionAtQuery, "a", 1)
	for _, f := range []Filter{{Jobs: []job.ID{"a"}}, {Jobs: []job.ID{"a", "b"}}, {FailedOnly: true}, {Jobs: []job.ID{"a"}, FailedOnly: true, Since: noon}} {
		where, args := f.where()
		holdPlan(t, s, "SELECT run.id FROM run "+where, args...)
	}
}

// holdPlan holds that SQLite looks through no whole table for a query, but
// for that of jobs.
func holdPlan(t *testing.T, s *Store, query string, args ...any) {
	t.Helper()
	err := s.each(t.Context(), func(rows *sql.Rows) error {
		var id, parent, unused int
		var step string
		err := rows.Scan(&id, &parent, &unused, &step)
		if strings.HasPrefix(step, "SCAN") && step != "SCAN job" && !strings.Contains(step, "INDEX") && !strings.Contains(step, "json_each") {
			t.Errorf("%s\nlooks through a whole table: %s", query, step)
		}
		return err
	}, "EXPLAIN QUERY PLAN "+query, args...)
	if err != nil {
		t.Fatal(err)
	}
}
