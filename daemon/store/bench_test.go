package store

import (
	"database/sql/driver"
	"fmt"
	"testing"
	"time"

	"github.com/cronring/cronring/daemon/job"
	"github.com/cronring/cronring/daemon/store/database"
	"github.com/cronring/cronring/daemon/store/prune"
)

// BenchmarkQuery runs the queries of the commands on a history of 200,000 runs.
func BenchmarkQuery(b *testing.B) {
	s := open(b, b.TempDir())
	const jobs = 200
	fill(b, s, jobs, 200_000)
	var all []job.ID
	for n := range jobs {
		all = append(all, jobName(n))
	}
	day := noon.Add(-24 * time.Hour)
	for _, q := range []struct {
		name string
		ask  func() error
	}{
		{"Totals", func() error { _, err := s.Totals(b.Context(), day); return err }},
		{"TotalsOfNothing", func() error { _, err := s.Totals(b.Context(), noon); return err }},
		{"TotalsOfMinute", func() error { _, err := s.Totals(b.Context(), noon.Add(-time.Minute)); return err }},
		{"RecentLastOf200", func() error { _, err := s.Recent(b.Context(), all, 1); return err }},
		{"Recent12Of200", func() error { _, err := s.Recent(b.Context(), all, 12); return err }},
		{"RunsNewest100", func() error { _, err := s.Runs(b.Context(), Filter{}); return err }},
		{"RunsOfJob", func() error { _, err := s.Runs(b.Context(), Filter{Jobs: []job.ID{jobName(7)}}); return err }},
		{"RunsOfJobs", func() error { _, err := s.Runs(b.Context(), Filter{Jobs: all}); return err }},
		{"RunsOfJobFailed", func() error { _, err := s.Runs(b.Context(), Filter{Jobs: all[:1], FailedOnly: true}); return err }},
		{"RunsFailed", func() error { _, err := s.Runs(b.Context(), Filter{FailedOnly: true}); return err }},
		{"RunsManual", func() error { _, err := s.Runs(b.Context(), Filter{Trigger: job.TriggerManual}); return err }},
		{"RunsOfDay", func() error { _, err := s.Runs(b.Context(), Filter{Since: day}); return err }},
		{"RunsOfMinute", func() error { _, err := s.Runs(b.Context(), Filter{Since: noon.Add(-time.Minute)}); return err }},
		{"RunsBefore", func() error { _, err := s.Runs(b.Context(), Filter{Until: day.Add(12 * time.Hour)}); return err }},
		{"DecisionsOfDay", func() error { _, err := s.Decisions(b.Context(), jobName(9), day, noon, 1000); return err }},
		{"DecisionAt", func() error { _, _, err := s.DecisionAt(b.Context(), jobName(9), noon.Add(-time.Hour)); return err }},
		{"Check", func() error {
			var found string
			return s.Row(b.Context(), "PRAGMA quick_check(1)").Scan(&found)
		}},
		{"Restore", func() error { _, err := s.Restore(b.Context()); return err }},
	} {
		b.Run(q.name, func(b *testing.B) { benchmarkAsk(b, q.ask) })
	}
}

// BenchmarkManyJobs measures a host with 100,000 jobs and two runs of each.
func BenchmarkManyJobs(b *testing.B) {
	const jobs = 100_000
	dir := b.TempDir()
	s := open(b, dir)
	fill(b, s, jobs, 2*jobs)
	var all []job.ID
	for n := range jobs {
		all = append(all, jobName(n))
	}
	roster := bigRoster()
	known := roster.Crontabs[0].Known
	for _, q := range []struct {
		name string
		ask  func() error
	}{
		{"Roster", func() error {
			for i := range known {
				known[i].Spec++
			}
			return s.Commit(b.Context(), Batch{At: noon, Roster: roster})
		}},
		{"RosterEdited", func() error {
			known[len(known)/2].Spec++
			return s.Commit(b.Context(), Batch{At: noon, Roster: roster})
		}},
		{"Restore", func() error { _, err := s.Restore(b.Context()); return err }},
		{"RecentLast", func() error { _, err := s.Recent(b.Context(), all, 1); return err }},
		{"Open", func() error { s = reopen(b, s, dir); return nil }},
		{"Prune", func() error {
			_, err := s.Prune(b.Context(), noon, prune.Policy{PerJob: 1000, Age: 24 * time.Hour})
			return err
		}},
	} {
		b.Run(q.name, func(b *testing.B) { benchmarkAsk(b, q.ask) })
	}
}

func benchmarkAsk(b *testing.B, ask func() error) {
	for b.Loop() {
		if err := ask(); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkCommit writes what a step of the daemon writes. "bare" is the
// driver with the least that a row can be, in the same file system: what the
// records cost beyond that is ours.
func BenchmarkCommit(b *testing.B) {
	b.Run("bare100", func(b *testing.B) { benchmarkBare(b, 100) })
	for _, n := range []int{1, 64, 100} {
		b.Run(fmt.Sprintf("decided%d", n), func(b *testing.B) { benchmarkDecided(b, n, 0) })
	}
	b.Run("decided64after200000", func(b *testing.B) { benchmarkDecided(b, 64, 200_000) })
	b.Run("ended100", benchmarkEnded)
}

func benchmarkBare(b *testing.B, n int) {
	s := open(b, b.TempDir())
	err := s.Write(b.Context(), func(w *database.Writer) error {
		return w.Script(b.Context(), "CREATE TABLE bare (id INTEGER PRIMARY KEY, at INTEGER, text TEXT)")
	})
	if err != nil {
		b.Fatal(err)
	}
	var stmt driver.Stmt
	err = s.Write(b.Context(), func(w *database.Writer) error {
		return w.Prepare(b.Context(), &stmt, "INSERT INTO bare (at, text) VALUES (?, ?)")
	})
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		err := s.Write(b.Context(), func(w *database.Writer) error {
			for i := range n {
				if _, err := w.Exec(stmt, int64(i), "0123456789abcdef0123456789abcdef"); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			b.Fatal(err)
		}
	}
	perRow(b, n)
}

// benchmarkDecided writes n decisions to run, in a history of the given size.
func benchmarkDecided(b *testing.B, n, before int) {
	s := open(b, b.TempDir())
	fill(b, s, 200, before)
	at, id := noon, job.RunID(before)
	for b.Loop() {
		b.StopTimer()
		at = at.Add(time.Second)
		batch := Batch{At: at}
		for i := range n {
			id++
			batch.Records = append(batch.Records, decided(id, jobName(i), at))
		}
		b.StartTimer()
		commit(b, s, batch)
	}
	perRow(b, 3*n) // occurrence, mark and run of each
}

// benchmarkEnded writes the ends of runs, with some output each.
func benchmarkEnded(b *testing.B) {
	s := open(b, b.TempDir())
	const n = 100
	at, id := noon, job.RunID(0)
	for b.Loop() {
		b.StopTimer()
		at = at.Add(time.Second)
		begun, over := Batch{At: at}, Batch{At: at}
		for i := range n {
			id++
			begun.Records = append(begun.Records, decided(id, jobName(i), at))
			end := ended(id, jobName(i), at, 0)
			end.Kind = job.Ended
			over.Records = append(over.Records, end)
			over.Outputs = append(over.Outputs, Output{id, []job.Chunk{{Stream: job.Stdout, At: at, Data: []byte("done\n")}}})
		}
		commit(b, s, begun)
		b.StartTimer()
		commit(b, s, over)
	}
	perRow(b, 2*n) // run and output of each
}

// perRow reports how many rows were inserted or changed in a second.
func perRow(b *testing.B, rows int) {
	b.ReportMetric(float64(b.N*rows)/b.Elapsed().Seconds(), "rows/s")
}
