package engine

import (
	"slices"
	"time"

	"github.com/cronring/cronring/crontab/option"
	"github.com/cronring/cronring/daemon/engine/agenda"
	"github.com/cronring/cronring/daemon/engine/catalog"
	"github.com/cronring/cronring/daemon/engine/effect"
	"github.com/cronring/cronring/daemon/engine/gate"
	"github.com/cronring/cronring/daemon/engine/live"
	"github.com/cronring/cronring/daemon/job"
)

// A notification goes to the channels of notify=, for the events that notify-on= names.
// Lasting trouble is reported once: the summary remembers across restarts which trouble
// was reported and is not over yet. A failure that is retried is not reported, nor is a
// run that a person started.

// notify sends a notification to the channels of an entry.
func (e *Engine) notify(o *option.Options, n job.Notice) {
	n.At, n.Channels, n.Desc, n.Contact = e.now.Wall, o.Notify, o.Desc, o.Contact
	e.emit(effect.Notify{Notice: n})
}

// notifyOf sends a notification about a run: what happened, and an addition to that, or "".
func (e *Engine) notifyOf(r *live.Run, on job.NoticeOn, streak int, what, addition string) {
	n := job.Notice{
		On: on, Job: r.Job, User: r.User, Due: r.Due, Reason: r.Reason, Streak: streak,
		Text: job.NoticeText(r.Job, what, r.DescribeOccurrence(r.Zone), addition),
	}
	run := r.Run
	n.Run = &run
	e.notify(r.Options, n)
}

// notifyFailure sends a notification about an occurrence that failed for good. If
// notify-on= does not name the specific kind (dead or lost), it counts as a plain
// failure.
func (e *Engine) notifyFailure(l *job.Summary, r *live.Run) {
	o := r.Options
	on, word := job.OnFail, option.NoticeFail
	var what string
	switch {
	case r.Verdict == job.VerdictUpstream:
		e.notifyMissedBy(l, o, missedRuns{due: r.Due, reason: r.Reason, zone: r.Zone, run: &r.Run})
		return
	case r.Verdict == job.VerdictDead:
		what = job.NoticeDead(r.DescribeFailure())
		if o.Notifies(option.NoticeDead) {
			on, word = job.OnDead, option.NoticeDead
		}
	case r.Verdict == job.VerdictLost:
		what = job.NoticeLost
		if o.Notifies(option.NoticeLost) {
			on, word = job.OnLost, option.NoticeLost
		}
	case o.Exhausted == option.ExhaustedPause && r.State == job.RunEnded:
		what = job.NoticePaused(r.DescribeFailure())
	default:
		what = job.NoticeFailed(r.DescribeFailure())
	}
	e.ping(r, job.OnFail, what)
	if r.Requested() || !o.Notifies(word) || l.Bad < o.NotifyAfter || l.Notified&job.NotifiedFailure != 0 && !o.Notifies(option.NoticeEach) {
		return
	}
	l.Notified |= job.NotifiedFailure
	addition := ""
	if l.Open.After(e.now.Wall) {
		addition = job.NoticeBreaker(job.FormatTime(l.Open, r.Zone))
	}
	e.notifyOf(r, on, l.Bad, what, addition)
}

// notifySuccess sends notifications about a success, and about the end of the trouble
// before it.
func (e *Engine) notifySuccess(before, now job.Summary, r *live.Run) {
	const lasting = job.NotifiedFailure | job.NotifiedLate | job.NotifiedExpect
	if over := before.Notified &^ now.Notified & lasting; over != 0 && r.Options.Notifies(option.NoticeRecover) {
		e.notifyOf(r, job.OnRecover, before.Bad, job.NoticeRecovered(before.Bad), "")
	}
	if r.Options.Ping == "" && !r.Options.Notifies(option.NoticeSuccess|option.NoticeOdd) {
		return
	}
	what := job.NoticeSucceeded(r.Run.Length())
	if r.Options.Notifies(option.NoticeSuccess) && !r.Requested() {
		e.notifyOf(r, job.OnSuccess, 0, what, "")
	}
	if r.Options.Notifies(option.NoticeOdd) && !r.Requested() { // the daemon compares it with the history
		e.notifyOf(r, job.OnOdd, 0, what, "")
	}
	e.ping(r, job.OnSuccess, what)
}

// notifyStart sends a notification about the start of an occurrence.
func (e *Engine) notifyStart(r *live.Run) {
	if r.Attempt > 1 {
		return
	}
	if r.Options.Notifies(option.NoticeStart) && !r.Requested() {
		e.notifyOf(r, job.OnStart, 0, job.NoticeStarted, "")
	}
	e.ping(r, job.OnStart, job.NoticeStarted)
}

// ping sends the start or the end of an occurrence to the URL of ping=. Manual runs are sent too: a
// service that watches for a success counts them.
func (e *Engine) ping(r *live.Run, on job.NoticeOn, what string) {
	if r.Options.Ping == "" {
		return
	}
	run := r.Run
	e.emit(effect.Notify{Notice: job.Notice{
		At: e.now.Wall, On: on, Job: r.Job, User: r.User, Due: r.Due, Run: &run, Ping: r.Options.Ping,
		Text: job.NoticeText(r.Job, what, r.DescribeOccurrence(r.Zone), ""),
	}})
}

// missedRuns describes occurrences that will not run.
type missedRuns struct {
	first, due time.Time // due is the newest
	count      int
	reason     job.Reason
	detail     job.Detail
	zone       *time.Location
	run        *job.Run // the run that was dropped; nil if none was made
}

// notifyMissed sends a notification about occurrences that will not run. It sends only one
// until the next success.
func (e *Engine) notifyMissed(id job.ID, user string, o *option.Options, m missedRuns) {
	if !o.Notifies(option.NoticeMissed) || !m.reason.IsMissed() {
		return
	}
	l := e.summary(id, user)
	if before := l; e.notifyMissedBy(&l, o, m) && l != before {
		e.setSummary(l)
	}
}

// notifyMissedBy is notifyMissed for a summary that the caller writes. It reports whether it
// sent the notification.
func (e *Engine) notifyMissedBy(l *job.Summary, o *option.Options, m missedRuns) bool {
	if !o.Notifies(option.NoticeMissed) || l.Notified&job.NotifiedMissed != 0 || m.run != nil && m.run.By != "" {
		return false
	}
	l.Notified |= job.NotifiedMissed
	due, why := job.FormatTime(m.due, m.zone), m.reason.With(m.detail)
	text := job.NoticeMissed(l.Job, due, why)
	if m.count > 1 {
		text = job.NoticeMissedSeveral(l.Job, m.count, job.FormatTime(m.first, m.zone), due, why)
	}
	e.notify(o, job.Notice{On: job.OnMissed, Job: l.Job, User: l.User, Due: m.due, Reason: m.reason, Text: text, Streak: l.Bad, Run: m.run})
	return true
}

// watchStart sets a timer that sends a notification if a run does not start within
// max-late= of its due time. If a run that catches up is late already, the notification
// is sent immediately.
func (e *Engine) watchStart(r *live.Run) {
	if r.Options.MaxLate == 0 || r.Attempt > 1 || r.Requested() || r.Trigger == job.TriggerBackfill {
		return
	}
	left := r.Due.Add(r.Options.MaxLate).Sub(e.now.Wall)
	if left <= 0 {
		if streak, notifies := e.noteLate(r); notifies {
			e.notifyOf(r, job.OnLate, streak, job.NoticeBehind(e.now.Wall.Sub(r.Due)), "")
		}
		return
	}
	e.timers.Add(agenda.Timer{At: e.now.In(left), Run: r.ID, Kind: agenda.StartsLate})
}

// watchRun does the same for max-run=. began is when the process started, in time since
// boot.
func (e *Engine) watchRun(r *live.Run, began time.Duration) {
	if r.Options.MaxRun > 0 && !r.Requested() {
		e.timers.Add(agenda.Timer{At: job.Sum(began, r.Options.MaxRun), Run: r.ID, Kind: agenda.RunsLong})
	}
}

// stillLate reports whether any live run of a job is late.
func (e *Engine) stillLate(r *live.Run) bool {
	return slices.ContainsFunc(e.byJob[r.Job], func(x *live.Run) bool {
		long := x.Options.MaxRun > 0 && x.State == job.RunRunning && e.now.Wall.Sub(x.Run.Started) >= x.Options.MaxRun
		return x.User == r.User && !x.Requested() && (long || x.StartedLate(e.now.Wall))
	})
}

// noteLate records in the summary that a run starts late or takes too long, even if the
// entry sends no notifications about that. notifies reports whether to send one: it is sent
// once until a run succeeds on time. streak is the number of failures in a row.
func (e *Engine) noteLate(r *live.Run) (streak int, notifies bool) {
	l := e.summary(r.Job, r.User)
	if l.Notified&job.NotifiedLate != 0 {
		return 0, false
	}
	l.Notified |= job.NotifiedLate
	e.setSummary(l)
	return l.Bad, r.Options.Notifies(option.NoticeLate)
}

// notifyLateStart sends a notification about a run that did not start within max-late=, or
// started later.
func (e *Engine) notifyLateStart(r *live.Run) {
	streak, notifies := e.noteLate(r)
	switch {
	case !notifies:
	case r.Run.Started.IsZero():
		e.notifyOf(r, job.OnLate, streak, job.NoticeNotStarted(r.Options.MaxLate), job.NoticeState(r.DescribeState(e.now.Wall).Words()))
	default:
		e.notifyOf(r, job.OnLate, streak, job.NoticeStartedLate(r.Run.Started.Sub(r.Due)), "")
	}
}

// watch starts the checks of a job that do not belong to a single run: whether the entry
// is held, and the timer for the next success that expect= requires.
func (e *Engine) watch(slot int) {
	j := e.job(slot)
	l := e.summary(j.ID, j.User)
	e.notifyHeld(j, &l)
	if j.Options.Expect == 0 || !j.Options.Enabled || !catalog.IsHere(j.Options, e.node) {
		return
	}
	if l.Success.IsZero() && l.Watched.IsZero() {
		l.Watched = e.now.Wall
		e.setSummary(l)
	}
	e.expect(j.Options, l)
}

// notifyHeld sends a notification when an entry becomes held or degraded, and only one
// until that is over.
func (e *Engine) notifyHeld(j gate.Job, l *job.Summary) {
	o := j.Options
	isHeld := o.Held != "" || o.Degraded != ""
	if !o.Notifies(option.NoticeHeld) || isHeld == (l.Notified&job.NotifiedHeld != 0) {
		return
	}
	l.Notified ^= job.NotifiedHeld
	e.setSummary(*l)
	if !isHeld {
		return
	}
	text := job.NoticeHeld(j.ID, o.Held)
	if o.Held == "" {
		text = job.NoticeDegraded(j.ID, o.Degraded)
	}
	e.notify(o, job.Notice{On: job.OnHeld, Job: j.ID, User: j.User, Reason: job.IsHeld, Text: text})
}

// expect sets the timer for the next success that expect= requires.
func (e *Engine) expect(o *option.Options, l job.Summary) {
	if o.Expect == 0 || l.Notified&job.NotifiedExpect != 0 {
		return
	}
	key, at := job.Owned{Job: l.Job, User: l.User}, e.now.UpAt(expectedBy(o, l))
	if before, waits := e.expected[key]; waits && before <= at {
		return // the earlier timer sets the next one
	}
	e.expected[key] = at
	e.timers.Add(agenda.Timer{At: at, Of: key, Kind: agenda.Expects})
}

// expectedBy returns when the next success is overdue.
func expectedBy(o *option.Options, l job.Summary) time.Time {
	if l.Watched.After(l.Success) {
		return l.Watched.Add(o.Expect)
	}
	return l.Success.Add(o.Expect)
}

// miss handles an expired expect= timer. It sends a notification if the job had no
// success in time. It uses the current job and options, because crontabs may have changed
// since the timer was set.
func (e *Engine) miss(t agenda.Timer) {
	if e.expected[t.Of] != t.At {
		return
	}
	delete(e.expected, t.Of)
	slot, ok := e.jobs.Find(t.Of.Job)
	if !ok || e.jobs.Entry(slot).User() != t.Of.User {
		return
	}
	j := e.job(slot)
	l := e.summary(j.ID, t.Of.User)
	if j.Options.Expect == 0 || !j.Options.Enabled || !catalog.IsHere(j.Options, e.node) {
		return
	}
	if e.now.Wall.Before(expectedBy(j.Options, l)) {
		e.expect(j.Options, l)
		return
	}
	if e.jobs.InRing(slot) && !e.ring.members.Known { // another member may have run it
		t.At = e.now.In(ringPause)
		e.expected[t.Of] = t.At
		e.timers.Add(t)
		return
	}
	l.Notified |= job.NotifiedExpect
	e.setSummary(l)
	if j.Options.Notifies(option.NoticeLate) {
		e.notify(j.Options, job.Notice{
			On: job.OnLate, Job: j.ID, User: j.User, Streak: l.Bad, Text: unseen(j, l),
		})
	}
}

// ringPause is the delay of the check of expect= while the members of the ring are not
// known.
const ringPause = time.Minute

// ranElsewhere notes that another member took an occurrence. That member reports how the
// occurrence ended, so expect= counts from the occurrence's due time here.
func (e *Engine) ranElsewhere(slot int, due time.Time) {
	o := e.jobs.Options(slot)
	if o.Expect == 0 {
		return
	}
	l := e.summary(e.jobs.ID(slot), e.jobs.Entry(slot).User())
	if !due.After(l.Watched) {
		return
	}
	l.Watched, l.Notified = due.UTC(), l.Notified&^job.NotifiedExpect
	e.setSummary(l)
	e.expect(o, l)
}

func unseen(j gate.Job, l job.Summary) string {
	zone := j.Zone
	if l.Success.IsZero() {
		return job.NoticeNoSuccess(j.ID, j.Options.Expect, job.FormatTime(l.Watched, zone))
	}
	return job.NoticeLastSuccess(j.ID, j.Options.Expect, job.FormatTime(l.Success, zone))
}
