package job

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// This file has the words of the details that are not the outcome of a run. The engine passes facts to
// these functions and composes no text itself. The history stores the texts, and clients show them.
// Constants have the type string, so that they cannot be used as a Reason or NoticeOn.

// Details of requests.

func DetailByUser(user string) string          { return "by " + user }
func DetailAsRun(id RunID, user string) string { return fmt.Sprintf("as run %d, by %s", id, user) }
func DetailReprocess(which Reprocess) string   { return "--reprocess=" + string(which) }

// DetailEmitted describes an event, with the user who emitted it if the event is another user's.
func DetailEmitted(source, user, by string) string {
	if by != user {
		source += ", " + DetailByUser(by)
	}
	return source
}

// Words returns who paused the job, and why: "by ann: moving house".
func (h *Hold) Words() string { return because(DetailByUser(h.By), h.Reason) }

// Words returns what was acknowledged, by whom and why: "run 5, by ann: known".
func (a *Ack) Words() string { return because(fmt.Sprintf("run %d, by %s", a.Run, a.By), a.Reason) }

// Words returns who requested the stop, and how: "by ann: HUP, KILL after 5s".
func (s *Stop) Words() string {
	text := DetailByUser(s.By)
	if s.Signal != "" {
		text += ": " + s.Signal
	}
	if s.Grace > 0 {
		text += ", KILL after " + s.Grace.Round(min(s.Grace, time.Second)).String()
	}
	return text
}

// because adds the reason that a user entered, or nothing if it is "".
func because(text, reason string) string {
	if reason != "" {
		text += ": " + reason
	}
	return text
}

// Details of pauses that the daemon begins or ends.

func DetailPauseEnd(end time.Time) string { return "the pause was until " + end.Format(time.RFC3339) }
func DetailBreaker(n int) string          { return "breaker=, " + failures(n) }

func failures(n int) string {
	if n == 1 {
		return "1 failure"
	}
	return fmt.Sprintf("%d failures in a row", n)
}

func DetailFailedForGood(id RunID, how string) string {
	return fmt.Sprintf("run %d failed for good: %s", id, how)
}

// Details of the host and of the ring.

const DetailBeingReplaced string = "the daemon is about to be replaced"

func DetailSuspend(d time.Duration) string { return "after " + seconds(d) }
func DetailHost(name string) string        { return "this is " + name }
func DetailNeed(key, value string) string  { return fmt.Sprintf("need= requires %s:%s", key, value) }
func DetailAvoid(key, value string) string { return fmt.Sprintf("avoid= names %s:%s", key, value) }
func DetailFromHost(name string) string    { return "from " + name }
func DetailRanToo(host string, id int64) string {
	return fmt.Sprintf("ran on %s too, as run %d", host, id)
}

func DetailCrontabs(jobs, crontabs int) string {
	return fmt.Sprintf("%d jobs from %d crontabs", jobs, crontabs)
}

// Reasons why no member of the ring owns an occurrence yet.

const DetailAwaitsOlder string = "the voters have not answered the claim of an older occurrence"

func DetailFewMembers(seen, quorum int) string {
	return fmt.Sprintf("the number of members that this one sees is %d, but quorum=%d", seen, quorum)
}

func DetailNoAgreement(host string) string {
	return host + " does not agree yet: the occurrence is not due by its clock, or the two members do not see each other"
}

// DetailClockSet describes how far the clock was set. A negative step set it back.
func DetailClockSet(step time.Duration) string {
	way := "forward"
	if step < 0 {
		way = "back"
	}
	return fmt.Sprintf("the clock was set %s by %s", way, seconds(step.Abs()))
}

// DetailFiles returns the first path and the number of further files. others counts the files that paths
// does not list.
func DetailFiles(paths []string, others int) string {
	if len(paths) == 0 {
		return fmt.Sprintf("%d files", others)
	}
	if others += len(paths) - 1; others > 0 {
		return fmt.Sprintf("%s and %d more", paths[0], others)
	}
	return paths[0]
}

// Details of times. Times are formatted in the zone that they have; callers convert them. A rule is window=,
// blackout= or a blackout of the host.

func DetailDay(day string) string                     { return "on " + day }
func DetailLate(d time.Duration) string               { return seconds(d) + " late" }
func DetailUntil(t time.Time) string                  { return "until " + t.Format(time.RFC3339) }
func DetailRuleUntil(rule string, t time.Time) string { return rule + ", " + DetailUntil(t) }
func DetailRuleAndRun(rule, state string) string      { return rule + "; " + state }

func DetailBreakerUntil(t time.Time, bad int) string {
	return DetailUntil(t) + ", after " + failures(bad)
}

func DetailSucceeded(due time.Time) string {
	return "the occurrence of " + due.Format(time.RFC3339) + " succeeded"
}

// DetailWaitUntil describes how long an occurrence waits. rule is the rule that makes it wait, or "" for a
// delay.
func DetailWaitUntil(t time.Time, rule string) string {
	if rule == "" {
		return DetailUntil(t)
	}
	return DetailUntil(t) + ", " + rule
}

func seconds(d time.Duration) string { return d.Round(time.Second).String() }

// Details of other runs and jobs.

func DetailAfterResult(how string) string     { return "after " + how }
func DetailAfterPreemption(how string) string { return "after it was " + how }
func DetailProbe(id RunID) string {
	return fmt.Sprintf("run %d tests whether the job succeeds again", id)
}

func DetailQueued(id RunID, due time.Time) string {
	return fmt.Sprintf("run %d is queued for %s", id, due.Format(time.RFC3339))
}

func DetailRun(id RunID, of ID) string             { return fmt.Sprintf("run %d (%s)", id, of) }
func DetailRunOfUser(id RunID, user string) string { return fmt.Sprintf("run %d of %s", id, user) }
func DetailForJobs(jobs string) string             { return "for " + jobs }
func JoinNames(names []string) string              { return strings.Join(names, ", ") }
func JoinNamesAndOthers(names []string) string     { return JoinNames(names) + " and others" }

// Words describes how the run ended.
func (p *Parent) Words() string {
	return fmt.Sprintf("%s %s (run %d)", p.Job, p.Verdict.Words(), p.Run)
}

// Name returns the job, with the number of the run if there is one.
func (p *Parent) Name() string {
	if p.Run == 0 {
		return string(p.Job)
	}
	return fmt.Sprintf("%s (run %d)", p.Job, p.Run)
}

// DescribeState describes what a live run waits for, or how long it has been running.
func (r *Run) DescribeState(now time.Time) string {
	switch r.State {
	case RunRunning:
		return fmt.Sprintf("run %d had been running for %s", r.ID, seconds(now.Sub(r.Started)))
	case RunWaiting, RunQueued:
		switch r.WaitsOn() {
		case WaitsOnDelay, WaitsOnHours:
			return fmt.Sprintf("run %d waits for its time at %s", r.ID, r.NotBefore.Format(time.RFC3339))
		case WaitsOnRetry:
			return fmt.Sprintf("run %d waits for its retry at %s", r.ID, r.NotBefore.Format(time.RFC3339))
		case WaitsOnConditions:
			return fmt.Sprintf("run %d waits for the conditions of its entry", r.ID)
		case WaitsOnCheck:
			return fmt.Sprintf("run %d waits for the command of if=", r.ID)
		case WaitsOnParents:
			return fmt.Sprintf("run %d waits for the runs that after= names", r.ID)
		case WaitsOnSlot:
			return fmt.Sprintf("run %d waits for a slot", r.ID)
		case WaitsOnClaim:
			return fmt.Sprintf("run %d waits for the ring", r.ID)
		}
		return fmt.Sprintf("run %d waits for an earlier one", r.ID)
	default:
		return fmt.Sprintf("run %d is about to start", r.ID)
	}
}

// Why a backfill stops.
const (
	StopsWithoutEntry string = "the entry was removed from its crontab"
	StopsNoSchedule   string = "the clock names no occurrences of the entry any more"
)

func StopsAtLimit(most int) string {
	return fmt.Sprintf("it has reached the limit of %d occurrences", most)
}

// Details of limits.

func DetailQueueMax(n int) string { return fmt.Sprintf("queue-max is %d", n) }

// DetailInstances describes the active runs of a job that has as many as max-instances= allows. first are
// those that it lists.
func DetailInstances(first []RunID, active, most int) string {
	var names []string
	for _, id := range first {
		names = append(names, id.String())
	}
	if more := active - len(first); more > 0 {
		names = append(names, fmt.Sprintf("%d more", more))
	}
	return fmt.Sprintf("%d of %d: run %s", active, most, JoinNames(names))
}

// DetailUnstartedRuns describes the runs without a process of a user who has too many of them.
func DetailUnstartedRuns(count int, user string, ofJob int) string {
	return fmt.Sprintf("%d of %s, counting waiting runs, the jobs in their after=, and each KiB of their variables; %d are of this job", count, user, ofJob)
}

// Details of slots. holders is a result of SlotHolders.

func DetailHostSlots(taken, size, own int, user string) string {
	return fmt.Sprintf("%d of %d slots of the host are taken, %d by %s", taken, size, own, user)
}

func DetailUserSlots(taken, size int, user, holders string) string {
	return fmt.Sprintf("%d of %d slots of %s are taken%s", taken, size, user, holders)
}

func DetailPoolSlots(pool string, taken, size int, holders string, needed int) string {
	text := fmt.Sprintf("pool %s: %d of %d slots are taken%s", pool, taken, size, holders)
	if needed > 1 {
		text += fmt.Sprintf(", and the run needs %d", needed)
	}
	return text
}

func DetailPoolRate(pool string, starts int, per, next time.Duration) string {
	return fmt.Sprintf("pool %s: %d starts in %s are all that its rate allows, the next in %s", pool, starts, per, next)
}

// DetailOthersFirst describes the wait for a slot. pool is "" for a slot of the host or of a user.
func DetailOthersFirst(pool string) string {
	if pool != "" {
		return "pool " + pool + ": other runs are ahead in the queue"
	}
	return "other runs are ahead in the queue"
}

// SlotHolders lists runs that hold slots, and how many others do.
func SlotHolders(runs []string, others int) string {
	switch {
	case others > 0 && len(runs) > 0:
		runs = append(slices.Clip(runs), fmt.Sprintf("%d more", others))
	case others > 0:
		runs = []string{"runs of other users"}
	case len(runs) == 0:
		return ""
	}
	return " by " + JoinNames(runs)
}
