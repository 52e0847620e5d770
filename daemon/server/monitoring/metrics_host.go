package monitoring

import (
	"bytes"
	"maps"
	"os"
	"runtime"
	"slices"
	"strconv"
	"syscall"
	"time"

	"github.com/cronring/cronring/daemon/api"
	"github.com/cronring/cronring/daemon/job"
	"github.com/cronring/cronring/daemon/metrics"
	"github.com/cronring/cronring/daemon/server/crontabs"
)

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
		if m.c.SeesRun(r) {
			live[r.State]++
		}
	})
	m.Family("cronring_live_runs", metrics.Gauge, "Runs that go or wait: decided ones are about to start, queued ones wait behind others or for a slot, waiting ones for their time.")
	for _, state := range []job.RunState{job.RunDecided, job.RunQueued, job.RunWaiting, job.RunRunning} {
		m.Add(float64(live[state]), "state", string(state))
	}
}

// addHost adds the metrics of the whole host.
func (m *gauges) addHost() {
	t := m.s.totals()
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

	errors, warnings := crontabs.Count(m.s.daemon.Diagnostics())
	m.gauge("cronring_crontabs", "Crontab files that are read.", float64(len(m.view.Crontabs())))
	m.gauge("cronring_crontabs_refused", "Crontab files that are not read, as they are not safe.", float64(len(m.s.daemon.Refused())))
	m.gauge("cronring_crontab_errors", "Errors in crontab files.", float64(errors))
	m.gauge("cronring_crontab_warnings", "Warnings about lines of crontab files.", float64(warnings))
	m.gauge("cronring_problems", "Problems of cronringd itself, as in cronring status.", float64(len(m.health.Problems)))

	letters, notices := m.s.daemon.Waiting()
	m.gauge("cronring_mail_queue_letters", "Letters of mail that wait to be sent.", float64(letters))
	m.gauge("cronring_notice_queue_messages", "Notices to channels that wait to be sent.", float64(notices))
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
	r := &m.ring
	if r.Name == "" {
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
	m.gauge("cronring_ring_jobs_unowned", "Ring jobs that no member can run.", float64(r.Unowned))
	if !m.c.Peer.Admin {
		return
	}
	m.gauge("cronring_ring_undecided_occurrences", "Occurrences without a decided owner.", float64(len(m.view.Undecided())))
	m.Family("cronring_ring_claims_total", metrics.Counter, "Claims of this member, by answer; after unknown it claims again.")
	m.Add(float64(r.Claims.Granted), "answer", "granted")
	m.Add(float64(r.Claims.Refused), "answer", "refused")
	m.Add(float64(r.Claims.Unknown), "answer", "unknown")
	m.counter("cronring_ring_doubled_total", "Occurrences that this member ran and that were found to have run on another one, too.", float64(m.s.totals().doubled))
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
