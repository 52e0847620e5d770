package server

import (
	"bytes"
	"context"
	"maps"
	"net/http"
	"os"
	"runtime"
	"slices"
	"strconv"
	"syscall"
	"time"

	"github.com/cronring/cronring/daemon/api"
	"github.com/cronring/cronring/daemon/engine"
	"github.com/cronring/cronring/daemon/job"
	"github.com/cronring/cronring/daemon/metrics"
	"github.com/cronring/cronring/daemon/server/call"
	"github.com/cronring/cronring/daemon/server/jobstate"
)

// mostMetricJobs is the maximum number of jobs with metrics of their own: each has a dozen series
// in the monitoring system.
const mostMetricJobs = 10_000

// metrics answers with the metrics. Metrics of the whole host are for admins; other users receive
// those of their own jobs. It answers even if the history cannot be read, because monitoring is
// needed most then.
func (s *Server) metrics(ctx context.Context, c *call.Call) error {
	m, err := s.newGauges(ctx, c)
	if err != nil {
		return err
	}
	read := m.look(ctx)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	m.addDaemon(read)
	if c.Peer.Admin {
		m.addHost()
	}
	m.addRing()
	if m.each != nil {
		m.addJobs()
	}
	c.Send(http.StatusOK, metrics.ContentType, m.Bytes())
	return nil
}

// gauges is metrics as they are made.
type gauges struct {
	*metrics.Text
	s      *Server
	c      *call.Call
	view   *engine.View
	health api.Health
	ring   *api.Ring // nil: the host is in none
	each   []job.ID  // jobs with their own metrics; nil: none
	left   int       // of the requested jobs

	states map[job.State]int
	told   []toldJob
	where  *jobstate.Whereabouts
}

// toldJob is a job with its own metrics.
type toldJob struct {
	i int
	jobstate.Past
	elsewhere bool // another member claimed its newest occurrence
}

func (s *Server) newGauges(ctx context.Context, c *call.Call) (*gauges, error) {
	m := &gauges{s: s, c: c, view: c.View, health: s.healthNow(), states: map[job.State]int{}}
	m.Text = metrics.New("host", m.health.Host)
	if r := s.backend.Ring(); r != nil {
		status := r.Status()
		m.ring = &status
	}
	jobs, err := c.Flag("jobs")
	if err != nil || !jobs {
		return m, err
	}
	wanted := c.Visible()
	if refs := c.Query["job"]; len(refs) > 0 {
		if wanted, err = s.find.Resolve(ctx, c, "read the metrics of", refs); err != nil {
			return nil, err
		}
	}
	m.each = make([]job.ID, len(wanted))
	for k, i := range wanted {
		m.each[k] = c.View.ID(i)
	}
	slices.Sort(m.each) // so that, of too many, the same ones are included each time
	m.left = max(0, len(m.each)-mostMetricJobs)
	m.each = m.each[:len(m.each)-m.left]
	return m, nil
}

// look finds out how jobs are, as boards do. It reports false if the history could
// not be read.
func (m *gauges) look(ctx context.Context) bool {
	const tries = 3 // the tables may change meanwhile
	for range tries {
		names, err := m.s.states.Follow(ctx)
		if err != nil {
			break
		}
		if view := m.s.backend.View(); view.SameJobs(names.View) {
			m.view = view
			if m.count(names) {
				return true
			}
		}
	}
	clear(m.states)
	m.told = nil
	return false
}

func (m *gauges) count(names *jobstate.Numbering) bool {
	clear(m.states)
	m.told = m.told[:0]
	p := m.s.states.Look(names, m.view, m.c.Now, m.c.Peer, nil)
	m.where = p.Where
	for slots := range slices.Chunk(names.Order, otherPages) {
		pasts, ok := p.Read(slots)
		if !ok {
			return false
		}
		for k, slot := range slots {
			if p.Sees(int(slot)) {
				c, _ := p.Condition(slot, &pasts[k])
				m.states[c.State()]++
			}
		}
	}
	for _, id := range m.each {
		if i, ok := m.view.Find(id); ok && p.Sees(i) {
			pasts, ok := p.Read([]int32{int32(i)})
			if !ok {
				return false
			}
			m.told = append(m.told, toldJob{i: i, Past: pasts[0], elsewhere: p.Where.Since(i, pasts[0].At()) != nil})
		}
	}
	return true
}

// family begins a family that has one sample.
func (m *gauges) gauge(name, help string, value float64) {
	m.Family(name, metrics.Gauge, help)
	m.Add(value)
}

func (m *gauges) counter(name, help string, value float64) {
	m.Family(name, metrics.Counter, help)
	m.Add(value)
}

func truth(so bool) float64 {
	if so {
		return 1
	}
	return 0
}

func seconds(t time.Time) float64 { return float64(t.UnixMilli()) / 1000 }

// addDaemon adds what all users may see of the daemon, and the states of the jobs that the caller
// sees.
func (m *gauges) addDaemon(read bool) {
	m.gauge("cronring_up", "Whether cronringd answered.", 1)
	m.Family("cronring_build_info", metrics.Gauge, "Always 1; the labels are the version of cronringd and of Go.")
	m.Add(1, "version", m.health.Version, "goversion", runtime.Version())
	m.gauge("cronring_start_time_seconds", "When cronringd started, in seconds since 1970.", seconds(m.health.Started))
	m.gauge("cronring_draining", "Whether cronringd starts nothing more, as it is about to end.", truth(m.view.Draining()))
	m.gauge("cronring_history_readable", "Whether the history could be read; else cronring_jobs is missing.", truth(read))
	if read {
		m.Family("cronring_jobs", metrics.Gauge, "Jobs by state; a job counts once, by its worst.")
		for _, state := range job.States {
			m.Add(float64(m.states[state]), "state", string(state))
		}
	}
	live := map[job.RunState]int{}
	m.view.EachRun(func(r *job.Run) {
		if m.c.SeesRun(*r) {
			live[r.State]++
		}
	})
	m.Family("cronring_live_runs", metrics.Gauge, "Runs that go or wait: decided ones are about to start, queued ones wait behind others or for a place, waiting ones for their time.")
	for _, state := range []job.RunState{job.RunDecided, job.RunQueued, job.RunWaiting, job.RunRunning} {
		m.Add(float64(live[state]), "state", string(state))
	}
}

// addHost adds the metrics of the whole host.
func (m *gauges) addHost() {
	t := m.s.counts.totals()
	m.Family("cronring_runs_total", metrics.Counter, "Runs that ended, by outcome; after retried another attempt follows.")
	for i, outcome := range outcomes {
		m.Add(float64(t.ended[i]), "outcome", outcome)
	}
	m.Family("cronring_skips_total", metrics.Counter, "Occurrences that were not run, by reason: cronring-why(7) explains them.")
	for _, reason := range slices.Sorted(maps.Keys(t.skips)) {
		m.Add(float64(t.skips[reason]), "reason", string(reason))
	}
	m.Family("cronring_start_lag_seconds", metrics.Histogram, "From the due time of runs that the clock started to their start.")
	m.Distribution(lagBounds[:], t.lags[:], t.lag)
	m.counter("cronring_overflows_total", "Runs that were dropped because too many runs of their user waited: see queue-max in cronring.toml(5).", float64(m.view.Overflow().Count))
	m.counter("cronring_clock_steps_total", "How often the host's clock was found set.", float64(t.steps))

	errors, warnings := diagnosticCounts(m.s.backend.Diagnostics())
	m.gauge("cronring_crontabs", "Crontab files that are read.", float64(len(m.view.Crontabs())))
	m.gauge("cronring_crontabs_refused", "Crontab files that are not read, as they are not safe.", float64(len(m.s.backend.Refused())))
	m.gauge("cronring_crontab_errors", "Lines of crontab files that do not count.", float64(errors))
	m.gauge("cronring_crontab_warnings", "Warnings about lines of crontab files.", float64(warnings))
	m.gauge("cronring_problems", "Problems of cronringd itself, as in cronring status.", float64(len(m.health.Problems)))

	waiting := m.s.backend.Waiting()
	m.gauge("cronring_mail_queue_letters", "Letters of mail that wait to be sent.", float64(waiting.Letters))
	m.gauge("cronring_notice_queue_messages", "Notices to channels that wait to be sent.", float64(waiting.Notices))
	m.gauge("cronring_history_unwritten_records", "Records that wait for the disk to take them again.", float64(m.health.Unwritten))
	m.counter("cronring_history_lost_records_total", "Records that could not wait for that.", float64(m.health.Lost))
	m.gauge("cronring_history_bytes", "Size of the history on disk.", float64(m.s.store.Bytes()))
	if rss, ok := residentBytes(); ok {
		m.gauge("cronring_resident_memory_bytes", "Resident memory of cronringd, without its jobs.", float64(rss))
	}
	m.counter("cronring_cpu_seconds_total", "Time of processors that cronringd has taken, without its jobs.", cpuSeconds())
	if m.each != nil {
		m.gauge("cronring_jobs_left_out", "Requested jobs without metrics of their own, because there are too many.", float64(m.left))
	}
}

// addRing adds the state of this host in its ring.
func (m *gauges) addRing() {
	r := m.ring
	if r == nil {
		return
	}
	states := map[api.MemberState]int{}
	owned := 0
	for i := range r.Members {
		states[r.Members[i].State]++
		if r.Members[i].ID == r.Self {
			owned = r.Members[i].Owns
		}
	}
	m.Family("cronring_ring_members", metrics.Gauge, "Known members of the ring, including this one, by state.")
	for _, state := range []api.MemberState{api.MemberUp, api.MemberJoining, api.MemberDraining, api.MemberDown, api.MemberLeft} {
		m.Add(float64(states[state]), "state", string(state))
	}
	m.gauge("cronring_ring_joined", "Whether this host is in its ring; else ring jobs wait.", truth(r.Joined))
	m.gauge("cronring_ring_barred", "Whether something, as a clock that is off, keeps this member from taking ring jobs.", truth(r.Held != ""))
	if r.Quorum > 0 {
		up := 0
		for _, v := range r.Voters {
			up += int(truth(v.Up))
		}
		m.gauge("cronring_ring_quorum", "Whether enough voters are seen to grant occurrences.", truth(up >= r.Quorum))
	}
	m.gauge("cronring_ring_jobs", "Ring jobs of this host's crontabs.", float64(r.Jobs))
	m.gauge("cronring_ring_jobs_owned", "Ring jobs that this member owns.", float64(owned))
	m.gauge("cronring_ring_jobs_unowned", "Ring jobs that no member may run.", float64(r.Unowned))
	if !m.c.Peer.Admin {
		return
	}
	m.gauge("cronring_ring_undecided_occurrences", "Occurrences without a decided owner.", float64(len(m.view.Undecided())))
	m.Family("cronring_ring_claims_total", metrics.Counter, "Claims of this member, by answer; after unknown it claims again.")
	m.Add(float64(r.Claims.Granted), "answer", "granted")
	m.Add(float64(r.Claims.Refused), "answer", "refused")
	m.Add(float64(r.Claims.Unknown), "answer", "unknown")
	m.counter("cronring_ring_doubled_total", "Occurrences that this member ran and that were found to have run on another one, too.", float64(m.s.counts.totals().doubled))
}

// addJobs adds metrics of single jobs.
func (m *gauges) addJobs() {
	labels := make([][]string, len(m.told))
	for k := range m.told {
		labels[k] = []string{"job", string(m.view.ID(m.told[k].i)), "user", m.view.Entry(m.told[k].i).User()}
	}
	each := func(name, help string, value func(j *toldJob) (float64, bool)) {
		m.Family(name, metrics.Gauge, help)
		for k := range m.told {
			if v, ok := value(&m.told[k]); ok {
				m.Add(v, labels[k]...)
			}
		}
	}
	each("cronring_job_last_run_success", "Whether the newest run that ended did not fail.",
		func(j *toldJob) (float64, bool) { return truth(!j.Failed), j.Run != 0 && !j.elsewhere })
	each("cronring_job_last_run_timestamp_seconds", "When the newest run that ended did.",
		func(j *toldJob) (float64, bool) { return seconds(jobstate.TimeOf(j.Ended)), j.Run != 0 })
	each("cronring_job_last_run_duration_seconds", "How long that run took.",
		func(j *toldJob) (float64, bool) {
			return time.Duration(j.Ended - j.Began).Seconds(), j.Run != 0 && j.Began != 0
		})
	each("cronring_job_last_success_timestamp_seconds", "When the newest run that succeeded ended.",
		func(j *toldJob) (float64, bool) { return seconds(jobstate.TimeOf(j.Success)), j.Success != 0 })
	each("cronring_job_failed_in_row", "Occurrences in a row that failed, up to the newest.",
		func(j *toldJob) (float64, bool) { return float64(j.Streak), !j.elsewhere })
	each("cronring_job_next_timestamp_seconds", "When it runs next.",
		func(j *toldJob) (float64, bool) {
			next := m.view.Next(j.i, m.c.Now)
			return seconds(next), !next.IsZero()
		})
	if m.ring != nil {
		each("cronring_job_owned", "Of a ring job, whether its next occurrence is this member's.",
			func(j *toldJob) (float64, bool) {
				_, shared := m.view.RingKey(j.i)
				return truth(m.where.Of(j.i, m.view.Next(j.i, m.c.Now)) == m.health.Host), shared
			})
	}
	m.addJobCounts(labels)
}

func (m *gauges) addJobCounts(labels [][]string) {
	skips := make([]map[job.Reason]uint64, len(m.told))
	m.Family("cronring_job_runs_total", metrics.Counter, "Its runs that ended, by how, as in cronring_runs_total.")
	for k := range m.told {
		var ended [len(outcomes)]uint32
		ended, skips[k] = m.s.counts.job(m.view.ID(m.told[k].i), m.view.Entry(m.told[k].i).User())
		for i, n := range ended {
			if i < 2 || n > 0 { // each job has those that alerts use
				m.Add(float64(n), slices.Concat(labels[k], []string{"outcome", outcomes[i]})...)
			}
		}
	}
	m.Family("cronring_job_skips_total", metrics.Counter, "Its occurrences that were not run, by reason.")
	for k := range m.told {
		for _, reason := range slices.Sorted(maps.Keys(skips[k])) {
			m.Add(float64(skips[k][reason]), slices.Concat(labels[k], []string{"reason", string(reason)})...)
		}
	}
}

// residentBytes returns the daemon's resident memory, as reported by the kernel.
func residentBytes() (n int64, ok bool) {
	text, err := os.ReadFile("/proc/self/statm")
	fields := bytes.Fields(text)
	if err != nil || len(fields) < 2 {
		return 0, false
	}
	pages, err := strconv.ParseInt(string(fields[1]), 10, 64)
	return pages * int64(os.Getpagesize()), err == nil
}

// cpuSeconds returns the daemon's CPU time in user and system mode.
func cpuSeconds() float64 {
	var used syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &used) != nil { // it cannot fail
		return 0
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano()).Seconds()
}
