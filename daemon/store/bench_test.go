package store

import (
	"testing"
	"time"

	"github.com/cronring/cronring/daemon/job"
)

// BenchmarkQuery asks a history of 200,000 runs what the commands ask.
func BenchmarkQuery(b *testing.B) {
	s := open(b, b.TempDir())
	const jobs = 200
	fill(b, s, jobs, 200_000)
	size, err := s.Size()
	b.Logf("%d bytes %v", size, err)
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
		{"RecentLastOf200", func() error { _, err := s.Recent(b.Context(), all, 1); return err }},
		{"Recent12Of200", func() error { _, err := s.Recent(b.Context(), all, 12); return err }},
		{"RunsNewest100", func() error { _, err := s.Runs(b.Context(), Filter{}); return err }},
		{"RunsOfJob", func() error { _, err := s.Runs(b.Context(), Filter{Job: jobName(7)}); return err }},
		{"RunsOfJobs", func() error { _, err := s.Runs(b.Context(), Filter{Jobs: all}); return err }},
		{"RunsOfJobFailed", func() error { _, err := s.Runs(b.Context(), Filter{Jobs: all[:1], FailedOnly: true}); return err }},
		{"RunsFailed", func() error { _, err := s.Runs(b.Context(), Filter{FailedOnly: true}); return err }},
		{"RunsRunning", func() error { _, err := s.Runs(b.Context(), Filter{State: job.RunRunning}); return err }},
		{"RunsManual", func() error { _, err := s.Runs(b.Context(), Filter{Trigger: job.TriggerManual}); return err }},
		{"RunsOfDay", func() error { _, err := s.Runs(b.Context(), Filter{Since: day}); return err }},
		{"RunsOfMinute", func() error { _, err := s.Runs(b.Context(), Filter{Since: noon.Add(-time.Minute)}); return err }},
		{"RunsBefore", func() error { _, err := s.Runs(b.Context(), Filter{Until: day.Add(12 * time.Hour)}); return err }},
		{"DecisionsOfDay", func() error { _, err := s.Decisions(b.Context(), jobName(9), day, noon, 1000); return err }},
		{"DecisionAt", func() error { _, _, err := s.DecisionAt(b.Context(), jobName(9), noon.Add(-time.Hour)); return err }},
		{"Check", func() error { return s.write.check(b.Context()) }},
		{"Restore", func() error { _, err := s.Restore(b.Context()); return err }},
	} {
		b.Run(q.name, func(b *testing.B) {
			for b.Loop() {
				if err := q.ask(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
