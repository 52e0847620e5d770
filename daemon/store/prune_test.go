package store

import (
	"database/sql"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cronring/cronring/daemon/job"
	"github.com/cronring/cronring/daemon/store/prune"
)

// pageRows is the number of rows that Prune looks at in one step.
const pageRows = 500

func pruned(t *testing.T, s *Store, p prune.Policy) prune.Pruned {
	t.Helper()
	done, err := s.Prune(t.Context(), noon, p)
	if err != nil {
		t.Fatal(err)
	}
	done.Longest, done.Steps, done.Widest = 0, 0, 0
	return done
}

// own is Policy.Own of some jobs.
func own(jobs map[job.ID]prune.Keep) func(job.ID) (prune.Keep, bool) {
	return func(id job.ID) (k prune.Keep, ok bool) {
		k, ok = jobs[id]
		return k, ok
	}
}

// count is the number of rows in a table.
func count(t *testing.T, s *Store, file string) (n int) {
	t.Helper()
	if err := s.Row(t.Context(), "SELECT count(*) FROM "+file).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

// chatter writes one line of output for each of n runs, numbered from 1.
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
		ended(1, "b", hours(10), 0), ended(2, "b", hours(9), 0), // b's last run is old
		ended(3, "a", hours(9), 0), ended(4, "a", hours(8), 1), decided(5, "a", hours(7)), ended(6, "a", hours(6), 0), ended(7, "a", hours(1), 0),
		skipped("a", hours(5), job.Late), skipped("c", hours(4), job.Late), skipped("c", hours(2), job.Late),
		{At: hours(5), Kind: job.Loaded}, {At: hours(1), Kind: job.Loaded},
	}})
	chatter(t, s, 7)
	marks := restore(t, s).Marks

	same(t, "pruned", pruned(t, s, prune.Policy{Age: 3 * time.Hour}), prune.Pruned{Runs: 4, Skips: 2})
	runs, err := s.Runs(t.Context(), Filter{})
	if err != nil || !slices.Equal(ids(runs), []job.RunID{7, 5, 2}) {
		t.Errorf("left are runs %v, %v; want 7, 5, 2", ids(runs), err)
	}
	for file, want := range map[string]int{"output": 3, "occurrence": 4, "record": 1} {
		if got := count(t, s, file); got != want {
			t.Errorf("%d rows of %s are left, want %d", got, file, want)
		}
	}
	r := restore(t, s)
	same(t, "marks", r.Marks, marks)
	if r.NextRun != 8 || len(r.Live) != 1 {
		t.Errorf("next run %d, %d live; want 8 and 1", r.NextRun, len(r.Live))
	}
	same(t, "pruned again", pruned(t, s, prune.Policy{Age: 3 * time.Hour}), prune.Pruned{})
}

func TestPrunePerJobKeepsTheNewest(t *testing.T) {
	s := open(t, t.TempDir())
	fill(t, s, 10, 500) // 50 runs of each job, and 50 skips of the last one
	chatter(t, s, 500)
	commit(t, s, Batch{Records: []job.Record{
		recordOf(job.Started, "", job.Run{ID: 1, Job: jobName(0), Attempt: 1, State: job.RunRunning, Decided: noon}),
	}})
	marks := restore(t, s).Marks

	same(t, "pruned", pruned(t, s, prune.Policy{PerJob: 7}), prune.Pruned{Runs: 10*43 - 1, Skips: 43})
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
	for file, want := range map[string]int{"output": 71, "occurrence": 71 + 7} {
		if got := count(t, s, file); got != want {
			t.Errorf("%d rows of %s are left, want %d", got, file, want)
		}
	}
	same(t, "marks", restore(t, s).Marks, marks)
}

func TestPruneWithoutPolicyKeepsAll(t *testing.T) {
	s := open(t, t.TempDir())
	fill(t, s, 2, 20)
	same(t, "pruned", pruned(t, s, prune.Policy{}), prune.Pruned{})
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
	pruned(t, s, prune.Policy{Age: time.Hour})
	lives, err := s.Lives(t.Context(), time.Time{}, noon)
	if err != nil || len(lives) != 1 || !lives[0].Up.Equal(noon.Add(-7*time.Hour)) {
		t.Errorf("lives left: %v, %v; want the newest", lives, err)
	}
}

// TestPruneManyLetsCommitsPass prunes a big history during commits.
func TestPruneManyLetsCommitsPass(t *testing.T) {
	if testing.Short() {
		t.Skip("SKIPPED, NOT TESTED: -short excludes a history of 60,000 runs")
	}
	s := open(t, t.TempDir())
	const runs = 60_000
	fill(t, s, 100, runs)
	var wg sync.WaitGroup
	var done prune.Pruned
	over := make(chan struct{})
	wg.Go(func() {
		defer close(over)
		done = pruned(t, s, prune.Policy{PerJob: 10})
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
	if len(waits) < 50 { // as many as the prune has steps, however slow the disk
		t.Errorf("only %d commits came through during the prune", len(waits))
	}
}

func TestQueriesLookThroughIndexes(t *testing.T) {
	s := open(t, t.TempDir())
	holdPlan(t, s, decisionsQuery, "a", 1, 2, 3)
	holdPlan(t, s, decisionAtQuery, "a", 1)
	for _, f := range []Filter{{Jobs: []job.ID{"a"}}, {Jobs: []job.ID{"a", "b"}}, {FailedOnly: true}, {Jobs: []job.ID{"a"}, FailedOnly: true, Since: noon},
		{Skipped: true}, {Trigger: job.TriggerBoot}, {Trigger: job.TriggerManual, Until: noon}} {
		where, args := f.where()
		holdPlan(t, s, "SELECT run.id FROM run "+where, args...)
	}
}

// holdPlan holds that SQLite looks through no whole table for a query, but
// for that of jobs.
func holdPlan(t *testing.T, s *Store, query string, args ...any) {
	t.Helper()
	err := s.Each(t.Context(), func(rows *sql.Rows) error {
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

// keep= of a job goes before what is usual, whether it keeps more or less.
func TestPruneKeepsOfEachJobWhatItAsksFor(t *testing.T) {
	s := open(t, t.TempDir())
	names := []job.ID{"usual", "few", "young", "all"}
	id := job.RunID(0)
	for minute := 30; minute > 0; minute-- {
		var records []job.Record
		for _, name := range names {
			id++
			due := noon.Add(-time.Duration(minute) * time.Minute)
			records = append(records, ended(id, name, due, 0), skipped(name, due.Add(time.Second), job.Overlapping))
		}
		commit(t, s, Batch{Records: records})
	}
	p := prune.Policy{PerJob: 10, Age: 20 * time.Minute, Own: own(map[job.ID]prune.Keep{
		"few": {User: "root", PerJob: 3}, "young": {User: "root", Age: 5*time.Minute + time.Second}, "all": {User: "root"},
	})}
	same(t, "pruned", pruned(t, s, p), prune.Pruned{Runs: 20 + 27 + 25, Skips: 20 + 27 + 25})
	for name, want := range map[job.ID]int{"usual": 10, "few": 3, "young": 5, "all": 30} {
		runs, err := s.Runs(t.Context(), Filter{Jobs: []job.ID{name}})
		if err != nil || len(runs) != want {
			t.Errorf("%d runs of %s are left, %v; want %d", len(runs), name, err, want)
		}
	}
	same(t, "pruned again", pruned(t, s, p), prune.Pruned{})
}

func TestPruneKeepsDeadLettersAndWhatWasConcludedLast(t *testing.T) {
	s := open(t, t.TempDir())
	hour := func(rec job.Record, n int) job.Record {
		rec.Run.Decided = noon.Add(-time.Duration(n) * time.Hour)
		return rec
	}
	commit(t, s, Batch{Records: []job.Record{
		hour(dies(1, "a", "root"), 9), hour(concluded(2, "a", noon, 0, job.VerdictOK), 8), hour(concluded(3, "a", noon, 1, job.VerdictFail), 7),
		hour(concluded(4, "a", noon, 1, job.VerdictRetry), 6), hour(concluded(5, "a", noon, 1, job.VerdictRetry), 5),
		hour(decided(6, "a", noon.Add(time.Hour)), 4),
	}, Summaries: []job.Summary{{Job: "a", User: "root", Run: 3, Verdict: job.VerdictFail, Ended: noon}}})
	chatter(t, s, 6)
	pruned(t, s, prune.Policy{Age: time.Hour, PerJob: 1})
	runs, err := s.Runs(t.Context(), Filter{})
	if err != nil || !slices.Equal(ids(runs), []job.RunID{6, 3, 1}) {
		t.Errorf("left are %v, %v; want the live 6, the newest that was over 3, and the dead letter 1", ids(runs), err)
	}
	if chunks, err := s.Output(t.Context(), 1); err != nil || len(chunks) != 1 {
		t.Errorf("output of the dead letter: %v, %v", chunks, err)
	}
	commit(t, s, Batch{Records: []job.Record{{At: noon, Kind: job.Buried, Job: "a", Run: &runs[2]}}})
	same(t, "pruned once it was buried", pruned(t, s, prune.Policy{Age: time.Hour, All: true}), prune.Pruned{Runs: 1})
}

func TestPruneDiscardsOldestDeadLettersOfTheAccountThatHasTooMany(t *testing.T) {
	s := open(t, t.TempDir())
	var records []job.Record
	for id := range job.RunID(6) {
		records = append(records, dies(id+1, "a", []string{"ann", "bob", "ann"}[id%3]))
	}
	commit(t, s, Batch{Records: records})
	same(t, "pruned", pruned(t, s, prune.Policy{DeadLetters: 2}), prune.Pruned{DeadLetters: 2})
	letters, err := s.DeadLetters(t.Context(), Of{})
	var left []job.RunID
	for _, l := range letters {
		left = append(left, l.Run.ID)
	}
	if err != nil || !slices.Equal(left, []job.RunID{6, 5, 4, 2}) {
		t.Errorf("left are %v, %v; want 6 and 4 of ann, 5 and 2 of bob", left, err)
	}
}

func TestPruneForgetsJobsThatAreGone(t *testing.T) {
	s := open(t, t.TempDir())
	old := noon.Add(-2 * time.Hour)
	commit(t, s, Batch{Summaries: []job.Summary{
		{Job: "gone", User: "ann", Ended: old}, {Job: "gone", User: "bob", Ended: noon}, {Job: "here", User: "ann", Watched: old},
	}})
	installed := func(id job.ID, user string) bool { return id == "here" && user == "ann" }
	pruned(t, s, prune.Policy{Age: time.Hour})
	if got := restore(t, s).Summaries; len(got) != 3 {
		t.Errorf("summaries are forgotten although nobody knows what is installed: %v", got)
	}
	pruned(t, s, prune.Policy{Age: time.Hour, Installed: installed})
	got := restore(t, s).Summaries
	if len(got) != 2 || got[0].User != "bob" && got[1].User != "bob" {
		t.Errorf("summaries left: %v; want bob's, which is young, and that of here", got)
	}
}

func TestPruneOfBackfillsKeepsTheNewestAndThoseThatGo(t *testing.T) {
	s := open(t, t.TempDir())
	var records []job.Record
	for id := range int64(3) {
		b := backfill(id+1, "a", "ann")
		b.Asked = noon.Add(-time.Hour)
		if id != 1 {
			b.State = job.BackfillDone
		}
		records = append(records, filled(b, ""))
	}
	commit(t, s, Batch{Records: records})
	pruned(t, s, prune.Policy{Age: time.Minute})
	left, err := s.Backfills(t.Context(), Of{})
	if err != nil || len(left) != 2 || left[0].ID != 3 || left[1].ID != 2 {
		t.Errorf("backfills left: %v, %v; want 3 and 2", left, err)
	}
	if next := restore(t, s).NextBackfill; next != 4 {
		t.Errorf("next backfill is %d, want 4", next)
	}
}

// Any user may reuse the name of another user's job. Its keep= then does not apply to the previous
// user's runs.
func TestPruneHoldsNoRunsOfOthersToWhatAnAccountKeeps(t *testing.T) {
	s := open(t, t.TempDir())
	var records []job.Record
	for id := range job.RunID(12) {
		r := ended(id+1, "backup", noon.Add(time.Duration(id)*time.Minute-time.Hour), 0)
		r.Run.User = "root"
		if id >= 8 {
			r.Run.User = "ann"
		}
		records = append(records, r)
	}
	commit(t, s, Batch{Records: records})
	for _, k := range []prune.Keep{{User: "ann", PerJob: 2}, {User: "ann", Age: time.Second}} {
		pruned(t, s, prune.Policy{PerJob: 5, Age: time.Minute, All: true, Own: own(map[job.ID]prune.Keep{"backup": k})})
	}
	runs, err := s.Runs(t.Context(), Filter{})
	if err != nil || !slices.Equal(ids(runs), []job.RunID{12, 8, 7, 6, 5, 4, 3, 2, 1}) {
		t.Errorf("left are %v, %v; want the newest and all of root's", ids(runs), err)
	}
}

func TestPruneBoundsWhatAnAccountsRunsHavePrinted(t *testing.T) {
	s := open(t, t.TempDir())
	batch := Batch{}
	for id := range job.RunID(30) {
		r := ended(id+1, jobName(int(id)), noon, 0)
		r.Run.User = []string{"ann", "bob", "root"}[id%3]
		size := map[string]int{"ann": 1000, "bob": 400, "root": 1200}[r.Run.User]
		chunk := job.Chunk{Stream: job.Stdout, At: noon, Data: make([]byte, size/2)}
		batch.Records = append(batch.Records, r)
		batch.Outputs = append(batch.Outputs, Output{id + 1, []job.Chunk{chunk, chunk}})
	}
	commit(t, s, batch)
	same(t, "pruned", pruned(t, s, prune.Policy{Bytes: 4000}), prune.Pruned{Outputs: 13})
	for id := range job.RunID(30) {
		chunks, err := s.Output(t.Context(), id+1)
		if want := []bool{id >= 18, true, id >= 23}[id%3]; err != nil || (len(chunks) > 0) != want {
			t.Errorf("run %d: %d pieces of output, %v; want some: %t", id+1, len(chunks), err, want)
		}
	}
	same(t, "pruned again", pruned(t, s, prune.Policy{Bytes: 4000}), prune.Pruned{})

	// Later runs count beside those before.
	late := ended(31, jobName(31), noon, 0)
	late.Run.User = "ann"
	commit(t, s, Batch{Records: []job.Record{late}, Outputs: []Output{{31, []job.Chunk{{Stream: job.Stdout, At: noon, Data: make([]byte, 100)}}}}})
	same(t, "pruned of more", pruned(t, s, prune.Policy{Bytes: 4000}), prune.Pruned{Outputs: 1})
	if chunks, err := s.Output(t.Context(), 31); err != nil || len(chunks) != 1 {
		t.Errorf("output of the newest run: %v, %v", chunks, err)
	}
}

// However long the history, a step of Prune looks at few rows, and only at jobs that
// got rows since the last time.
func TestPruneLooksAtNewsInSmallSteps(t *testing.T) {
	s := open(t, t.TempDir())
	const jobs, runs = 400, 4000
	fill(t, s, jobs, runs)
	chatter(t, s, runs)
	p := prune.Policy{PerJob: 100, Rows: 1000, Own: own(map[job.ID]prune.Keep{jobName(7): {User: "root", PerJob: 100_000}})}
	look := func(what string, want prune.Pruned, steps int) {
		t.Helper()
		done, err := s.Prune(t.Context(), noon, p)
		if err != nil || done.Runs != want.Runs || done.Skips != want.Skips {
			t.Errorf("%s: %+v, %v, want %+v", what, done, err, want)
		}
		if done.Steps > steps || done.Widest > pageRows {
			t.Errorf("%s: %d steps, one of %d rows, want at most %d of %d", what, done.Steps, done.Widest, steps, pageRows)
		}
	}
	look("at first", prune.Pruned{}, 5*jobs)
	look("without news", prune.Pruned{}, 20)
	id := job.RunID(runs)
	var facts []job.Record
	for range 3 * pageRows { // of two jobs
		for _, name := range []job.ID{jobName(1), jobName(7)} {
			id++
			facts = append(facts, ended(id, name, noon.Add(time.Duration(id)*time.Second), 0))
		}
	}
	commit(t, s, Batch{Records: facts})
	look("of two jobs", prune.Pruned{Runs: 3*pageRows + runs/jobs - 100}, 20+3*pageRows)
	look("without more news", prune.Pruned{}, 20)
	p.PerJob = 5
	look("of less to keep, without news", prune.Pruned{}, 20)
	p.All = true
	look("of all jobs", prune.Pruned{Runs: (jobs-2)*(runs/jobs-5) + 95, Skips: runs/10 - 5*jobs/10}, 20+9*jobs)
}
