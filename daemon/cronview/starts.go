package cronview

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/cronring/cronring/daemon/api"
	"github.com/cronring/cronring/daemon/cronlog"
	"github.com/cronring/cronring/daemon/engine/view"
	"github.com/cronring/cronring/daemon/job"
)

// How far back starts are read, and how many are kept of each job.
const (
	lookBack  = 7 * 24 * time.Hour
	mostOfJob = 60
	maxFacts  = 20_000 // of all jobs
)

// logFiles are the logs of Debian's cron and of cronie, for hosts without a journal.
var logFiles = []string{"/var/log/cron", "/var/log/cron.log", "/var/log/syslog"}

// matches finds the jobs of logged starts.
type matches struct {
	mu    sync.Mutex
	view  *view.View
	jobs  map[loggedAs][]int // numbers in the view
	until time.Time          // up to which the log was read
	runs  job.RunID
}

// loggedAs is what cron logs of a job.
type loggedAs struct{ user, command string }

func newMatches() *matches { return &matches{} }

// index prepares for the jobs of a view.
func (m *matches) index(v *view.View) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.view, m.jobs = v, map[loggedAs][]int{}
	for i := range v.Len() {
		e := v.Entry(i)
		key := loggedAs{e.User(), cronlog.Text(e.Command())}
		m.jobs[key] = append(m.jobs[key], i)
	}
}

// jobOf returns the number of the job that cron started, preferably one that was due.
func (m *matches) jobOf(s cronlog.Start) (i int, ok bool) {
	all := m.jobs[loggedAs{s.User, s.Command}]
	if len(all) == 0 {
		return 0, false
	}
	due := dueOf(s)
	for _, i := range all {
		if m.view.Next(i, due.Add(-1)).Equal(due) {
			return i, true
		}
	}
	return all[0], true
}

// dueOf returns the minute of a start.
func dueOf(s cronlog.Start) time.Time { return s.At.Add(cronlog.Early).Truncate(time.Minute).UTC() }

// facts returns the newest starts of each job as ended runs without an outcome. It ignores starts of
// unknown jobs.
func (m *matches) facts(starts []cronlog.Start) (facts []job.Record) {
	m.mu.Lock()
	defer m.mu.Unlock()
	of := map[int]int{}
	for _, s := range slices.Backward(starts) {
		i, ok := m.jobOf(s)
		if of[i]++; !ok || of[i] > mostOfJob {
			continue
		}
		r := &job.Run{
			Job: m.view.ID(i), Due: dueOf(s), Attempt: 1, Trigger: job.TriggerClock, State: job.RunEnded,
			Decided: s.At.UTC(), Started: s.At.UTC(), Ended: s.At.UTC(), User: s.User,
		}
		facts = append(facts, job.Record{At: r.Ended, Kind: job.Ended, Job: r.Job, Due: r.Due, Run: r},
			job.Record{At: r.Decided, Kind: job.Decided, Decision: job.DecideRun, Job: r.Job, Due: r.Due, Run: r})
	}
	slices.Reverse(facts)
	for i := range facts {
		if facts[i].Kind == job.Decided {
			m.runs++
			facts[i].Run.ID = m.runs
		}
	}
	return facts
}

// readStarts adds what cron has logged since the last time.
func (h *host) readStarts(ctx context.Context, now time.Time) {
	from := h.matched.until
	if from.IsZero() {
		from = now.Add(-lookBack)
	}
	facts := h.matched.facts(h.starts(ctx, from, now))
	h.matched.until = now
	h.AddFacts(facts...)
	h.Forget(maxFacts)
	if len(facts) == 0 {
		return
	}
	h.TapFacts(facts...)
	for i := range facts {
		if !facts[i].At.Before(h.Health().Started) { // clients read earlier starts from the history
			h.Publish(api.Event{Record: &facts[i]})
		}
	}
}

// starts reads the starts of a period from the journal or, if that is empty, from the files of syslog.
// The list is empty for a user who may not read these.
func (h *host) starts(ctx context.Context, from, to time.Time) []cronlog.Start {
	var found []cronlog.Start
	if h.root == "" {
		out, _, _ := run(ctx, append(cronlog.JournalArgs(from, to), "--reverse")...) // newest first: the rest may be cut
		found, _ = cronlog.Parse(strings.NewReader(string(out)), h.spool.Zone, from, to)
	}
	for _, path := range logFiles {
		if len(found) == 0 {
			found = h.startsIn(filepath.Join(h.root, path), from, to)
		}
	}
	found = slices.DeleteFunc(found, func(s cronlog.Start) bool { return s.At.Before(from) })
	slices.SortStableFunc(found, func(a, b cronlog.Start) int { return a.At.Compare(b.At) })
	return found
}

// startsIn reads the end of a log file.
func (h *host) startsIn(path string, from, to time.Time) []cronlog.Start {
	f, err := os.OpenFile(path, os.O_RDONLY|unix.O_NONBLOCK|unix.O_NOCTTY, 0)
	if err != nil {
		return nil
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil || !info.Mode().IsRegular() {
		return nil
	}
	if _, err := f.Seek(max(0, info.Size()-maxAnswer), io.SeekStart); err != nil {
		return nil
	}
	found, _ := cronlog.Parse(io.LimitReader(f, maxAnswer), h.spool.Zone, from, to)
	return found
}
