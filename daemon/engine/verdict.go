package engine

import (
	"slices"

	"github.com/cronring/cronring/crontab/option"
	"github.com/cronring/cronring/daemon/job"
)

// judge returns the verdict on a run that ended. If a run was stopped, its verdict
// depends on the reason of the stop, not on the exit status: many programs exit with 0 on
// TERM with half of their work done.
func judge(r *run) job.Verdict {
	o := r.options
	switch r.stop {
	case job.StopAsked, job.DaemonStopped: // intended: no retry, no dead letter, no notification
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
	case r.Outcome.Kind == job.Lost && o.IfLost == option.LostStays:
		return job.VerdictLeft
	case r.Outcome.Kind == job.Lost:
		return job.VerdictLost
	case o.Exhausted == option.ExhaustedDead:
		return job.VerdictDead
	}
	return job.VerdictFail
}

// reruns reports whether if-lost=rerun starts a run again whose process vanished.
func (r *run) reruns() bool {
	return r.Outcome.Kind == job.Lost && r.options.IfLost == option.LostReruns && r.Lost < job.MaxReruns
}

func exitedWith(o job.Outcome, codes []uint8) bool {
	return o.Kind == job.Exited && o.Code >= 0 && o.Code <= 255 && slices.Contains(codes, uint8(o.Code))
}

// wantsRetry reports whether retry-on= and no-retry-on= allow a retry of a failure. A
// lost run is not retried unless retry-on= contains lost, because its process may still
// be running.
func wantsRetry(o *option.Options, end job.Outcome) bool {
	if o.RetryOn == nil {
		return end.Kind != job.Lost && !among(o.NoRetryOn, end)
	}
	return among(o.RetryOn, end) && !among(o.NoRetryOn, end)
}

// among reports whether a set of failures contains a failure. Runs that a signal ended,
// or that could not be started, match only a set that contains any failure.
func among(set *option.Failures, end job.Outcome) bool {
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

// judgeDropped returns the verdict on a run that will never start. If a gate set a
// verdict, it is that one. If a further attempt is dropped, its occurrence has failed;
// on-exhausted=dead then makes it a dead letter, unless a person wanted it dropped.
func judgeDropped(r *run) job.Verdict {
	switch {
	case r.Verdict != "" || r.Attempt == 1:
		return r.Verdict
	case r.Reason == job.Replaced, r.isElsewhere():
		return job.VerdictSkip
	case r.options.Exhausted == option.ExhaustedDead && isMissed(r.Reason):
		return job.VerdictDead
	}
	return job.VerdictFail
}
