package job

import (
	"fmt"
	"strings"
	"time"
)

// This file has the words of all details: of decisions, of runs and of other records. The engine passes
// facts to these functions and composes no text itself. The history stores the texts, and clients show them.

// Details of requests.

func ByUser(user string) string           { return "by " + user }
func AsRun(id RunID, user string) string  { return fmt.Sprintf("as run %d, by %s", id, user) }
func Reprocessing(which Reprocess) string { return "--reprocess=" + string(which) }

// EmittedBy describes an event, with the user who emitted it if the event is another user's.
func EmittedBy(source, user, by string) string {
	if by != user {
		source += ", " + ByUser(by)
	}
	return source
}

// Words returns who paused the job, and why: "by ann: moving house".
func (h *Hold) Words() string { return because(ByUser(h.By), h.Reason) }

// Words returns what was acknowledged, by whom and why: "run 5, by ann: known".
func (a *Ack) Words() string { return because(fmt.Sprintf("run %d, by %s", a.Run, a.By), a.Reason) }

// because adds the reason that a user entered, or nothing if it is "".
func because(text, reason string) string {
	if reason != "" {
		text += ": " + reason
	}
	return text
}

// Details of pauses that the daemon begins or ends.

func PauseWasUntil(end time.Time) string { return "the pause was until " + end.Format(time.RFC3339) }
func BreakerFailures(n int) string       { return fmt.Sprintf("breaker=, %d failures in a row", n) }

func FailedForGood(id RunID, how string) string {
	return fmt.Sprintf("run %d failed for good: %s", id, how)
}

// Details of the host and of the ring.

const BeingReplaced = "the daemon is about to be replaced"

func AfterSuspend(d time.Duration) string  { return "after " + seconds(d) }
func OnHost(name string) string            { return "this is " + name }
func NeedsLabel(key, value string) string  { return fmt.Sprintf("need= asks for %s:%s", key, value) }
func AvoidsLabel(key, value string) string { return fmt.Sprintf("avoid= names %s:%s", key, value) }
func FromHost(name string) string          { return "from " + name }
func RanToo(host string, id int64) string  { return fmt.Sprintf("ran on %s too, as run %d", host, id) }

func CrontabsRead(jobs, crontabs int) string {
	return fmt.Sprintf("%d jobs from %d crontabs", jobs, crontabs)
}

// ClockSetBy describes how far the clock was set. A negative step set it back.
func ClockSetBy(step time.Duration) string {
	way := "forward"
	if step < 0 {
		way = "back"
	}
	return fmt.Sprintf("the clock was set %s by %s", way, seconds(step.Abs()))
}

// FileNames names one file, and how many there are besides it. others is the number of files without a name.
func FileNames(paths []string, others int) string {
	if len(paths) == 0 {
		return fmt.Sprintf("%d files", others)
	}
	if others += len(paths) - 1; others > 0 {
		return fmt.Sprintf("%s and %d more", paths[0], others)
	}
	return paths[0]
}

// Details of times, which are shown in their own zone. A rule is window=, blackout= or a blackout of the host.

func OnDay(day string) string                   { return "on " + day }
func LateBy(d time.Duration) string             { return seconds(d) + " late" }
func Until(t time.Time) string                  { return "until " + t.Format(time.RFC3339) }
func RuleUntil(rule string, t time.Time) string { return rule + ", " + Until(t) }
func RuleAndRun(rule, state string) string      { return rule + "; " + state }

func BreakerUntil(t time.Time, bad int) string {
	return fmt.Sprintf("%s, after %d failures in a row", Until(t), bad)
}

func SucceededFor(due time.Time) string {
	return "the occurrence of " + due.Format(time.RFC3339) + " succeeded"
}

// WaitUntil describes until when an occurrence waits, and because of which rule; "": because of a delay.
func WaitUntil(t time.Time, rule string) string {
	if rule == "" {
		return Until(t)
	}
	return Until(t) + ", " + rule
}

func seconds(d time.Duration) string { return d.Round(time.Second).String() }

// Details of other runs and jobs.

func AfterResult(how string) string     { return "after " + how }
func AfterPreemption(how string) string { return "after it was " + how }
func ProbedBy(id RunID) string          { return fmt.Sprintf("run %d tries whether it works again", id) }

func QueuedFor(id RunID, due time.Time) string {
	return fmt.Sprintf("run %d is queued for %s", id, due.Format(time.RFC3339))
}

func RunOf(id RunID, of ID) string           { return fmt.Sprintf("run %d (%s)", id, of) }
func RunOfUser(id RunID, user string) string { return fmt.Sprintf("run %d of %s", id, user) }
func ForJobs(jobs string) string             { return "for " + jobs }
func List(names []string) string             { return strings.Join(names, ", ") }
func ListAndOthers(names []string) string    { return List(names) + " and others" }

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

// DescribeState describes the state of a run that is in the way.
func (r *Run) DescribeState(now time.Time) string {
	switch r.State {
	case RunRunning:
		return fmt.Sprintf("run %d had been going for %s", r.ID, seconds(now.Sub(r.Started)))
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
		}
		return fmt.Sprintf("run %d waits for an earlier one", r.ID)
	default:
		return fmt.Sprintf("run %d is about to start", r.ID)
	}
}

// Details of limits.

func QueueMax(n int) string { return fmt.Sprintf("queue-max is %d", n) }

// Instances describes the active runs of a job that has as many as max-instances= allows.
func Instances(active []RunID, most int) string {
	const few = 3
	var names []string
	for _, id := range active[:min(few, len(active))] {
		names = append(names, id.String())
	}
	if more := len(active) - few; more > 0 {
		names = append(names, fmt.Sprintf("%d more", more))
	}
	return fmt.Sprintf("%d of %d: run %s", len(active), most, List(names))
}

// UnstartedRuns describes the runs without a process of a user who has too many of them.
func UnstartedRuns(count int, user string, ofJob int) string {
	return fmt.Sprintf("%d of %s, counting waiting runs, the jobs in their after=, and each KiB of their variables; %d are of this job", count, user, ofJob)
}

// Details of slots. takers is a result of Takers.

func HostSlots(taken, size, own int, user string) string {
	return fmt.Sprintf("%d of %d slots of the host are taken, %d by %s", taken, size, own, user)
}

func UserSlots(taken, size int, user, takers string) string {
	return fmt.Sprintf("%d of %d slots of %s are taken%s", taken, size, user, takers)
}

func PoolSlots(pool string, taken, size int, takers string, needed int) string {
	text := fmt.Sprintf("pool %s: %d of %d slots are taken%s", pool, taken, size, takers)
	if needed > 1 {
		text += fmt.Sprintf(", and it asks for %d", needed)
	}
	return text
}

func PoolRate(pool string, starts int, per, next time.Duration) string {
	return fmt.Sprintf("pool %s: %d starts in %s are all that its rate allows, the next in %s", pool, starts, per, next)
}

// OthersFirst describes the wait for a slot of the host, or of a pool if it is not "".
func OthersFirst(pool string) string {
	if pool != "" {
		return "pool " + pool + ": others come first"
	}
	return "others come first"
}

// Takers lists runs that hold slots, and how many others do.
func Takers(runs []string, others int) string {
	switch {
	case others > 0 && len(runs) > 0:
		runs = append(runs, fmt.Sprintf("%d more", others))
	case others > 0:
		runs = []string{"runs of other users"}
	case len(runs) == 0:
		return ""
	}
	return " by " + List(runs)
}
