package engine

import (
	"github.com/cronring/cronring/crontab"
	"github.com/cronring/cronring/daemon/job"
)

// tally counts how the parents of a run have ended so far.
type tally struct {
	edges    int
	ended    int // of them
	ok       int
	failed   int // in their own run
	upstream int // kept from running by a parent of their own
	skipped  int
	holding  int // ended as the edge asks
	against  int // failed where the edge asks for another end
}

// count adds n parents that ended with a verdict.
func (t *tally) count(v job.Verdict, asked crontab.Outcomes, n int) {
	if !v.Final() {
		return
	}
	t.ended += n
	switch v {
	case job.VerdictOK:
		t.ok += n
	case job.VerdictFail, job.VerdictDead, job.VerdictLost:
		t.failed += n
	case job.VerdictUpstream:
		t.upstream += n
	case job.VerdictSkip:
		t.skipped += n
	}
	switch {
	case asked&outcomesOf(v) != 0:
		t.holding += n
	case v.Bad():
		t.against += n
	}
}

// outcomesOf is the outcomes that an edge may name for a verdict. A run that
// was lost and that if-lost=leave leaves is lost, but has not failed.
func outcomesOf(v job.Verdict) crontab.Outcomes {
	switch v {
	case job.VerdictOK:
		return crontab.OutcomeOK
	case job.VerdictFail, job.VerdictUpstream:
		return crontab.OutcomeFail
	case job.VerdictDead:
		return crontab.OutcomeFail | crontab.OutcomeDead
	case job.VerdictLost:
		return crontab.OutcomeFail | crontab.OutcomeLost
	case job.VerdictLeft:
		return crontab.OutcomeLost
	case job.VerdictSkip:
		return crontab.OutcomeSkip
	}
	return 0
}

// chance is what a join makes of a tally.
type chance uint8

const (
	open    chance = iota // it may hold yet
	holds                 // the run may start
	failed                // it will not hold, as a parent failed
	skipped               // it will not hold, though none failed
)

// chanceOf says whether a join holds, or can. Those with a name of Airflow's
// do as Airflow's trigger rules: what they make of a task that cannot run,
// upstream_failed or skipped, is failed or skipped here. A parent that
// if-lost=leave leaves has ended, and neither well nor badly.
func chanceOf(join crontab.Join, t tally) chance {
	var (
		over   = t.ended == t.edges
		bad    = t.failed + t.upstream
		ifThen = func(holding bool) chance {
			switch {
			case holding:
				return holds
			case over:
				return skipped
			}
			return open
		}
	)
	switch join {
	case crontab.JoinAll:
		switch {
		case t.holding == t.ended:
			return ifThen(over)
		case t.against > 0:
			return failed
		}
		return skipped
	case crontab.JoinAny:
		if t.holding == 0 && over && t.against > 0 {
			return failed
		}
		return ifThen(t.holding > 0)
	case crontab.JoinAllSuccess:
		switch {
		case bad > 0:
			return failed
		case t.ended > t.ok:
			return skipped
		}
		return ifThen(over)
	case crontab.JoinNoneFailed:
		if bad > 0 {
			return failed
		}
		return ifThen(over)
	case crontab.JoinNoneFailedMinOneSuccess:
		if bad > 0 {
			return failed
		}
		return ifThen(over && t.ok > 0)
	case crontab.JoinAllFailed:
		if t.ended > bad {
			return skipped
		}
		return ifThen(over)
	case crontab.JoinAllSkipped:
		if t.ended > t.skipped {
			return skipped
		}
		return ifThen(over)
	case crontab.JoinNoneSkipped:
		if t.skipped > 0 {
			return skipped
		}
		return ifThen(over)
	case crontab.JoinAllDone:
		return ifThen(over)
	case crontab.JoinAllDoneMinOneSuccess: // to Airflow a parent that was skipped is not done
		switch {
		case t.skipped > 0:
			return skipped
		case over && t.ok == 0 && bad > 0:
			return failed
		}
		return ifThen(over && t.ok > 0)
	case crontab.JoinOneSuccess:
		if over && t.ok == 0 && bad > 0 {
			return failed
		}
		return ifThen(t.ok > 0)
	case crontab.JoinOneFailed:
		return ifThen(bad > 0)
	case crontab.JoinOneDone: // one that its own parents kept from running is not done
		return ifThen(t.ok+t.failed > 0)
	}
	return holds // JoinAlways
}
