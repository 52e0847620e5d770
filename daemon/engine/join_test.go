package engine

import (
	"testing"

	"github.com/cronring/cronring/crontab"
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
		join crontab.Join
		ends ends
		want chance
	}{
		{crontab.JoinAllSuccess, ends{ok, ok}, holds},
		{crontab.JoinAllSuccess, ends{ok, not}, open},
		{crontab.JoinAllSuccess, ends{fail, not}, failed},
		{crontab.JoinAllSuccess, ends{up, not}, failed},
		{crontab.JoinAllSuccess, ends{skip, not}, skipped},
		{crontab.JoinAllSuccess, ends{skip, fail}, failed},

		{crontab.JoinAllFailed, ends{fail, up}, holds},
		{crontab.JoinAllFailed, ends{fail, not}, open},
		{crontab.JoinAllFailed, ends{ok, not}, skipped},
		{crontab.JoinAllFailed, ends{skip, fail}, skipped},

		{crontab.JoinAllDone, ends{ok, fail, up, skip}, holds},
		{crontab.JoinAllDone, ends{ok, not}, open},

		{crontab.JoinAllDoneMinOneSuccess, ends{ok, fail, up}, holds},
		{crontab.JoinAllDoneMinOneSuccess, ends{ok, not}, open},
		{crontab.JoinAllDoneMinOneSuccess, ends{fail, up}, failed},
		{crontab.JoinAllDoneMinOneSuccess, ends{fail, not}, open},
		{crontab.JoinAllDoneMinOneSuccess, ends{ok, skip}, skipped},

		{crontab.JoinAllSkipped, ends{skip, skip}, holds},
		{crontab.JoinAllSkipped, ends{skip, not}, open},
		{crontab.JoinAllSkipped, ends{ok, not}, skipped},
		{crontab.JoinAllSkipped, ends{fail, not}, skipped},

		{crontab.JoinOneFailed, ends{fail, not}, holds},
		{crontab.JoinOneFailed, ends{up, not}, holds},
		{crontab.JoinOneFailed, ends{ok, not}, open},
		{crontab.JoinOneFailed, ends{ok, skip}, skipped},

		{crontab.JoinOneSuccess, ends{ok, not}, holds},
		{crontab.JoinOneSuccess, ends{fail, not}, open},
		{crontab.JoinOneSuccess, ends{skip, skip}, skipped},
		{crontab.JoinOneSuccess, ends{skip, fail}, failed},
		{crontab.JoinOneSuccess, ends{up, fail}, failed},

		{crontab.JoinOneDone, ends{fail, not}, holds},
		{crontab.JoinOneDone, ends{ok, not}, holds},
		{crontab.JoinOneDone, ends{skip, not}, open},
		{crontab.JoinOneDone, ends{skip, up}, skipped},

		{crontab.JoinNoneFailed, ends{ok, skip}, holds},
		{crontab.JoinNoneFailed, ends{skip, skip}, holds},
		{crontab.JoinNoneFailed, ends{ok, not}, open},
		{crontab.JoinNoneFailed, ends{fail, not}, failed},
		{crontab.JoinNoneFailed, ends{up, not}, failed},

		{crontab.JoinNoneFailedMinOneSuccess, ends{ok, skip}, holds},
		{crontab.JoinNoneFailedMinOneSuccess, ends{skip, skip}, skipped},
		{crontab.JoinNoneFailedMinOneSuccess, ends{ok, not}, open},
		{crontab.JoinNoneFailedMinOneSuccess, ends{fail, not}, failed},

		{crontab.JoinNoneSkipped, ends{ok, fail, up}, holds},
		{crontab.JoinNoneSkipped, ends{ok, not}, open},
		{crontab.JoinNoneSkipped, ends{skip, not}, skipped},

		{crontab.JoinAlways, ends{not, not}, holds},
	} {
		count := tally{edges: len(c.ends)}
		for _, v := range c.ends {
			count.count(v, crontab.OutcomeOK, 1)
		}
		if got := chanceOf(c.join, count); got != c.want {
			t.Errorf("join %d of %q: got %d, want %d", c.join, c.ends, got, c.want)
		}
	}
}

// TestJoinsByOutcome checks all and any against the outcomes of edges.
func TestJoinsByOutcome(t *testing.T) {
	type end struct {
		asked   crontab.Outcomes
		verdict job.Verdict
	}
	for _, c := range []struct {
		name string
		join crontab.Join
		ends []end
		want chance
	}{
		{"each as asked", crontab.JoinAll, []end{{crontab.OutcomeOK, job.VerdictOK}, {crontab.OutcomeFail, job.VerdictDead}}, holds},
		{"done is any", crontab.JoinAll, []end{{crontab.OutcomeDone, job.VerdictUpstream}, {crontab.OutcomeDone, job.VerdictSkip}, {crontab.OutcomeDone, job.VerdictLeft}}, holds},
		{"lost is a failure", crontab.JoinAll, []end{{crontab.OutcomeFail, job.VerdictLost}, {crontab.OutcomeLost, job.VerdictLost}}, holds},
		{"what is left is none", crontab.JoinAll, []end{{crontab.OutcomeFail, job.VerdictLeft}, {crontab.OutcomeOK, ""}}, skipped},
		{"a retry is no end", crontab.JoinAll, []end{{crontab.OutcomeFail, job.VerdictRetry}}, open},
		{"one failed that should not", crontab.JoinAll, []end{{crontab.OutcomeOK, job.VerdictFail}, {crontab.OutcomeOK, ""}}, failed},
		{"one should have failed, and one did", crontab.JoinAll, []end{{crontab.OutcomeFail, job.VerdictOK}, {crontab.OutcomeFail, job.VerdictFail}}, skipped},
		{"fail is not dead", crontab.JoinAll, []end{{crontab.OutcomeDead, job.VerdictFail}, {crontab.OutcomeOK, ""}}, failed},
		{"any of them", crontab.JoinAny, []end{{crontab.OutcomeOK, job.VerdictFail}, {crontab.OutcomeFail, job.VerdictLost}, {crontab.OutcomeOK, ""}}, holds},
		{"any, yet", crontab.JoinAny, []end{{crontab.OutcomeOK, job.VerdictFail}, {crontab.OutcomeOK, ""}}, open},
		{"any, no more", crontab.JoinAny, []end{{crontab.OutcomeOK, job.VerdictFail}, {crontab.OutcomeOK, job.VerdictSkip}}, failed},
		{"any, and none failed", crontab.JoinAny, []end{{crontab.OutcomeOK, job.VerdictSkip}, {crontab.OutcomeFail, job.VerdictOK}}, skipped},
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
