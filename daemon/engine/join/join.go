// Package join owns the state of the parents that a run waits for, and whether their ends
// let it start: when=.
package join

import (
	"github.com/cronring/cronring/crontab/option"
	"github.com/cronring/cronring/daemon/job"
)

// tally counts the outcomes of a run's parents so far.
type tally struct {
	edges    int
	ended    int // of them
	ok       int
	failed   int // in their own run
	upstream int // not run because of their own parents
	skipped  int
	holding  int // ended with an outcome that the edge accepts
	against  int // failed, and the edge does not accept that
}

// count adds n parents that ended with a verdict.
func (t *tally) count(v job.Verdict, asked option.Outcomes, n int) {
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
	case asked&OutcomesOf(v) != 0:
		t.holding += n
	case v.Bad():
		t.against += n
	}
}

// OutcomesOf returns the outcomes that match a verdict. A lost run under if-lost=leave is
// lost, but has not failed.
func OutcomesOf(v job.Verdict) option.Outcomes {
	switch v {
	case job.VerdictOK:
		return option.OutcomeOK
	case job.VerdictFail, job.VerdictUpstream:
		return option.OutcomeFail
	case job.VerdictDead:
		return option.OutcomeFail | option.OutcomeDead
	case job.VerdictLost:
		return option.OutcomeFail | option.OutcomeLost
	case job.VerdictLeft:
		return option.OutcomeLost
	case job.VerdictSkip:
		return option.OutcomeSkip
	}
	return 0
}

// Chance is the result of applying a join to a tally.
type Chance uint8

const (
	Open    Chance = iota // undecided: parents that have not ended decide
	Holds                 // the run may start
	Failed                // it cannot hold, because a parent failed
	Skipped               // it cannot hold, although no parent failed
)

// chanceOf reports whether a join holds, or still can. Joins named like Airflow's trigger
// rules behave like them: where Airflow marks a task upstream_failed or skipped, the
// result is failed or skipped. A parent that was lost under if-lost=leave has ended, but
// counts neither as success nor as failure.
func chanceOf(join option.Join, t tally) Chance {
	var (
		over   = t.ended == t.edges
		bad    = t.failed + t.upstream
		ifThen = func(holding bool) Chance {
			switch {
			case holding:
				return Holds
			case over:
				return Skipped
			}
			return Open
		}
	)
	switch join {
	case option.JoinAll:
		switch {
		case t.holding == t.ended:
			return ifThen(over)
		case t.against > 0:
			return Failed
		}
		return Skipped
	case option.JoinAny:
		if t.holding == 0 && over && t.against > 0 {
			return Failed
		}
		return ifThen(t.holding > 0)
	case option.JoinAllSuccess:
		switch {
		case bad > 0:
			return Failed
		case t.ended > t.ok:
			return Skipped
		}
		return ifThen(over)
	case option.JoinNoneFailed:
		if bad > 0 {
			return Failed
		}
		return ifThen(over)
	case option.JoinNoneFailedMinOneSuccess:
		if bad > 0 {
			return Failed
		}
		return ifThen(over && t.ok > 0)
	case option.JoinAllFailed:
		if t.ended > bad {
			return Skipped
		}
		return ifThen(over)
	case option.JoinAllSkipped:
		if t.ended > t.skipped {
			return Skipped
		}
		return ifThen(over)
	case option.JoinNoneSkipped:
		if t.skipped > 0 {
			return Skipped
		}
		return ifThen(over)
	case option.JoinAllDone:
		return ifThen(over)
	case option.JoinAllDoneMinOneSuccess: // in Airflow a skipped parent is not done
		switch {
		case t.skipped > 0:
			return Skipped
		case over && t.ok == 0 && bad > 0:
			return Failed
		}
		return ifThen(over && t.ok > 0)
	case option.JoinOneSuccess:
		if over && t.ok == 0 && bad > 0 {
			return Failed
		}
		return ifThen(t.ok > 0)
	case option.JoinOneFailed:
		return ifThen(bad > 0)
	case option.JoinOneDone: // a parent that was not run because of its own parents is not done
		return ifThen(t.ok+t.failed > 0)
	}
	return Holds // JoinAlways
}
