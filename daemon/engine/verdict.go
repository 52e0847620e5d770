package engine

import "github.com/cronring/cronring/daemon/job"

// judge says what the end of a run means for its occurrence.
func judge(r *run) job.Verdict {
	switch {
	case r.Outcome.OK():
		return job.VerdictOK
	case r.Outcome.Kind == job.Lost:
		return job.VerdictLost
	case wantsRetry(r):
		return job.VerdictRetry
	}
	return job.VerdictFail
}

// wantsRetry reports whether a failed run is attempted again. A lost run is
// not: its process may be alive still.
func wantsRetry(r *run) bool {
	if r.Attempt > r.options.Retry {
		return false
	}
	return r.stop == "" || r.stop == job.OverTime
}
