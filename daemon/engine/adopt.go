package engine

import (
	"github.com/cronring/cronring/crontab/option"
	"github.com/cronring/cronring/daemon/job"
)

// adopt continues a run whose process survived the previous daemon. Its time limit counts
// from the start of the process. If a person stopped the run, it is killed when the grace
// of that stop is over. If it was stopped for another reason, it gets its whole grace
// again. If the run has no process yet, the caller that adopted it is about to start it.
func (e *Engine) adopt(old job.Run, a Adopted) {
	r := &run{Run: old, recorded: &old, gate: gateOpen, options: option.DefaultOptions(), stop: a.Stop}
	if slot, ok := e.jobs.Find(old.Job); ok && isOf(r, e.jobs.Entry(slot).User()) {
		r.options, r.zone = e.jobs.Options(slot), e.jobs.Entry(slot).Zone().Location()
	}
	if r.stop == "" && old.Stop != nil {
		r.stop = job.StopAsked // the daemon ended before it could include the reason in the hand-over
	}
	e.add(r)
	e.occupy(r)
	if a.PID == 0 && old.State == job.RunDecided {
		return
	}
	if a.Up == 0 { // not known: the stored start is a close approximation
		a.Up = e.now.Up
		if !old.Started.IsZero() {
			a.Up = e.now.UpAt(old.Started)
		}
	}
	unsaid := old.State != job.RunRunning // the daemon ended before it recorded the process
	if unsaid {
		r.State, r.PID = job.RunRunning, a.PID
		e.stalled.leave(r)
		r.Run.Started = e.now.Wall.Add(a.Up - e.now.Up)
		e.recordRun(job.Started, "", r, "")
	}
	e.watchRun(r, a.Up)
	switch {
	case r.stop != "" && unsaid: // and before it sent the signal
		e.press(r)
	case r.stop == job.StopAsked && old.Stop != nil:
		grace := r.grace()
		e.killAt(r, min(e.now.UpAt(old.Stop.At.Add(grace)), e.now.In(grace))) // the clock may have been set
	case r.stop != "":
		e.killLater(r)
	case r.options.Timeout > 0:
		e.timers.add(timer{at: job.Sum(a.Up, r.options.Timeout), run: r.ID, kind: timeout})
	}
}

// Stopping returns the runs that were signalled and have not ended, with the reason. A
// daemon that takes over needs it to continue the stops.
func (e *Engine) Stopping() map[job.RunID]job.Reason {
	stopping := map[job.RunID]job.Reason{}
	for _, r := range e.live {
		if r.stop != "" {
			stopping[r.ID] = r.stop
		}
	}
	return stopping
}
