package monitoring

import (
	"maps"
	"slices"
	"time"

	"github.com/cronring/cronring/daemon/job"
	"github.com/cronring/cronring/daemon/metrics"
	"github.com/cronring/cronring/daemon/server/jobstate"
)

// addJobs adds metrics of single jobs.
func (m *gauges) addJobs() {
	labels := make([][]string, len(m.jobs))
	for k := range m.jobs {
		labels[k] = []string{"job", string(m.view.ID(m.jobs[k].i)), "user", m.view.Entry(m.jobs[k].i).User()}
	}
	each := func(name, help string, value func(j *metricJob) (float64, bool)) {
		m.Family(name, metrics.Gauge, help)
		for k := range m.jobs {
			if v, ok := value(&m.jobs[k]); ok {
				m.Add(v, labels[k]...)
			}
		}
	}
	each("cronring_job_last_run_success", "Whether the newest run that ended did not fail.",
		func(j *metricJob) (float64, bool) { return truth(!j.Failed), j.Run != 0 && !j.elsewhere })
	each("cronring_job_last_run_timestamp_seconds", "When the newest run that ended did.",
		func(j *metricJob) (float64, bool) { return seconds(jobstate.TimeOf(j.Ended)), j.Run != 0 })
	each("cronring_job_last_run_duration_seconds", "How long that run took.",
		func(j *metricJob) (float64, bool) {
			return time.Duration(max(j.Ended-j.Began, 0)).Seconds(), j.Run != 0 && j.Began != 0
		})
	each("cronring_job_last_success_timestamp_seconds", "When the newest run that succeeded ended.",
		func(j *metricJob) (float64, bool) { return seconds(jobstate.TimeOf(j.Success)), j.Success != 0 })
	each("cronring_job_failed_in_row", "Occurrences in a row that failed, up to the newest.",
		func(j *metricJob) (float64, bool) { return float64(j.Streak), !j.elsewhere })
	each("cronring_job_next_timestamp_seconds", "When it runs next.",
		func(j *metricJob) (float64, bool) {
			next := m.view.Next(j.i, m.c.Now)
			return seconds(next), !next.IsZero()
		})
	if m.ring.Name != "" {
		each("cronring_job_owned", "Of a ring job, whether its next occurrence is this member's.",
			func(j *metricJob) (float64, bool) {
				_, shared := m.view.RingKey(j.i)
				return truth(m.where.Of(j.i, m.view.Next(j.i, m.c.Now)) == m.health.Host), shared
			})
	}
	m.addJobCounts(labels)
}

func (m *gauges) addJobCounts(labels [][]string) {
	skips := make([]map[job.Reason]uint64, len(m.jobs))
	m.Family("cronring_job_runs_total", metrics.Counter, "Its runs that ended, by how, as in cronring_runs_total.")
	for k := range m.jobs {
		var ended [len(outcomes)]uint32
		ended, skips[k] = m.s.job(m.view.ID(m.jobs[k].i), m.view.Entry(m.jobs[k].i).User())
		for i, n := range ended {
			if i < 2 || n > 0 { // each job has those that alerts use
				m.Add(float64(n), slices.Concat(labels[k], []string{"outcome", outcomes[i]})...)
			}
		}
	}
	m.Family("cronring_job_skips_total", metrics.Counter, "Its occurrences that were not run, by reason.")
	for k := range m.jobs {
		for _, reason := range slices.Sorted(maps.Keys(skips[k])) {
			m.Add(float64(skips[k][reason]), slices.Concat(labels[k], []string{"reason", string(reason)})...)
		}
	}
}
