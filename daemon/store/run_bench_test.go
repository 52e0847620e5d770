package store

import (
	"testing"
	"time"

	"github.com/cronring/cronring/daemon/job"
)

// BenchmarkRun writes all that is written of a run in its life, for 64 that
// are due together: decided, started, ended.
func BenchmarkRun(b *testing.B) {
	b.Run("bare", func(b *testing.B) { benchmarkRun(b, false) })
	b.Run("summary", func(b *testing.B) { benchmarkRun(b, true) })
}

func benchmarkRun(b *testing.B, summaries bool) {
	s := open(b, b.TempDir())
	fill(b, s, 200, 20_000)
	const n = 64
	at, id := noon, job.RunID(20_000)
	for b.Loop() {
		b.StopTimer()
		at = at.Add(time.Second)
		batches := make([]Batch, 3)
		for i := range n {
			id++
			batches[0].Records = append(batches[0].Records, decided(id, jobName(i), at))
			started, over := ended(id, jobName(i), at, 0), ended(id, jobName(i), at, 0)
			started.Kind, started.Run.State, started.Run.Ended, started.Run.Outcome = job.Started, job.RunRunning, time.Time{}, job.Outcome{}
			over.Kind = job.Ended
			batches[1].Records = append(batches[1].Records, started)
			batches[2].Records = append(batches[2].Records, over)
			if summaries {
				batches[2].Summaries = append(batches[2].Summaries, job.Summary{
					Job: over.Run.Job, User: over.Run.User, Verdict: job.VerdictOK, Run: id, Due: at, Ended: at, Success: at,
				})
			}
		}
		b.StartTimer()
		for _, batch := range batches {
			batch.At = at
			commit(b, s, batch)
		}
	}
	b.ReportMetric(b.Elapsed().Seconds()*1e6/float64(b.N*n), "µs/run")
}
