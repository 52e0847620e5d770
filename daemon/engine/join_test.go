package engine

import (
	"testing"

	"github.com/cronring/cronring/crontab/option"
	"github.com/cronring/cronring/daemon/job"
)

// TestJoinsAsAirflowsTriggerRules compares the joins with Airflow 3.1
// (trigger_rule_dep.py, _evaluate_direct_relatives): a rule that can no longer hold makes
// a task upstream_failed, which is failed here, or skipped.
func TestJoinsAsAirflowsTriggerRules(t *testing.T) {
	const (
		ok, fail, up, skip = job.VerdictOK, job.VerdictFail, job.VerdictUpstream, job.VerdictSkip
		not                = job.Verdict("")
	)
	type ends []job.Verdict
	for _, c := range []struct {
		join option.Join
		ends ends
		want chance
	}{
		{option.JoinAllSuccess, ends{ok, ok}, holds},
		{option.JoinAllSuccess, ends{ok, not}, open},
		{option.JoinAllSuccess, ends{fail, not}, failed},
		{option.JoinAllSuccess, ends{up, not}, failed},
		{option.JoinAllSuccess, ends{skip, not}, skipped},
		{option.JoinAllSuccess, ends{skip, fail}, failed},

		{option.JoinAllFailed, ends{fail, up}, holds},
		{option.JoinAllFailed, ends{fail, not}, open},
		{option.JoinAllFailed, ends{ok, not}, skipped},
		{option.JoinAllFailed, ends{skip, fail}, skipped},

		{option.JoinAllDone, ends{ok, fail, up, skip}, holds},
		{option.JoinAllDone, ends{ok, not}, open},

		{option.JoinAllDoneMinOneSuccess, ends{ok, fail, up}, holds},
		{option.JoinAllDoneMinOneSuccess, ends{ok, not}, open},
		{option.JoinAllDoneMinOneSuccess, ends{fail, up}, failed},
		{option.JoinAllDoneMinOneSuccess, ends{fail, not}, open},
		{option.JoinAllDoneMinOneSuccess, ends{ok, skip}, skipped},

		{option.JoinAllSkipped, ends{skip, skip}, holds},
		{option.JoinAllSkipped, ends{skip, not}, open},
		{option.JoinAllSkipped, ends{ok, not}, skipped},
		{option.JoinAllSkipped, ends{fail, not}, skipped},

		{option.JoinOneFailed, ends{fail, not}, holds},
		{option.JoinOneFailed, ends{up, not}, holds},
		{option.JoinOneFailed, ends{ok, not}, open},
		{option.JoinOneFailed, ends{ok, skip}, skipped},

		{option.JoinOneSuccess, ends{ok, not}, holds},
		{option.JoinOneSuccess, ends{fail, not}, open},
		{option.JoinOneSuccess, ends{skip, skip}, skipped},
		{option.JoinOneSuccess, ends{skip, fail}, failed},
		{option.JoinOneSuccess, ends{up, fail}, failed},

		{option.JoinOneDone, ends{fail, not}, holds},
		{option.JoinOneDone, ends{ok, not}, holds},
		{option.JoinOneDone, ends{skip, not}, open},
		{option.JoinOneDone, ends{skip, up}, skipped},

		{option.JoinNoneFailed, ends{ok, skip}, holds},
		{option.JoinNoneFailed, ends{skip, skip}, holds},
		{option.JoinNoneFailed, ends{ok, not}, open},
		{option.JoinNoneFailed, ends{fail, not}, failed},
		{option.JoinNoneFailed, ends{up, not}, failed},

		{option.JoinNoneFailedMinOneSuccess, ends{ok, skip}, holds},
		{option.JoinNoneFailedMinOneSuccess, ends{skip, skip}, skipped},
		{option.JoinNoneFailedMinOneSuccess, ends{ok, not}, open},
		{option.JoinNoneFailedMinOneSuccess, ends{fail, not}, failed},

		{option.JoinNoneSkipped, ends{ok, fail, up}, holds},
		{option.JoinNoneSkipped, ends{ok, not}, open},
		{option.JoinNoneSkipped, ends{skip, not}, skipped},

		{option.JoinAlways, ends{not, not}, holds},
	} {
		count := tally{edges: len(c.ends)}
		for _, v := range c.ends {
			count.count(v, option.OutcomeOK, 1)
		}
		if got := chanceOf(c.join, count); got != c.want {
			t.Errorf("join %d of %q: got %d, want %d", c.join, c.ends, got, c.want)
		}
	}
}

// TestJoinsByOutcome checks all and any against the outcomes of edges.
func TestJoinsByOutcome(t *testing.T) {
	type end struct {
		asked   option.Outcomes
		verdict job.Verdict
	}
	for _, c := range []struct {
		name string
		join option.Join
		ends []end
		want chance
	}{
		{"each as asked", option.JoinAll, []end{{option.OutcomeOK, job.VerdictOK}, {option.OutcomeFail, job.VerdictDead}}, holds},
		{"done is any", option.JoinAll, []end{{option.OutcomeDone, job.VerdictUpstream}, {option.OutcomeDone, job.VerdictSkip}, {option.OutcomeDone, job.VerdictLeft}}, holds},
		{"lost is a failure", option.JoinAll, []end{{option.OutcomeFail, job.VerdictLost}, {option.OutcomeLost, job.VerdictLost}}, holds},
		{"what is left is none", option.JoinAll, []end{{option.OutcomeFail, job.VerdictLeft}, {option.OutcomeOK, ""}}, skipped},
		{"a retry is no end", option.JoinAll, []end{{option.OutcomeFail, job.VerdictRetry}}, open},
		{"one failed that should not", option.JoinAll, []end{{option.OutcomeOK, job.VerdictFail}, {option.OutcomeOK, ""}}, failed},
		{"one should have failed, and one did", option.JoinAll, []end{{option.OutcomeFail, job.VerdictOK}, {option.OutcomeFail, job.VerdictFail}}, skipped},
		{"fail is not dead", option.JoinAll, []end{{option.OutcomeDead, job.VerdictFail}, {option.OutcomeOK, ""}}, failed},
		{"any of them", option.JoinAny, []end{{option.OutcomeOK, job.VerdictFail}, {option.OutcomeFail, job.VerdictLost}, {option.OutcomeOK, ""}}, holds},
		{"any, yet", option.JoinAny, []end{{option.OutcomeOK, job.VerdictFail}, {option.OutcomeOK, ""}}, open},
		{"any, no more", option.JoinAny, []end{{option.OutcomeOK, job.VerdictFail}, {option.OutcomeOK, job.VerdictSkip}}, failed},
		{"any, and none failed", option.JoinAny, []end{{option.OutcomeOK, job.VerdictSkip}, {option.OutcomeFail, job.VerdictOK}}, skipped},
	} {
		count := tally{edges: len(c.ends)}
		for _, e := range c.ends {
			count.count(e.verdict, e.asked, 1)
		}
		if got := chanceOf(c.join, count); got != c.want {
			t.Errorf("%s: got %d, want %d", c.name, got, c.want)
		}
	}
}
