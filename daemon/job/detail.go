package job

import (
	"strconv"
	"time"
)

// This file has the functions that make details which are not the outcome of a run. The engine passes names,
// numbers and times to them. The history stores these facts, and the table in detail_words.go makes the words
// when somebody reads them. testdata/details.golden lists both.
//
// Histories have these facts: a code keeps the meaning and the order of its arguments. A new argument comes last,
// and its absence must have words, too.

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
