package engine

import (
	"slices"

	"github.com/cronring/cronring/crontab"
	"github.com/cronring/cronring/daemon/job"
)

// maxReruns is how often if-lost=rerun starts a run again whose process
// vanished with the daemon or the host. A job that takes the host down with it
// would else do so for ever.
const maxReruns = 3

// judge says what the end of a run means for its occurrence. A run that was
// stopped is judged by who stopped it, whatever its exit status: many programs
// end well on TERM with half of their work done.
func judge(r *run) job.Verdict {
	o := r.options
	switch r.stop {
	case job.StopAsked, job.DaemonStopped: // somebody wanted it so: nothing to try again, to park or to tell
		return job.VerdictFail
	case job.Replaced: // the newer run does its work
		return job.VerdictSkip
	}
	switch {
	case exitedWith(r.Outcome, o.OK):
		return job.VerdictOK
	case exitedWith(r.Outcome, o.SkipCodes):
		return job.VerdictSkip
	case r.refused:
		return job.VerdictFail
	case r.reruns(), r.Attempt-r.Lost <= o.Retry && wantsRetry(o, r.Outcome):
		return job.VerdictRetry
	case r.Outcome.Kind == job.Lost && o.IfLost == crontab.LostStays:
		return job.VerdictLeft
	case r.Outcome.Kind == job.Lost:
		return job.VerdictLost
	case o.Exhausted == crontab.ExhaustedDead:
		return job.VerdictDead
	}
	return job.VerdictFail
}

// reruns tells whether if-lost=rerun starts a run again whose process vanished.
func (r *run) reruns() bool {
	return r.Outcome.Kind == job.Lost && r.options.IfLost == crontab.LostReruns && r.Lost < maxReruns
}

func exitedWith(o job.Outcome, codes []uint8) bool {
	return o.Kind == job.Exited && o.Code >= 0 && o.Code <= 255 && slices.Contains(codes, uint8(o.Code))
}

// wantsRetry tells whether retry-on= and no-retry-on= let a failure be tried
// again. A lost run is not, unless retry-on= names it: its process may be
// alive still.
func wantsRetry(o *crontab.Options, end job.Outcome) bool {
	if o.RetryOn == nil {
		return end.Kind != job.Lost && !among(o.NoRetryOn, end)
	}
	return among(o.RetryOn, end) && !among(o.NoRetryOn, end)
}

// among tells whether a set of failures has one. A run that a signal ended or
// that could not be started has no word of its own: it is any failure.
func among(set *crontab.Failures, end job.Outcome) bool {
	switch {
	case set == nil:
		return false
	case end.Kind == job.Lost:
		return set.Lost
	case set.Any, end.Kind == job.TimedOut && set.Timeout:
		return true
	}
	return exitedWith(end, set.Codes)
}

// judgeDropped is the verdict on a run that will never start: its own, if a
// gate gave one. A further attempt leaves its occurrence failed, which is parked
// as one that failed for good unless somebody wanted it dropped.
func judgeDropped(r *run) job.Verdict {
	switch {
	case r.Verdict != "" || r.Attempt == 1:
		return r.Verdict
	case r.Reason == job.Replaced, r.isElsewhere():
		return job.VerdictSkip
	case r.options.Exhausted == crontab.ExhaustedDead && isMissed(r.Reason):
		return job.VerdictDead
	}
	return job.VerdictFail
}
