package engine

import (
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/cronring/cronring/crontab/option"
	"github.com/cronring/cronring/daemon/engine/effect"
	"github.com/cronring/cronring/daemon/engine/event"
	"github.com/cronring/cronring/daemon/engine/live"
	"github.com/cronring/cronring/daemon/job"
)

// A job with on= has an occurrence when one of its events happens. That occurrence passes the same
// gates as a scheduled one. boot (restore.go) and the ends of runs (depend.go) are events, too.
//
// While the daemon drains, it refuses events that users emit, so that none is lost unnoticed. It ignores
// changes of files, because the next daemon finds them: the summary has the time of the newest change
// that started the job. The job's mark does not, because it also advances with its other events.

// leastSuspend is the shortest suspend that on=resume notices. A shorter one cannot be distinguished
// from the time between two readings of the clocks.
const leastSuspend = time.Second

// hostEvents are what happened to the host since the last step.
type hostEvents struct {
	resumed time.Duration // how long the host was suspended
	stepped bool          // its clock was set
}

// startOnHost starts the jobs with on=resume and on=clock.
func (e *Engine) startOnHost() {
	happened := e.onHost
	e.onHost = hostEvents{}
	if happened.resumed > 0 {
		e.startAll(e.jobs.OnResume(), job.HostResumed, job.DetailSuspend(happened.resumed), nil)
	}
	if happened.stepped {
		e.startAll(e.jobs.OnClock(), job.ClockSet, "", nil)
	}
}

func (e *Engine) startAll(slots []int, cause job.Reason, detail job.Detail, env []string) (started []job.Run) {
	if e.draining {
		return nil
	}
	for _, slot := range slots {
		if r := e.startEvent(slot, e.now.Wall, cause, detail, env); r != nil && r.State != job.RunDropped {
			started = append(started, r.Run)
		}
	}
	return started
}

// startEvent admits an occurrence of a job for an event at an instant.
func (e *Engine) startEvent(slot int, at time.Time, cause job.Reason, detail job.Detail, env []string) *live.Run {
	o := e.occurrence(slot, e.freshDue(slot, at), job.TriggerEvent, cause)
	o.Detail, o.Env = detail, env
	return e.decide(&o)
}

// emitted starts the jobs that list an event in on=.
func (e *Engine) emitted(ev event.Emit) {
	if e.draining {
		e.refuse(effect.Draining, job.RefuseDraining)
		return
	}
	source := option.EventSource{User: ev.User, Name: ev.Name}.String()
	e.record(job.Record{Kind: job.Emitted, User: ev.User, Detail: job.Text(ev.Name)})
	env := append([]string{job.EventVariable + "=" + ev.Name, job.EventUser + "=" + ev.User}, ev.Env...)
	e.answer(e.startAll(e.jobs.StartedBy(ev.Name, ev.User, ev.Admin), job.EventEmitted, job.DetailEmitted(source, ev.User, ev.By), env), nil)
}

// fileTimeLag is longer than a file's time of change can be behind the clock: the kernel uses the time
// of its last tick.
const fileTimeLag = time.Second

// watchFiles requests that the files of all jobs with on=file: are watched. A job that is new, or did
// not have on=file: before, waits for files that change after its mark.
func (e *Engine) watchFiles() {
	before := e.watched
	e.watched = map[job.Owned]bool{}
	jobs := make([]effect.FileWatch, 0, len(e.jobs.OnFiles()))
	for _, slot := range e.jobs.OnFiles() {
		j := e.job(slot)
		l := e.summary(j.ID, j.User)
		if l.Since.IsZero() {
			l.Since = time.Unix(0, e.marks[slot]).UTC().Add(-fileTimeLag)
			e.setSummary(l)
		}
		owned := job.Owned{Job: j.ID, User: j.User}
		e.watched[owned] = true
		jobs = append(jobs, effect.FileWatch{Job: owned, Patterns: j.Options.Triggers.Files, Since: e.now.Past(l.Since)})
	}
	for _, owned := range slices.SortedFunc(maps.Keys(before), job.Owned.Compare) {
		if l := e.summaries[owned]; !e.watched[owned] {
			l.Since = time.Time{}
			e.setSummary(l)
		}
	}
	if len(before)+len(jobs) > 0 {
		e.emit(effect.WatchFiles{Jobs: jobs})
	}
}

// filesArrived starts a job for files.
func (e *Engine) filesArrived(ev event.Files) {
	slot, ok := e.jobs.Find(ev.Job.Job)
	if !ok || e.draining || e.jobs.Entry(slot).User() != ev.Job.User || !slices.Contains(e.jobs.OnFiles(), slot) {
		return
	}
	at := e.now.Past(ev.Newest.UTC()) // it may be of a file system with another clock
	l := e.summary(ev.Job.Job, ev.Job.User)
	if l.Since = e.now.Past(l.Since); at.After(l.Since) {
		l.Since = at
	}
	e.setSummary(l)
	e.startEvent(slot, at, job.FilesArrived, job.DetailFiles(ev.Paths, ev.More), []string{job.PathsVariable + "=" + strings.Join(ev.Paths, "\n")})
}
