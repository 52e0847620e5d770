package engine

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/cronring/cronring/crontab"
	"github.com/cronring/cronring/daemon/engine/catalog"
	"github.com/cronring/cronring/daemon/job"
)

// A run waits at its due time for the parents that after= names: for each the
// newest occurrence that came due after the run's own previous one, until that
// is over with all its attempts. One that came due no later than the run itself
// and still lives is waited for although an older one is over; a later one is
// not, so that a parent which comes often keeps nobody waiting for ever. One
// that is due and not decided yet is waited for too, so that it does not matter
// which of two lines comes first in a table.
//
// The own previous occurrence is the one that the schedule names before, which
// is as true of one that is made up late as of one on time, over zone changes as
// on other days. A @reboot entry has none: it waits for those of the same start.
// What on= starts has its own run before it. What a person asks for, a backfill
// and a further attempt wait for nobody.

// awaiting is what a run that waits knows of its parents.
type awaiting struct {
	parents []catalog.Parent
	since   time.Time // their occurrences count that came due later
	known   []job.Parent
	tally   tally
}

// parents is the gate of after=.
func (e *Engine) parents(r *run) (passes bool) {
	if !r.hasParents() {
		return true
	}
	w := r.await // what it saw of a parent may have a successor by now, which is not its own
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

// hasParents tells whether a run waits for others at all.
func (r *run) hasParents() bool {
	switch r.Trigger {
	case job.TriggerManual, job.TriggerBackfill, job.TriggerRetry:
		return false
	}
	return len(r.options.After) > 0 && !r.forced && r.Backfill == 0
}

func (r *run) waitsForParents() bool { return r.WaitsOn() == job.WaitsOnParents }

// withParents is the parents of a run: those that on= started it for, and those
// that it waits for.
func (r *run) withParents(w *awaiting) []job.Parent {
	var own []job.Parent
	if r.Trigger == job.TriggerDependency && len(r.Parents) > 0 {
		own = r.Parents[:1]
	}
	return slices.Concat(own, w.known)
}

// await looks at all parents of a run.
func (e *Engine) await(r *run) *awaiting {
	slot, _ := e.slotOf(r)
	parents := e.jobs.Parents(slot)
	w := &awaiting{parents: parents, since: e.sinceOf(r), known: make([]job.Parent, len(parents)), tally: tally{edges: len(parents)}}
	for i, p := range parents {
		w.known[i] = e.endOf(p, w.since, r.Due)
		w.tally.count(w.known[i].Verdict, p.Outcomes, 1)
	}
	return w
}

// update takes in what is known of one parent now.
func (w *awaiting) update(i int, now job.Parent) {
	w.tally.count(w.known[i].Verdict, w.parents[i].Outcomes, -1)
	w.tally.count(now.Verdict, w.parents[i].Outcomes, 1)
	w.known[i] = now
}

// sinceOf is the run's own previous occurrence.
func (e *Engine) sinceOf(r *run) time.Time {
	slot, _ := e.slotOf(r)
	s := e.jobs.Entry(slot).Schedule
	switch {
	case s == crontab.Reboot:
		return r.Due.Add(-1)
	case s == crontab.Never:
		if l := e.ledger(r.Job, r.User); l.Due.Before(r.Due) {
			return l.Due
		}
		return time.Time{}
	}
	due := r.Due
	if p := r.options.Period; p != nil && !s.Next(due.Add(-1)).Equal(due) { // found due in between
		due = crontab.Previous(s, due)
	}
	return crontab.Previous(s, due)
}

// endOf is what is known of a parent's newest occurrence after since, for a run
// that is due.
func (e *Engine) endOf(p catalog.Parent, since, due time.Time) job.Parent {
	var newest *run
	for _, r := range e.byJob[p.ID] {
		if isOf(r, p.User) && r.Backfill == 0 && r.Due.After(since) && !r.Due.After(due) && (newest == nil || !r.Due.Before(newest.Due)) {
			newest = r
		}
	}
	if newest != nil {
		return job.Parent{Job: p.ID, Run: newest.ID}
	}
	if e.undecided(p.Job, due) {
		return job.Parent{Job: p.ID}
	}
	l := e.ledger(p.ID, p.User)
	if l.Verdict.Final() && l.Due.After(since) && !l.Due.After(e.now.Wall) { // else the clock was set back behind it
		return job.Parent{Job: p.ID, Run: l.Run, Verdict: l.Verdict}
	}
	return job.Parent{Job: p.ID}
}

// newestDue is when the newest occurrence of a parent that is over was due.
func (e *Engine) newestDue(p catalog.Parent) time.Time { return e.ledger(p.ID, p.User).Due }

// undecided tells whether a job has an occurrence, due by now, that waits to be
// decided.
func (e *Engine) undecided(slot int, due time.Time) bool {
	mark := e.marks[slot]
	if mark >= due.UnixNano() {
		return false
	}
	next := nextAfter(e.jobs.Entry(slot).Schedule, time.Unix(0, mark).UTC())
	return !next.IsZero() && !next.After(due) && !next.After(e.now.Wall)
}

// waitForParents holds a run back, from now until wait= is over, or until its
// own next occurrence comes. One that waits already waits no longer for that.
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

// giveUpLater sets the timer of a run that waits for parents.
func (e *Engine) giveUpLater(r *run) {
	if !r.NotBefore.IsZero() {
		r.until = e.upAt(r.NotBefore)
		e.timers.add(timer{at: r.until, run: r.ID, kind: parentsOver})
	}
}

// patience is how long a run may wait that begins to now. For one that is made
// up the occurrences that it missed do not end it.
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

// refuseFor drops a run whose parents ended otherwise than it asks. Where that
// was so before it came due, it waited for no time.
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
	e.dropFor(r, reason, w.culprit(r.options.When, c))
}

// missParents drops a run that has waited long enough.
func (e *Engine) missParents(r *run) {
	r.Verdict = job.VerdictUpstream
	r.Parents = r.withParents(r.await)
	detail := r.await.missing()
	if detail == "" { // they ended, but nobody knows whether in time
		detail = r.await.ends()
	}
	e.dropFor(r, job.ParentMissed, detail)
}

// heed tells those that wait for a job that a run of it is over, or that one of
// its occurrences was decided.
func (e *Engine) heed(slot int) {
	var woken []*run
	for _, b := range e.jobs.Waiting(slot) {
		for _, r := range e.byJob[e.jobs.ID(b.Job)] {
			if r.await == nil || !r.waitsForParents() || b.Edge >= len(r.await.parents) || r.await.parents[b.Edge].Job != slot {
				continue
			}
			now := e.endOf(r.await.parents[b.Edge], r.await.since, r.Due)
			if r.await.known[b.Edge].Verdict.Final() && now.Verdict.Final() && e.newestDue(r.await.parents[b.Edge]).After(r.Due) {
				continue // that it came later on does not take back what this run waited for
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

// reconsider looks at a run that waits for parents after the crontabs were
// read: their names may mean others now, or the run comes from another daemon.
func (e *Engine) reconsider(r *run) {
	if !r.waitsForParents() {
		return
	}
	slot, _ := e.slotOf(r)
	r.options, r.zone = e.jobs.Options(slot), e.jobs.Entry(slot).Zone().Location()
	if r.options.Held == "" && isOf(r, e.jobs.Entry(slot).User()) && r.hasParents() {
		tooLate := r.until > 0 && r.until <= e.now.Up // and nobody was there to see whether they came in time
		if w := e.await(r); tooLate || chanceOf(r.options.When, w.tally) == open {
			r.await = w
			return
		}
	}
	e.goOn(r, job.RanAfterParents)
}

// follow draws what follows for others from runs that are over: those that wait
// for them are told, and those start that on= starts. Such a run may end
// another one at once, and so on: they queue up here, as a chain may be longer
// than calls can be deep.
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
			e.heed(slot)
			e.startOn(e.over[i], slot)
		}
	}
	e.over, e.following = nil, false
}

// startOn admits an occurrence of each job that starts on the end of a run of the
// job at a slot. The runs of a backfill start nobody: they are of the past.
func (e *Engine) startOn(r *run, slot int) {
	if !r.Verdict.Final() || r.Backfill != 0 {
		return
	}
	bonds := e.jobs.Starting(slot)
	if len(bonds) == 0 || !isOf(r, e.jobs.Entry(slot).User()) { // or the name is another account's by now
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

// endTime is when a run was over.
func (e *Engine) endTime(r *run) time.Time {
	if r.Run.Ended.IsZero() {
		return e.now.Wall
	}
	return r.Run.Ended
}

// freshDue is an instant for an occurrence of a job without a schedule, which
// names none before: two parents may end at once.
func (e *Engine) freshDue(slot int, at time.Time) time.Time {
	if mark := e.marks[slot]; at.UnixNano() <= mark && mark-at.UnixNano() < int64(time.Second) {
		at = time.Unix(0, mark+1).UTC()
	}
	e.marks[slot] = max(e.marks[slot], at.UnixNano())
	return at
}

// The words of details.

// mostNamed is how many parents a detail names.
const mostNamed = 5

// missing names the parents that have not ended.
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

// all names the parents.
func (w *awaiting) all() string {
	return w.list(func(p job.Parent) string { return string(p.Job) })
}

// ends says how the parents ended.
func (w *awaiting) ends() string {
	return w.list(func(p job.Parent) string {
		if p.Verdict == "" {
			return ""
		}
		return endWords(p)
	})
}

// list says something of the first parents of which there is something to say.
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

// culprit names a parent that failed, or says how all ended.
func (w *awaiting) culprit(join crontab.Join, c chance) string {
	byEdge := join == crontab.JoinAll || join == crontab.JoinAny
	for i, p := range w.known {
		if c == failed && p.Verdict.Bad() && !(byEdge && w.parents[i].Outcomes&outcomesOf(p.Verdict) != 0) {
			return endWords(p)
		}
	}
	return w.ends()
}

// endWords says how a parent ended.
func endWords(p job.Parent) string {
	return fmt.Sprintf("%s %s (run %d)", p.Job, p.Verdict.Words(), p.Run)
}
