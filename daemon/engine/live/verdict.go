package live

import (
	"slices"
	"time"

	"github.com/cronring/cronring/crontab/option"
	"github.com/cronring/cronring/daemon/job"
)

// Probes reports whether a run began after the hold of a breaker was over. A run that was
// already waiting before that becomes a probe only when it starts.
func (r *Run) Probes(open time.Time) bool {
	began := r.Run.Started
	switch {
	case open.IsZero():
		return false
	case r.State == job.RunQueued, r.State == job.RunWaiting, r.State == job.RunDropped:
		began = r.Decided
	case r.State == job.RunDecided: // being started now
		return true
	case began.IsZero(): // it could not be started
		began = r.Run.Ended
	}
	return !began.Before(open)
}

// CountsAsFailure reports whether a failure is the job's own. It is not if a person stopped or
// dropped the run, or requested it, unless it was the breaker's probe.
func (r *Run) CountsAsFailure(open time.Time) bool {
	switch {
	case r.StopReason == job.StopAsked, r.StopReason == job.DaemonStopped:
		return false
	case r.State == job.RunDropped && r.Verdict != job.VerdictUpstream:
		return r.Reason.FailsDropped(r.Attempt)
	}
	return !r.Requested() || r.Probes(open)
}

// Judge returns the verdict on a run that ended. If a run was stopped, its verdict
// depends on the reason of the stop, not on the exit status: many programs exit with 0 on
// TERM with half of their work done.
func Judge(r *Run) job.Verdict {
	o := r.Options
	switch r.StopReason {
	case job.StopAsked, job.DaemonStopped: // intended: no retry, no dead letter, no notification
		return job.VerdictFail
	case job.Replaced: // the newer run does its work
		return job.VerdictSkip
	}
	switch {
	case r.WasPreempted():
		return job.VerdictRetry
	case exitedWith(r.Outcome, o.OK):
		return job.VerdictOK
	case exitedWith(r.Outcome, o.SkipCodes):
		return job.VerdictSkip
	case r.Refused:
		return job.VerdictFail
	case r.Reruns(), r.Attempt-r.Lost <= o.Retry && wantsRetry(o, r.Outcome) && RetriesInTime(o, &r.Run):
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

// WasPreempted reports whether a run ended because another run needed its slots.
func (r *Run) WasPreempted() bool {
	kind := r.Outcome.Kind
	return r.StopReason == job.Preempted && (kind == job.Exited || kind == job.Signalled) && !r.Refused
}

// Reruns reports whether if-lost=rerun starts a run again whose process vanished.
func (r *Run) Reruns() bool {
	return r.Outcome.Kind == job.Lost && r.Options.IfLost == option.LostReruns && r.Lost < job.MaxReruns
}

// RetriesInTime reports whether the next attempt after a failed run would begin within retry-for=.
func RetriesInTime(o *option.Options, r *job.Run) bool {
	next := r.Ended.Add(Backoff(o, r.Invocation, r.Attempt-r.Lost))
	return o.RetryFor == 0 || !next.After(FirstBegan(r).Add(o.RetryFor))
}

// FirstBegan returns when the first attempt began, or was decided if it did not begin.
func FirstBegan(r *job.Run) time.Time {
	switch {
	case !r.First.IsZero():
		return r.First
	case !r.Started.IsZero():
		return r.Started
	}
	return r.Decided
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

// JudgeDropped returns the verdict on a run that will never start. If a gate set a
// verdict, it is that one. If a further attempt is dropped, its occurrence has failed,
// unless another run did its work; on-exhausted=dead then makes it a dead letter, unless
// a person wanted it dropped.
func JudgeDropped(r *Run) job.Verdict {
	switch {
	case r.Verdict != "" || r.Attempt == 1:
		return r.Verdict
	case r.Reason.IsDone():
		return job.VerdictSkip
	case r.Options.Exhausted == option.ExhaustedDead && r.Reason.FailsDropped(r.Attempt):
		return job.VerdictDead
	}
	return job.VerdictFail
}
