package join

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
		want Chance
	}{
		{option.JoinAllSuccess, ends{ok, ok}, Holds},
		{option.JoinAllSuccess, ends{ok, not}, Open},
		{option.JoinAllSuccess, ends{fail, not}, Failed},
		{option.JoinAllSuccess, ends{up, not}, Failed},
		{option.JoinAllSuccess, ends{skip, not}, Skipped},
		{option.JoinAllSuccess, ends{skip, fail}, Failed},

		{option.JoinAllFailed, ends{fail, up}, Holds},
		{option.JoinAllFailed, ends{fail, not}, Open},
		{option.JoinAllFailed, ends{ok, not}, Skipped},
		{option.JoinAllFailed, ends{skip, fail}, Skipped},

		{option.JoinAllDone, ends{ok, fail, up, skip}, Holds},
		{option.JoinAllDone, ends{ok, not}, Open},

		{option.JoinAllDoneMinOneSuccess, ends{ok, fail, up}, Holds},
		{option.JoinAllDoneMinOneSuccess, ends{ok, not}, Open},
		{option.JoinAllDoneMinOneSuccess, ends{fail, up}, Failed},
		{option.JoinAllDoneMinOneSuccess, ends{fail, not}, Open},
		{option.JoinAllDoneMinOneSuccess, ends{ok, skip}, Skipped},

		{option.JoinAllSkipped, ends{skip, skip}, Holds},
		{option.JoinAllSkipped, ends{skip, not}, Open},
		{option.JoinAllSkipped, ends{ok, not}, Skipped},
		{option.JoinAllSkipped, ends{fail, not}, Skipped},

		{option.JoinOneFailed, ends{fail, not}, Holds},
		{option.JoinOneFailed, ends{up, not}, Holds},
		{option.JoinOneFailed, ends{ok, not}, Open},
		{option.JoinOneFailed, ends{ok, skip}, Skipped},

		{option.JoinOneSuccess, ends{ok, not}, Holds},
		{option.JoinOneSuccess, ends{fail, not}, Open},
		{option.JoinOneSuccess, ends{skip, skip}, Skipped},
		{option.JoinOneSuccess, ends{skip, fail}, Failed},
		{option.JoinOneSuccess, ends{up, fail}, Failed},

		{option.JoinOneDone, ends{fail, not}, Holds},
		{option.JoinOneDone, ends{ok, not}, Holds},
		{option.JoinOneDone, ends{skip, not}, Open},
		{option.JoinOneDone, ends{skip, up}, Skipped},

		{option.JoinNoneFailed, ends{ok, skip}, Holds},
		{option.JoinNoneFailed, ends{skip, skip}, Holds},
		{option.JoinNoneFailed, ends{ok, not}, Open},
		{option.JoinNoneFailed, ends{fail, not}, Failed},
		{option.JoinNoneFailed, ends{up, not}, Failed},

		{option.JoinNoneFailedMinOneSuccess, ends{ok, skip}, Holds},
		{option.JoinNoneFailedMinOneSuccess, ends{skip, skip}, Skipped},
		{option.JoinNoneFailedMinOneSuccess, ends{ok, not}, Open},
		{option.JoinNoneFailedMinOneSuccess, ends{fail, not}, Failed},

		{option.JoinNoneSkipped, ends{ok, fail, up}, Holds},
		{option.JoinNoneSkipped, ends{ok, not}, Open},
		{option.JoinNoneSkipped, ends{skip, not}, Skipped},

		{option.JoinAlways, ends{not, not}, Holds},
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
		want Chance
	}{
		{"each as asked", option.JoinAll, []end{{option.OutcomeOK, job.VerdictOK}, {option.OutcomeFail, job.VerdictDead}}, Holds},
		{"done is any", option.JoinAll, []end{{option.OutcomeDone, job.VerdictUpstream}, {option.OutcomeDone, job.VerdictSkip}, {option.OutcomeDone, job.VerdictLeft}}, Holds},
		{"lost is a failure", option.JoinAll, []end{{option.OutcomeFail, job.VerdictLost}, {option.OutcomeLost, job.VerdictLost}}, Holds},
		{"what is left is none", option.JoinAll, []end{{option.OutcomeFail, job.VerdictLeft}, {option.OutcomeOK, ""}}, Skipped},
		{"a retry is no end", option.JoinAll, []end{{option.OutcomeFail, job.VerdictRetry}}, Open},
		{"one failed that should not", option.JoinAll, []end{{option.OutcomeOK, job.VerdictFail}, {option.OutcomeOK, ""}}, Failed},
		{"one should have failed, and one did", option.JoinAll, []end{{option.OutcomeFail, job.VerdictOK}, {option.OutcomeFail, job.VerdictFail}}, Skipped},
		{"fail is not dead", option.JoinAll, []end{{option.OutcomeDead, job.VerdictFail}, {option.OutcomeOK, ""}}, Failed},
		{"any of them", option.JoinAny, []end{{option.OutcomeOK, job.VerdictFail}, {option.OutcomeFail, job.VerdictLost}, {option.OutcomeOK, ""}}, Holds},
		{"any, yet", option.JoinAny, []end{{option.OutcomeOK, job.VerdictFail}, {option.OutcomeOK, ""}}, Open},
		{"any, no more", option.JoinAny, []end{{option.OutcomeOK, job.VerdictFail}, {option.OutcomeOK, job.VerdictSkip}}, Failed},
		{"any, and none failed", option.JoinAny, []end{{option.OutcomeOK, job.VerdictSkip}, {option.OutcomeFail, job.VerdictOK}}, Skipped},
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
