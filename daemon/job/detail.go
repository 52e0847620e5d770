package job

import (
	"slices"
	"strconv"
	"strings"
	"time"
)

// This file has the details that are not the outcome of a run: first the words of each code, then the functions
// that make the facts. The engine passes names, numbers and times to these functions. The history stores the
// facts, and their words are made when somebody reads them. testdata/details.golden lists both.
//
// Histories have these facts: a code keeps the meaning and the order of its arguments. A new argument comes last,
// and its absence must have words, too.

// details has the words of the codes of facts.
var details = map[string]func(a arguments) string{
	"text":  func(a arguments) string { return a.text(0) },
	"list":  func(a arguments) string { return strings.Join(a.texts, "; ") },
	"names": func(a arguments) string { return joinNames(a.texts) },

	"names-and-others": func(a arguments) string { return joinNames(a.texts) + " and others" },

	// Requests.
	"because":      func(a arguments) string { return a.text(0) + ": " + a.text(1) },
	"by-user":      func(a arguments) string { return "by " + a.text(0) },
	"as-run":       func(a arguments) string { return "as run " + a.text(0) + ", by " + a.text(1) },
	"reprocess":    func(a arguments) string { return "--reprocess=" + a.text(0) },
	"emitted":      func(a arguments) string { return a.text(0) + ", by " + a.text(1) },
	"acknowledged": func(a arguments) string { return "run " + a.text(0) + ", by " + a.text(1) },
	"stop": func(a arguments) string {
		text := "by " + a.text(0)
		if a.text(1) != "" {
			text += ": " + a.text(1)
		}
		if a.text(2) != "" {
			text += ", KILL after " + a.text(2)
		}
		return text
	},

	// Pauses that the daemon begins or ends.
	"pause-end":       func(a arguments) string { return "the pause was until " + a.time(0) },
	"breaker":         func(a arguments) string { return "breaker=, " + failures(a.text(0)) },
	"failed-for-good": func(a arguments) string { return "run " + a.text(0) + " failed for good: " + a.text(1) },

	// The host and the ring.
	"version":        func(a arguments) string { return "version " + a.text(0) },
	"being-replaced": func(arguments) string { return "the daemon is about to be replaced" },
	"suspend":        func(a arguments) string { return "after " + a.text(0) },
	"host":           func(a arguments) string { return "this is " + a.text(0) },
	"need":           func(a arguments) string { return "need= requires " + a.text(0) + ":" + a.text(1) },
	"avoid":          func(a arguments) string { return "avoid= names " + a.text(0) + ":" + a.text(1) },
	"from-host":      func(a arguments) string { return "from " + a.text(0) },
	"ran-too":        func(a arguments) string { return "ran on " + a.text(0) + " too, as run " + a.text(1) },
	"crontabs":       func(a arguments) string { return a.text(0) + " jobs from " + a.text(1) + " crontabs" },
	"clock-set":      func(a arguments) string { return "the clock was set " + a.text(0) + " by " + a.text(1) },
	"awaits-older": func(arguments) string {
		return "the voters have not answered the claim of an older occurrence"
	},
	"few-members": func(a arguments) string {
		return "the number of members that this one sees is " + a.text(0) + ", but quorum=" + a.text(1)
	},
	"no-agreement": func(a arguments) string {
		return a.text(0) + " does not agree yet: the occurrence is not due by its clock, or the two members do not see each other"
	},
	"files": func(a arguments) string {
		switch path, others := a.text(0), a.text(1); {
		case path == "":
			return others + " files"
		case others == "0":
			return path
		default:
			return path + " and " + others + " more"
		}
	},

	// The conditions of the host.
	"not-below": func(a arguments) string {
		return measured(a) + " is " + a.text(2) + a.text(4) + ", and must be below " + a.text(3) + a.text(4)
	},
	"too-small":    func(a arguments) string { return measured(a) + " is " + a.text(2) + ", and must be " + a.text(3) },
	"not-measured": func(a arguments) string { return measured(a) + " is not known: " + a.text(2) },
	"on-battery":   func(arguments) string { return "the host runs on battery" },
	"unmeasured":   func(arguments) string { return "too many runs of the user wait to be measured" },

	// Times.
	"day":           func(a arguments) string { return "on " + a.text(0) },
	"late":          func(a arguments) string { return a.text(0) + " late" },
	"until":         func(a arguments) string { return "until " + a.time(0) },
	"rule-until":    func(a arguments) string { return a.text(0) + ", until " + a.time(1) },
	"rule-and-run":  func(a arguments) string { return a.text(0) + "; " + a.text(1) },
	"breaker-until": func(a arguments) string { return "until " + a.time(0) + ", after " + failures(a.text(1)) },
	"succeeded":     func(a arguments) string { return "the occurrence of " + a.time(0) + " succeeded" },
	"until-by-rule": func(a arguments) string { return "until " + a.time(0) + ", " + a.text(1) },

	// Other runs and jobs.
	"result":           resultOf,
	"after-result":     func(a arguments) string { return "after " + a.text(0) },
	"after-preemption": func(a arguments) string { return "after it was " + a.text(0) },
	"probe":            func(a arguments) string { return "run " + a.text(0) + " tests whether the job succeeds again" },
	"queued":           func(a arguments) string { return "run " + a.text(0) + " is queued for " + a.time(1) },
	"run":              func(a arguments) string { return "run " + a.text(0) + " (" + a.text(1) + ")" },
	"run-of-user":      func(a arguments) string { return "run " + a.text(0) + " of " + a.text(1) },
	"job-and-run":      func(a arguments) string { return a.text(0) + " (run " + a.text(1) + ")" },
	"for-jobs":         func(a arguments) string { return "for " + a.text(0) },
	"parent": func(a arguments) string {
		return a.text(0) + " " + Verdict(a.text(1)).Words() + " (run " + a.text(2) + ")"
	},
	"running":  func(a arguments) string { return "run " + a.text(0) + " had been running for " + a.text(1) },
	"waits":    waitOf,
	"starting": func(a arguments) string { return "run " + a.text(0) + " is about to start" },

	// Why a backfill stops.
	"without-entry": func(arguments) string { return "the entry was removed from its crontab" },
	"no-schedule":   func(arguments) string { return "the clock names no occurrences of the entry any more" },
	"at-limit":      func(a arguments) string { return "it has reached the limit of " + a.text(0) + " occurrences" },

	// Limits and slots.
	"queue-max": func(a arguments) string { return "queue-max is " + a.text(0) },
	"instances": func(a arguments) string {
		names := a.from(2)
		if active, err := strconv.Atoi(a.text(0)); err == nil && active > len(names) {
			names = append(slices.Clip(names), strconv.Itoa(active-len(names))+" more")
		}
		return a.text(0) + " of " + a.text(1) + ": run " + joinNames(names)
	},
	"unstarted-runs": func(a arguments) string {
		return a.text(0) + " of " + a.text(1) + ", counting waiting runs, the jobs in their after=, and each KiB of their variables; " + a.text(2) + " are of this job"
	},
	"host-slots": func(a arguments) string {
		return a.text(0) + " of " + a.text(1) + " slots of the host are taken, " + a.text(2) + " by " + a.text(3)
	},
	"user-slots": func(a arguments) string {
		return a.text(0) + " of " + a.text(1) + " slots of " + a.text(2) + " are taken" + a.text(3)
	},
	"pool-slots": func(a arguments) string {
		text := "pool " + a.text(0) + ": " + a.text(1) + " of " + a.text(2) + " slots are taken" + a.text(3)
		if needed := a.text(4); needed != "" && needed != "1" {
			text += ", and the run needs " + needed
		}
		return text
	},
	"pool-rate": func(a arguments) string {
		return "pool " + a.text(0) + ": " + a.text(1) + " starts in " + a.text(2) + " are all that its rate allows, the next in " + a.text(3)
	},
	"others-first": func(a arguments) string {
		if pool := a.text(0); pool != "" {
			return "pool " + pool + ": other runs are ahead in the queue"
		}
		return "other runs are ahead in the queue"
	},
	"holders": func(a arguments) string {
		runs := a.from(1)
		switch others := a.text(0); {
		case others != "0" && len(runs) > 0:
			runs = append(slices.Clip(runs), others+" more")
		case others != "0":
			runs = []string{"runs of other users"}
		}
		return " by " + joinNames(runs)
	},
}

func joinNames(names []string) string { return strings.Join(names, ", ") }

func failures(n string) string {
	if n == "1" {
		return "1 failure"
	}
	return n + " failures in a row"
}

// The arguments of facts.

func number[N ~int | ~int64](n N) Detail { return Detail(strconv.FormatInt(int64(n), 10)) }
func instant(t time.Time) Detail         { return Detail(t.Format(time.RFC3339)) }
func seconds(d time.Duration) string     { return d.Round(time.Second).String() }
func length(d time.Duration) Detail      { return Detail(seconds(d)) }

// Details of several things.

// JoinDetails lists details that are clauses. It returns the only one, or "" if there is none.
func JoinDetails(all []Detail) Detail { return several("list", all) }

// JoinNames lists names.
func JoinNames(names []Detail) Detail { return several("names", names) }

// JoinNamesAndOthers lists the first of more names.
func JoinNamesAndOthers(names []Detail) Detail { return fact("names-and-others", names...) }

func several(code string, all []Detail) Detail {
	switch len(all) {
	case 0:
		return ""
	case 1:
		return all[0]
	}
	return fact(code, all...)
}

// Details of requests.

func DetailByUser(user string) Detail          { return fact("by-user", Text(user)) }
func DetailAsRun(id RunID, user string) Detail { return fact("as-run", number(id), Text(user)) }
func DetailReprocess(which Reprocess) Detail   { return fact("reprocess", Text(string(which))) }

// DetailEmitted describes an event, with the user who emitted it if the event is another user's.
func DetailEmitted(source, user, by string) Detail {
	if by == user {
		return Text(source)
	}
	return fact("emitted", Text(source), Text(by))
}

// Detail describes who paused the job, and why: "by ann: moving house".
func (h *Hold) Detail() Detail { return because(DetailByUser(h.By), h.Reason) }

// Detail describes what was acknowledged, by whom and why: "run 5, by ann: known".
func (a *Ack) Detail() Detail {
	return because(fact("acknowledged", number(a.Run), Text(a.By)), Text(a.Reason))
}

// Detail describes who requested the stop, and how: "by ann: HUP, KILL after 5s".
func (s *Stop) Detail() Detail {
	var grace Detail
	if s.Grace > 0 {
		grace = Detail(s.Grace.Round(min(s.Grace, time.Second)).String())
	}
	return fact("stop", s.By, Text(s.Signal), grace)
}

// because adds the reason that a user entered, or nothing if it is "".
func because(d, reason Detail) Detail {
	if reason == "" {
		return d
	}
	return fact("because", d, reason)
}

// Details of pauses that the daemon begins or ends.

func DetailPauseEnd(end time.Time) Detail { return fact("pause-end", instant(end)) }
func DetailBreaker(n int) Detail          { return fact("breaker", number(n)) }

// DetailFailedForGood describes a run that had no further attempt.
func DetailFailedForGood(r *Run) Detail {
	return fact("failed-for-good", number(r.ID), DetailResult(r))
}

// Details of the host and of the ring.

const DetailBeingReplaced Detail = factMark + `["being-replaced"]`

func DetailVersion(version string) Detail  { return fact("version", Text(version)) }
func DetailSuspend(d time.Duration) Detail { return fact("suspend", length(d)) }
func DetailHost(name string) Detail        { return fact("host", Text(name)) }
func DetailNeed(key, value string) Detail  { return fact("need", Text(key), Text(value)) }
func DetailAvoid(key, value string) Detail { return fact("avoid", Text(key), Text(value)) }
func DetailFromHost(name string) Detail    { return fact("from-host", Text(name)) }
func DetailRanToo(host string, id int64) Detail {
	return fact("ran-too", Text(host), number(id))
}

func DetailCrontabs(jobs, crontabs int) Detail {
	return fact("crontabs", number(jobs), number(crontabs))
}

// Reasons why no member of the ring owns an occurrence yet.

const DetailAwaitsOlder Detail = factMark + `["awaits-older"]`

func DetailFewMembers(seen, quorum int) Detail {
	return fact("few-members", number(seen), number(quorum))
}

func DetailNoAgreement(host string) Detail { return fact("no-agreement", Text(host)) }

// DetailClockSet describes how far the clock was set. A negative step set it back.
func DetailClockSet(step time.Duration) Detail {
	var way Detail = "forward"
	if step < 0 {
		way = "back"
	}
	return fact("clock-set", way, length(step.Abs()))
}

// DetailFiles describes files by the first path and the number of further files. others counts the files that
// paths does not list.
func DetailFiles(paths []string, others int) Detail {
	if len(paths) == 0 {
		return fact("files", "", number(others))
	}
	return fact("files", Text(paths[0]), number(others+len(paths)-1))
}

// Details of the conditions of the host. key is the option, and name is what it names: a resource or a path, or "".

const DetailOnBattery Detail = factMark + `["on-battery"]`

// DetailUnmeasured describes conditions that were not measured, because many runs wait for that.
const DetailUnmeasured Detail = factMark + `["unmeasured"]`

// DetailNotBelow describes a measured number that is not below its limit.
func DetailNotBelow(key, name string, n, limit float64, unit string) Detail {
	return fact("not-below", Text(key), Text(name), measure(n), measure(limit), Text(unit))
}

func measure(n float64) Detail { return Detail(strconv.FormatFloat(n, 'g', 4, 64)) }

// DetailTooSmall describes a size, in bytes with a unit, that is less than required.
func DetailTooSmall(key, name, size, required string) Detail {
	return fact("too-small", Text(key), Text(name), Text(size), Text(required))
}

func DetailNotMeasured(key, name string, err error) Detail {
	return fact("not-measured", Text(key), Text(name), Text(err.Error()))
}

// measured names what the first two arguments describe.
func measured(a arguments) string {
	switch key, name := a.text(0), a.text(1); key {
	case "pressure":
		return "pressure of " + name
	case "need-memory":
		return "free memory"
	case "need-disk":
		return "free space in " + name
	default:
		return key
	}
}

// Details of times, which have the zone that they are passed with. A rule is window=, blackout= or a blackout of
// the host.

func DetailDay(day string) Detail          { return fact("day", Text(day)) }
func DetailLate(d time.Duration) Detail    { return fact("late", length(d)) }
func DetailUntil(t time.Time) Detail       { return fact("until", instant(t)) }
func DetailSucceeded(due time.Time) Detail { return fact("succeeded", instant(due)) }

func DetailRuleUntil(rule Detail, t time.Time) Detail { return fact("rule-until", rule, instant(t)) }
func DetailRuleAndRun(rule string, state Detail) Detail {
	return fact("rule-and-run", Text(rule), state)
}

func DetailBreakerUntil(t time.Time, bad int) Detail {
	return fact("breaker-until", instant(t), number(bad))
}

// DetailWaitUntil describes how long an occurrence waits. rule is the rule that makes it wait, or "" for a
// delay.
func DetailWaitUntil(t time.Time, rule string) Detail {
	if rule == "" {
		return DetailUntil(t)
	}
	return fact("until-by-rule", instant(t), Text(rule))
}

// Details of other runs and jobs.

// DetailResult describes how a run ended, as Run.Result does.
func DetailResult(r *Run) Detail {
	var by Detail
	if r.Stop != nil {
		by = r.Stop.By
	}
	n := r.Outcome.Code
	if r.Outcome.Signal != 0 {
		n = r.Outcome.Signal
	}
	return fact("result", Text(string(r.Outcome.Kind)), number(n), Text(r.Outcome.Error), Text(string(r.Reason)), Text(string(r.Verdict)), by)
}

func resultOf(a arguments) string {
	n, _ := strconv.Atoi(a.text(1))
	r := Run{
		State: RunEnded, Outcome: Outcome{Kind: OutcomeKind(a.text(0)), Code: n, Signal: n, Error: a.text(2)},
		Reason: Reason(a.text(3)), Verdict: Verdict(a.text(4)),
	}
	return r.result(a.text(5))
}

func DetailAfterResult(r *Run) Detail     { return fact("after-result", DetailResult(r)) }
func DetailAfterPreemption(r *Run) Detail { return fact("after-preemption", DetailResult(r)) }
func DetailProbe(id RunID) Detail         { return fact("probe", number(id)) }

func DetailQueued(id RunID, due time.Time) Detail {
	return fact("queued", number(id), instant(due))
}

func DetailRun(id RunID, of ID) Detail { return fact("run", number(id), Text(string(of))) }
func DetailRunOfUser(id RunID, user string) Detail {
	return fact("run-of-user", number(id), Text(user))
}

// DetailForJobs describes a wait for jobs. jobs is a result of JoinNames or JoinNamesAndOthers.
func DetailForJobs(jobs Detail) Detail { return fact("for-jobs", jobs) }

// Detail describes how the run ended.
func (p *Parent) Detail() Detail {
	return fact("parent", Text(string(p.Job)), Text(string(p.Verdict)), number(p.Run))
}

// Name returns the job, with the number of the run if there is one.
func (p *Parent) Name() Detail {
	if p.Run == 0 {
		return Text(string(p.Job))
	}
	return fact("job-and-run", Text(string(p.Job)), number(p.Run))
}

// DescribeState describes what a live run waits for, or how long it has been running.
func (r *Run) DescribeState(now time.Time) Detail {
	switch r.State {
	case RunRunning:
		return fact("running", number(r.ID), length(now.Sub(r.Started)))
	case RunWaiting, RunQueued:
		var until Detail
		if !r.NotBefore.IsZero() {
			until = instant(r.NotBefore)
		}
		return fact("waits", number(r.ID), Text(string(r.Reason)), until)
	default:
		return fact("starting", number(r.ID))
	}
}

// waitOf returns what a run waits for: the arguments are the run, the reason and the time at which it continues.
func waitOf(a arguments) string {
	text := "run " + a.text(0) + " waits for "
	switch Reason(a.text(1)) {
	case WaitsForDelay, WaitsForHours:
		return text + "its time at " + a.time(2)
	case WaitsForRetry:
		return text + "its retry at " + a.time(2)
	case WaitsForConditions:
		return text + "the conditions of its entry"
	case WaitsForCheck:
		return text + "the command of if="
	case WaitsForParents:
		return text + "the runs that after= names"
	case WaitsForSlot:
		return text + "a slot"
	case WaitsForClaim:
		return text + "the ring"
	}
	return text + "an earlier one"
}

// Why a backfill stops.
const (
	StopsWithoutEntry Detail = factMark + `["without-entry"]`
	StopsNoSchedule   Detail = factMark + `["no-schedule"]`
)

func StopsAtLimit(most int) Detail { return fact("at-limit", number(most)) }

// Details of limits.

func DetailQueueMax(n int) Detail { return fact("queue-max", number(n)) }

// DetailInstances describes the active runs of a job that has as many as max-instances= allows. first are
// those that it lists.
func DetailInstances(first []RunID, active, most int) Detail {
	args := []Detail{number(active), number(most)}
	for _, id := range first {
		args = append(args, number(id))
	}
	return fact("instances", args...)
}

// DetailUnstartedRuns describes the runs without a process of a user who has too many of them.
func DetailUnstartedRuns(count int, user string, ofJob int) Detail {
	return fact("unstarted-runs", number(count), Text(user), number(ofJob))
}

// Details of slots. holders is a result of SlotHolders.

func DetailHostSlots(taken, size, own int, user string) Detail {
	return fact("host-slots", number(taken), number(size), number(own), Text(user))
}

func DetailUserSlots(taken, size int, user string, holders Detail) Detail {
	return fact("user-slots", number(taken), number(size), Text(user), holders)
}

func DetailPoolSlots(pool string, taken, size int, holders Detail, needed int) Detail {
	return fact("pool-slots", Text(pool), number(taken), number(size), holders, number(needed))
}

// DetailPoolRate describes a pool that has started as many runs as rate= allows.
func DetailPoolRate(pool string, starts int, per, next time.Duration) Detail {
	return fact("pool-rate", Text(pool), number(starts), Detail(per.String()), Detail(next.String()))
}

// DetailOthersFirst describes the wait for a slot. pool is "" for a slot of the host or of a user.
func DetailOthersFirst(pool string) Detail { return fact("others-first", Text(pool)) }

// SlotHolders lists runs that hold slots, and how many others do.
func SlotHolders(runs []Detail, others int) Detail {
	if others <= 0 && len(runs) == 0 {
		return ""
	}
	return fact("holders", append([]Detail{number(max(others, 0))}, runs...)...)
}
