package engine

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/cronring/cronring/crontab/option"
	"github.com/cronring/cronring/crontab/timetable"
	"github.com/cronring/cronring/daemon/engine/catalog"
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
// counts. A run that on= starts has the previous run of its job as previous occurrence.
// Manual runs, backfills and further attempts do not wait for parents.

// awaiting is the state of the parents that a run waits for.
type awaiting struct {
	parents []catalog.Parent
	since   time.Time // only occurrences that came due after this count
	known   []job.Parent
	tally   tally
}

// parents is the gate for after=.
func (e *Engine) parents(r *run) (passes bool) {
	if !r.hasParents() {
		return true
	}
	w := r.await // if there is one, keep it: a parent may have a newer occurrence by now, which does not belong to this run
	if w == nil {
		w = e.await(r)
	}
	switch chance := chanceOf(r.options.When, w.tally); chance {
	case holds:
		if r.waitsForParents() {
			r.cause, r.detail = job.RanAfterParents, w.ends()
		}
		r.Parents = r.withParents(w)
		r.await = nil
		return true
	case open:
		e.waitForParents(r, w)
		return false
	default:
		e.refuseFor(r, w, chance)
		return false
	}
}

// hasParents reports whether a run waits for parents at all.
func (r *run) hasParents() bool {
	switch r.Trigger {
	case job.TriggerManual, job.TriggerBackfill, job.TriggerRetry:
		return false
	}
	return len(r.options.After) > 0 && !r.forced && r.Backfill == 0
}

func (r *run) waitsForParents() bool { return r.WaitsOn() == job.WaitsOnParents }

// withParents returns all parents of a run: first the parent whose end started it by on=,
// then the parents in after=.
func (r *run) withParents(w *awaiting) []job.Parent {
	var own []job.Parent
	if r.Trigger == job.TriggerDependency && len(r.Parents) > 0 {
		own = r.Parents[:1]
	}
	return slices.Concat(own, w.known)
}

// await looks up the state of all parents of a run.
func (e *Engine) await(r *run) *awaiting {
	slot, _ := e.slotOf(r)
	parents := e.jobs.Parents(slot)
	w := &awaiting{parents: parents, since: e.sinceOf(r), known: make([]job.Parent, len(parents)), tally: tally{edges: len(parents)}}
	for i, p := range parents {
		w.known[i] = e.endOf(p, w.since, r)
		w.tally.count(w.known[i].Verdict, p.Outcomes, 1)
	}
	return w
}

// update replaces the state of parent i.
func (w *awaiting) update(i int, now job.Parent) {
	w.tally.count(w.known[i].Verdict, w.parents[i].Outcomes, -1)
	w.tally.count(now.Verdict, w.parents[i].Outcomes, 1)
	w.known[i] = now
}

// sinceOf returns the due time of the run's own previous occurrence.
func (e *Engine) sinceOf(r *run) time.Time {
	slot, _ := e.slotOf(r)
	s := e.jobs.Entry(slot).Schedule
	switch {
	case s == timetable.Reboot:
		return r.Due.Add(-1)
	case s == timetable.Never:
		if l := e.ledger(r.Job, r.User); l.Due.Before(r.Due) {
			return l.Due
		}
		return time.Time{}
	}
	due := r.Due
	if p := r.options.Period; p != nil && !s.Next(due.Add(-1)).Equal(due) { // found due in between
		due = timetable.Previous(s, due)
	}
	return timetable.Previous(s, due)
}

// endOf returns the state of the newest occurrence of a parent that counts for run r,
// whose previous occurrence was due at since.
func (e *Engine) endOf(p catalog.Parent, since time.Time, r *run) job.Parent {
	atBoot := r.Trigger == job.TriggerBoot
	var newest *run
	for _, x := range e.byJob[p.ID] {
		if isOf(x, p.User) && x.Backfill == 0 && (x.Due.After(since) || atBoot) && !x.Due.After(r.Due) && (newest == nil || !x.Due.Before(newest.Due)) {
			newest = x
		}
	}
	if newest != nil {
		return job.Parent{Job: p.ID, Run: newest.ID}
	}
	if e.undecided(p.Job, r.Due) {
		return job.Parent{Job: p.ID}
	}
	l := e.ledger(p.ID, p.User)
	counts := l.Due.After(since) || atBoot && l.Ended.After(r.Due)
	if l.Verdict.Final() && counts && !l.Due.After(e.now.Wall) { // else the clock was set back behind it
		return job.Parent{Job: p.ID, Run: l.Run, Verdict: l.Verdict}
	}
	return job.Parent{Job: p.ID}
}

// newestDue returns when the newest completed occurrence of a parent was due.
func (e *Engine) newestDue(p catalog.Parent) time.Time { return e.ledger(p.ID, p.User).Due }

// undecided reports whether a job has an occurrence that is due by now and not decided
// yet.
func (e *Engine) undecided(slot int, due time.Time) bool {
	mark := e.marks[slot]
	if mark >= due.UnixNano() {
		return false
	}
	next := nextAfter(e.jobs.Entry(slot).Schedule, time.Unix(0, mark).UTC())
	return !next.IsZero() && !next.After(due) && !next.After(e.now.Wall)
}

// waitForParents makes a run wait until wait= is over or the run's own next occurrence is
// due. If the run waits already, its deadline stays the same.
func (e *Engine) waitForParents(r *run, w *awaiting) {
	r.await = w
	if r.waitsForParents() {
		return
	}
	r.NotBefore = e.patience(r)
	r.Parents = r.withParents(w)
	e.wait(r, job.WaitsOnParents, "for "+w.missing())
	e.giveUpLater(r)
}

// giveUpLater sets the timer that ends a run's wait for its parents.
func (e *Engine) giveUpLater(r *run) {
	if !r.NotBefore.IsZero() {
		r.until = e.now.UpAt(r.NotBefore)
		e.timers.add(timer{at: r.until, run: r.ID, kind: parentsOver})
	}
}

// patience returns until when a run that begins to wait now can wait. For a run that is
// caught up, only occurrences after now end the wait, not the missed ones.
func (e *Engine) patience(r *run) time.Time {
	if r.options.Wait > 0 {
		return e.now.Wall.Add(r.options.Wait)
	}
	slot, _ := e.slotOf(r)
	from := r.Due
	if e.now.Wall.After(from) {
		from = e.now.Wall
	}
	return nextAfter(e.jobs.Entry(slot).Schedule, from).UTC()
}

// refuseFor drops a run because its parents did not end as when= requires. If they ended
// before the run came due, the history shows that it waited for no time.
func (e *Engine) refuseFor(r *run, w *awaiting, c chance) {
	if r.recorded == nil {
		r.NotBefore = e.now.Wall
		e.wait(r, job.WaitsOnParents, "for "+w.all())
	}
	reason := job.ParentSkipped
	r.Verdict = job.VerdictSkip
	if c == failed {
		reason, r.Verdict = job.ParentFailed, job.VerdictUpstream
	}
	r.Parents = r.withParents(w)
	e.dropFor(r, reason, w.failedParent(r.options.When, c))
}

// missParents drops a run that has waited too long for its parents.
func (e *Engine) missParents(r *run) {
	r.Verdict = job.VerdictUpstream
	r.Parents = r.withParents(r.await)
	detail := r.await.missing()
	if detail == "" { // they ended, but it is unknown whether in time
		detail = r.await.ends()
	}
	e.dropFor(r, job.ParentMissed, detail)
}

// updateWaiting updates the runs that wait for a job after a run of it has ended or one of its
// occurrences was decided. It continues each run that can be decided now.
func (e *Engine) updateWaiting(slot int) {
	var woken []*run
	for _, b := range e.jobs.Waiting(slot) {
		for _, r := range e.byJob[e.jobs.ID(b.Job)] {
			if r.await == nil || !r.waitsForParents() || b.Edge >= len(r.await.parents) || r.await.parents[b.Edge].Job != slot {
				continue
			}
			now := e.endOf(r.await.parents[b.Edge], r.await.since, r)
			if r.await.known[b.Edge].Verdict.Final() && now.Verdict.Final() && e.newestDue(r.await.parents[b.Edge]).After(r.Due) {
				continue // the parent's newer occurrence does not change the result that this run waited for
			}
			r.await.update(b.Edge, now)
			if chanceOf(r.options.When, r.await.tally) != open {
				woken = append(woken, r)
			}
		}
	}
	slices.SortFunc(woken, func(a, b *run) int { return int(a.ID - b.ID) })
	for _, r := range woken {
		if e.live[r.ID] == r && r.waitsForParents() {
			e.goOn(r, job.RanAfterParents)
		}
	}
}

// reconsider checks a run that waits for parents again, after the crontabs were reloaded
// or the daemon was replaced. The names in after= may refer to other jobs now.
func (e *Engine) reconsider(r *run) {
	if !r.waitsForParents() {
		return
	}
	slot, _ := e.slotOf(r)
	r.options, r.zone = e.jobs.Options(slot), e.jobs.Entry(slot).Zone().Location()
	if r.options.Held == "" && isOf(r, e.jobs.Entry(slot).User()) && r.hasParents() {
		tooLate := r.until > 0 && r.until <= e.now.Up // it is unknown whether the parents ended in time
		if w := e.await(r); tooLate || chanceOf(r.options.When, w.tally) == open {
			r.await = w
			return
		}
	}
	e.goOn(r, job.RanAfterParents)
}

// follow handles what the end of a run means for other jobs: it updates the runs that
// wait for it, and starts the jobs that on= starts. Such a job may end another run
// immediately, and so on. Ended runs are therefore queued instead of handled recursively:
// a chain of jobs may be longer than the call stack can be deep.
func (e *Engine) follow(r *run) {
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
		if slot, ok := e.slotOf(e.over[i]); ok {
			e.updateWaiting(slot)
			e.startOn(e.over[i], slot)
		}
	}
	e.over, e.following = nil, false
}

// startOn admits an occurrence of each job that on= starts on the end of run r of the job
// at slot. Runs of a backfill start no other jobs, because they belong to the past.
func (e *Engine) startOn(r *run, slot int) {
	if !r.Verdict.Final() || r.Backfill != 0 {
		return
	}
	bonds := e.jobs.Starting(slot)
	if len(bonds) == 0 || !isOf(r, e.jobs.Entry(slot).User()) { // or another user has a job of that name by now
		return
	}
	parent := job.Parent{Job: r.Job, Run: r.ID, Verdict: r.Verdict}
	for _, b := range bonds {
		if b.Outcomes&outcomesOf(r.Verdict) == 0 {
			continue
		}
		j := e.firing(b.Job)
		j.parents, j.detail = []job.Parent{parent}, endWords(parent)
		due := e.freshDue(b.Job, e.endTime(r))
		if reason, detail := e.standing(j); reason != "" {
			e.skip(j, due, due, 1, reason, detail)
			continue
		}
		e.admit(j, due, job.TriggerDependency, job.ParentEnded)
	}
}

// endTime returns when a run was over.
func (e *Engine) endTime(r *run) time.Time {
	if r.Run.Ended.IsZero() {
		return e.now.Wall
	}
	return r.Run.Ended
}

// freshDue returns a unique due time for an occurrence of a job without a schedule: two
// parents may end at the same instant.
func (e *Engine) freshDue(slot int, at time.Time) time.Time {
	if mark := e.marks[slot]; at.UnixNano() <= mark && mark-at.UnixNano() < int64(time.Second) {
		at = time.Unix(0, mark+1).UTC()
	}
	e.marks[slot] = max(e.marks[slot], at.UnixNano())
	return at
}

// Texts for details.

// mostNamed limits how many parents a detail names.
const mostNamed = 5

// missing lists the parents that have not ended.
func (w *awaiting) missing() string {
	return w.list(func(p job.Parent) string {
		switch {
		case p.Verdict != "":
			return ""
		case p.Run != 0:
			return fmt.Sprintf("%s (run %d)", p.Job, p.Run)
		}
		return string(p.Job)
	})
}

// all lists the parents.
func (w *awaiting) all() string {
	return w.list(func(p job.Parent) string { return string(p.Job) })
}

// ends describes how the parents ended.
func (w *awaiting) ends() string {
	return w.list(func(p job.Parent) string {
		if p.Verdict == "" {
			return ""
		}
		return endWords(p)
	})
}

// list joins what say returns for each parent. It skips empty texts and stops after
// mostNamed parents.
func (w *awaiting) list(say func(job.Parent) string) string {
	var words []string
	for _, p := range w.known {
		word := say(p)
		switch {
		case word == "":
		case len(words) == mostNamed:
			return strings.Join(words, ", ") + " and others"
		default:
			words = append(words, word)
		}
	}
	return strings.Join(words, ", ")
}

// failedParent describes a parent that failed, or else how all parents ended.
func (w *awaiting) failedParent(join option.Join, c chance) string {
	byEdge := join == option.JoinAll || join == option.JoinAny
	for i, p := range w.known {
		if c == failed && p.Verdict.Bad() && !(byEdge && w.parents[i].Outcomes&outcomesOf(p.Verdict) != 0) {
			return endWords(p)
		}
	}
	return w.ends()
}

// endWords describes how a parent ended.
func endWords(p job.Parent) string {
	return fmt.Sprintf("%s %s (run %d)", p.Job, p.Verdict.Words(), p.Run)
}
