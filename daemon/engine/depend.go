package engine

import (
	"slices"
	"time"

	"github.com/cronring/cronring/crontab/timetable"
	"github.com/cronring/cronring/daemon/engine/agenda"
	"github.com/cronring/cronring/daemon/engine/catalog"
	"github.com/cronring/cronring/daemon/engine/join"
	"github.com/cronring/cronring/daemon/engine/live"
	"github.com/cronring/cronring/daemon/job"
)

// At its due time, a run waits for the parents that after= names. For each parent it
// considers the newest occurrence that came due after the run's own previous occurrence,
// and waits until that occurrence has ended with all its attempts.
//
// If an occurrence of the parent came due no later than the run and is still live, the
// run waits for it, even if an older occurrence is over. The run does not wait for later
// occurrences, so a parent that runs often cannot delay it forever. An occurrence that is
// due but not decided yet counts too, so the order of entries in a crontab does not
// matter.
//
// The run's own previous occurrence is the previous time of its schedule. This works for
// runs that are caught up late and across changes of the time zone. A @reboot entry has
// no previous time: it waits for what its parents do since the boot. All their live runs
// count, such as runs lost in a crash that start again; if there are none, the next one
// counts. A run that an event or on= starts has the previous run of its job as previous
// occurrence. Manual runs, backfills and further attempts do not wait for parents.

// parents is the gate for after=.
func (e *Engine) parents(r *live.Run) (passes bool) {
	if !r.HasParents() {
		return true
	}
	w := r.Await // if there is one, keep it: a parent may have a newer occurrence by now, which does not belong to this run
	if w == nil {
		w = e.await(r)
	}
	switch chance := w.Chance(r.Options.When); chance {
	case join.Holds:
		if r.WaitsForParents() {
			r.Cause, r.CauseDetail = job.RanAfterParents, w.Ends()
		}
		r.Parents = r.WithParents(w)
		r.Await = nil
		return true
	case join.Open:
		e.waitForParents(r, w)
		return false
	default:
		e.refuseFor(r, w, chance)
		return false
	}
}

// await looks up the state of all parents of a run.
func (e *Engine) await(r *live.Run) *join.Parents {
	parents := e.jobs.Parents(r.Slot)
	w := join.New(parents, e.sinceOf(r))
	for i, p := range parents {
		w.Update(i, e.endAfter(r.KnownParent(p.ID), p, w.Since, r))
	}
	return w
}

// sinceOf returns the due time of the run's own previous occurrence.
func (e *Engine) sinceOf(r *live.Run) time.Time {
	s := e.jobs.Entry(r.Slot).Schedule
	switch {
	case r.Trigger == job.TriggerBoot:
		return r.Due.Add(-1)
	case timetable.IsTimeless(s):
		if r.Previous.IsZero() { // else it was looked up before, and later runs may have ended since then
			r.Previous = e.previousOf(r)
		}
		return r.Previous
	}
	due := r.Due
	if p := r.Options.Period; p != nil && !s.Next(due.Add(-1)).Equal(due) { // found due in between
		due = timetable.Previous(s, due)
	}
	return timetable.Previous(s, due)
}

// previousOf returns the due time of the newest run of a job that came due before run r
// of it; zero: there is none.
func (e *Engine) previousOf(r *live.Run) (due time.Time) {
	if l := e.summary(r.Job, r.User); l.Due.Before(r.Due) {
		due = l.Due
	}
	for _, x := range e.byJob[r.Job] {
		if live.IsOf(x, r.User) && x.Due.Before(r.Due) && x.Due.After(due) {
			due = x.Due
		}
	}
	return due
}

// endOf returns the state of the newest occurrence of a parent that counts for run r,
// whose previous occurrence was due at since.
func (e *Engine) endOf(p catalog.Parent, since time.Time, r *live.Run) job.Parent {
	atBoot := r.Trigger == job.TriggerBoot
	var newest *live.Run
	for _, x := range e.byJob[p.ID] {
		if live.IsOf(x, p.User) && x.Backfill == 0 && (x.Due.After(since) || atBoot) && !x.Due.After(r.Due) && (newest == nil || !x.Due.Before(newest.Due)) {
			newest = x
		}
	}
	if newest != nil {
		return job.Parent{Job: p.ID, Run: newest.ID}
	}
	if e.undecided(p.Job, r.Due) {
		return job.Parent{Job: p.ID}
	}
	l := e.summary(p.ID, p.User)
	counts := l.Due.After(since) || atBoot && l.Ended.After(r.Due)
	if l.Verdict.Final() && counts && !l.Due.After(e.now.Wall) { // else the clock was set back behind it
		return job.Parent{Job: p.ID, Run: l.Run, Verdict: l.Verdict}
	}
	return job.Parent{Job: p.ID}
}

// endAfter returns the state of a parent that was known before. If it had ended, a newer
// occurrence of the parent does not change the result that run r waited for.
func (e *Engine) endAfter(known job.Parent, p catalog.Parent, since time.Time, r *live.Run) job.Parent {
	now := e.endOf(p, since, r)
	if known.Verdict.Final() && now.Verdict.Final() && e.summary(p.ID, p.User).Due.After(r.Due) {
		return known
	}
	return now
}

// undecided reports whether a job has an occurrence that is due by now and not decided
// yet.
func (e *Engine) undecided(slot int, due time.Time) bool {
	if at, planned := e.delays.At(slot); planned {
		return at <= int64(min(e.now.Up, e.now.UpAt(due)))
	}
	mark := e.marks[slot]
	if mark >= due.UnixNano() {
		return false
	}
	next := agenda.Next(e.jobs.Entry(slot).Schedule, time.Unix(0, mark).UTC())
	return !next.IsZero() && !next.After(due) && !next.After(e.now.Wall)
}

// waitForParents makes a run wait until wait= is over or the run's own next occurrence is
// due. If the run waits already, its deadline stays the same.
func (e *Engine) waitForParents(r *live.Run, w *join.Parents) {
	r.Await = w
	if r.WaitsForParents() {
		return
	}
	r.NotBefore = e.patience(r)
	e.wait(r, job.WaitsOnParents, job.DetailForJobs(w.Missing()))
	e.giveUpLater(r)
}

// giveUpLater sets the timer that ends a run's wait for its parents.
func (e *Engine) giveUpLater(r *live.Run) {
	if !r.NotBefore.IsZero() {
		r.ParentsUntil = e.now.UpAt(r.NotBefore)
		e.timers.Add(agenda.Timer{At: r.ParentsUntil, Run: r.ID, Kind: agenda.ParentsOver})
	}
}

// patience returns until when a run that begins to wait now can wait. For a run that is
// caught up, only occurrences after now end the wait, not the missed ones.
func (e *Engine) patience(r *live.Run) time.Time {
	if r.Options.Wait > 0 {
		return e.now.Wall.Add(r.Options.Wait)
	}
	from := r.Due
	if e.now.Wall.After(from) {
		from = e.now.Wall
	}
	return agenda.Next(e.jobs.Entry(r.Slot).Schedule, from).UTC()
}

// refuseFor drops a run because its parents did not end as when= requires. If they ended
// before the run came due, the history shows that it waited for no time.
func (e *Engine) refuseFor(r *live.Run, w *join.Parents, c join.Chance) {
	if r.Recorded == nil {
		r.NotBefore = e.now.Wall
		e.wait(r, job.WaitsOnParents, job.DetailForJobs(w.All()))
	}
	reason := job.ParentSkipped
	r.Verdict = job.VerdictSkip
	if c == join.Failed {
		reason, r.Verdict = job.ParentFailed, job.VerdictUpstream
	}
	r.Parents = r.WithParents(w)
	e.dropFor(r, reason, w.FailedParent(r.Options.When, c))
}

// missParents drops a run that has waited too long for its parents.
func (e *Engine) missParents(r *live.Run) {
	r.Verdict = job.VerdictUpstream
	for i, p := range r.Await.Edges {
		if !r.Await.Known[i].Verdict.Final() { // its last attempt is another run
			r.Await.Update(i, e.endOf(p, r.Await.Since, r))
		}
	}
	r.Parents = r.WithParents(r.Await)
	detail := r.Await.Missing()
	if detail == "" { // they ended, but it is unknown whether in time
		detail = r.Await.Ends()
	}
	e.dropFor(r, job.ParentMissed, detail)
}

// updateWaiting updates the runs that wait for a job after a run of it has ended or one of its
// occurrences was decided. It continues each run that can be decided now.
func (e *Engine) updateWaiting(slot int) {
	var woken []*live.Run
	for _, b := range e.jobs.Waiting(slot) {
		for _, r := range e.byJob[e.jobs.ID(b.Job)] {
			if r.Await == nil || !r.WaitsForParents() || b.Edge >= len(r.Await.Edges) || r.Await.Edges[b.Edge].Job != slot {
				continue
			}
			r.Await.Update(b.Edge, e.endAfter(r.Await.Known[b.Edge], r.Await.Edges[b.Edge], r.Await.Since, r))
			if r.Await.Chance(r.Options.When) != join.Open {
				woken = append(woken, r)
			}
		}
	}
	slices.SortFunc(woken, func(a, b *live.Run) int { return int(a.ID - b.ID) })
	for _, r := range woken {
		if e.live[r.ID] == r && r.WaitsForParents() {
			e.goOn(r, job.RanAfterParents)
		}
	}
}

// reconsider checks a run that waits for parents again, after the crontabs were reloaded
// or the daemon was replaced. The names in after= may refer to other jobs now.
func (e *Engine) reconsider(r *live.Run) {
	if !r.WaitsForParents() {
		return
	}
	if e.refresh(r) && r.Options.Held == "" && r.HasParents() {
		tooLate := r.ParentsUntil > 0 && r.ParentsUntil <= e.now.Up // it is unknown whether the parents ended in time
		if w := e.await(r); tooLate || w.Chance(r.Options.When) == join.Open {
			r.Await = w
			if tooLate { // its timer may have run out before
				e.timers.Add(agenda.Timer{At: r.ParentsUntil, Run: r.ID, Kind: agenda.ParentsOver})
			}
			return
		}
	}
	e.goOn(r, job.RanAfterParents)
}

// follow handles what the end of a run means for other jobs: it updates the runs that
// wait for it, and starts the jobs that on= starts. Such a job may end another run
// immediately, and so on. Ended runs are therefore queued instead of handled recursively:
// a chain of jobs may be longer than the call stack can be deep.
func (e *Engine) follow(r *live.Run) {
	if !e.jobs.HasEdges() {
		return
	}
	e.over = append(e.over, r)
	if !e.following {
		e.followAll()
	}
}

func (e *Engine) followAll() {
	e.following = true
	for i := 0; i < len(e.over); i++ {
		if r := e.over[i]; r.IsInstalled() {
			e.updateWaiting(r.Slot)
			e.startOn(r, r.Slot)
		}
	}
	e.over, e.following = nil, false
}

// startOn admits an occurrence of each job that on= starts on the end of run r of the job
// at slot. Runs of a backfill start no other jobs, because they belong to the past.
func (e *Engine) startOn(r *live.Run, slot int) {
	if !r.Verdict.Final() || r.Backfill != 0 {
		return
	}
	bonds := e.jobs.Starting(slot)
	if len(bonds) == 0 || !live.IsOf(r, e.jobs.Entry(slot).User()) { // or another user has a job of that name by now
		return
	}
	parent := job.Parent{Job: r.Job, Run: r.ID, Verdict: r.Verdict}
	for _, b := range bonds {
		if b.Outcomes&join.OutcomesOf(r.Verdict) == 0 {
			continue
		}
		o := e.occurrence(b.Job, e.freshDue(b.Job, e.endTime(r)), job.TriggerDependency, job.ParentEnded)
		o.Parents, o.Detail = []job.Parent{parent}, parent.Detail()
		e.decide(&o)
	}
}

// endTime returns when a run was over.
func (e *Engine) endTime(r *live.Run) time.Time {
	if r.Run.Ended.IsZero() {
		return e.now.Wall
	}
	return r.Run.Ended
}

// freshDue returns a unique due time for an occurrence of a job without a schedule: two
// parents may end at the same instant. A mark a second or more in the future is ignored: it is
// from before the clock was set back.
func (e *Engine) freshDue(slot int, at time.Time) time.Time {
	mark := e.marks[slot]
	if mark-e.now.Wall.UnixNano() >= int64(time.Second) {
		mark = 0
	}
	if at.UnixNano() <= mark && mark-at.UnixNano() < int64(time.Second) {
		at = time.Unix(0, mark+1).UTC()
	}
	e.marks[slot] = max(mark, at.UnixNano())
	return at
}
