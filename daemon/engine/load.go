package engine

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/robfig/cron/v3"

	"github.com/cronring/cronring/crontab"
	"github.com/cronring/cronring/crontab/option"
	"github.com/cronring/cronring/crontab/timetable"
	"github.com/cronring/cronring/daemon/engine/catalog"
	"github.com/cronring/cronring/daemon/job"
)

// past is the stored state of a job that a load needs.
type past struct {
	spec uint64
	mark int64
	ever int64 // the newest occurrence decided in any era: the mark of a ring job
}

// load replaces all crontabs. Prepare has done the slow part already; the result is
// discarded if another load came between or the clock was set back.
func (e *Engine) load(ev Load) {
	p, first := ev.prepared, e.memory != nil
	if p == nil || p.before != e.jobs || e.now.Wall.Before(p.at) {
		p = prepare(&ev, e.jobs, e.now.Wall)
	}
	everything := first || e.node != ev.Node || !maps.Equal(e.labels, ev.Labels) || e.ring.mode != ev.Ring || !maps.Equal(e.unfit, ev.Unfit)
	e.node, e.labels, e.unfit = ev.Node, ev.Labels, ev.Unfit
	if first && len(ev.Awaited) > 0 {
		e.awaited = e.memory.await(ev.Awaited)
	}
	late := e.agenda.due(e.now.Wall, e.pending)
	e.decideBefore(p, late)
	marks, fresh := e.marksOf(p)
	if first {
		e.awaited.forget(p.jobs)
	}
	remembers := first || e.awaited != nil
	e.jobs, e.marks, e.agenda = p.jobs, marks, p.agenda
	e.ring.mode = ev.Ring
	e.measure(ev.Limits, e.moveRuns(p, everything))
	e.holdFaulty()
	e.pending = e.behind(p, late, remembers)
	if p.Changed || first {
		e.record(job.Record{Kind: job.Loaded, Detail: fmt.Sprintf("%d jobs from %d crontabs", e.jobs.Len(), len(ev.Crontabs))})
		if first {
			e.emit(e.roster())
		} else {
			e.emit(p.roster(marks))
		}
	}
	e.tellHost()
	if first {
		if e.memory.Booted {
			fresh = e.jobs.Periods()
		}
		e.restore()
	} else { // a new entry of a crontab has missed nothing
		fresh = slices.DeleteFunc(fresh, func(slot int) bool { return !anacronLine(e.jobs.Entry(slot)) })
		e.loadAwaited()
	}
	e.watchLater(p, everything)
	if first {
		e.queueUnsettled(e.sorted())
		e.settle(len(e.unsettled) + len(e.unwatched))
	}
	for _, slot := range fresh {
		e.look(slot)
	}
}

// decideBefore decides occurrences that came due before an edit was saved. It uses the
// old entries that p removes or changes to other times. late lists the slots that are
// due.
func (e *Engine) decideBefore(p *prepared, late []int) {
	if len(late) == 0 {
		return
	}
	stays := make([]bool, len(p.To))
	for old, slot := range p.To {
		stays[old] = slot >= 0 && p.From[slot] == old
	}
	for _, f := range p.Fresh {
		if f.Was >= 0 && f.Same {
			stays[f.Was] = true
		}
	}
	var seen lookup
	for _, slot := range late {
		if stays[slot] || e.jobs.InRing(slot) {
			continue
		}
		entry := e.jobs.Entry(slot)
		until := p.since(entry.File().Name, e.now.Wall)
		if e.draining { // no run can start
			if due := seen.between(entry.Schedule, e.marks[slot], until); !due.empty() {
				e.skip(e.firing(slot), due.first, due.last(), due.older+len(due.list), job.JobRemoved, "")
			}
			continue
		}
		e.decide(slot, until, &seen)
		if e.jobs.HasEdges() {
			e.updateWaiting(slot)
		}
	}
}

// lastOfRemoved returns, for each crontab, the newest mark of the jobs that p removes
// from it. Editing a command makes another job. If the daemon already ran an occurrence
// with the old text when it read the edit, the new job must not run that occurrence
// again.
func (e *Engine) lastOfRemoved(p *prepared) map[string]int64 {
	last := map[string]int64{}
	for old, slot := range p.To {
		if slot < 0 && e.marks[old] <= e.now.Wall.UnixNano() {
			name := e.jobs.Entry(old).File().Name
			last[name] = max(last[name], e.marks[old])
		}
	}
	return last
}

// marksOf returns the marks of the jobs of p. A job that stays keeps its mark. A job that
// is new, or whose times changed, starts from when its crontab was saved, so it has
// missed nothing before that. periods lists the new jobs that have a period.
func (e *Engine) marksOf(p *prepared) (marks []int64, periods []int) {
	var stored map[job.Key]past
	if e.memory != nil {
		stored = e.memory.past()
		rename(stored, p.jobs)
	}
	if e.awaited != nil {
		rename(e.awaited.past, p.jobs)
	}
	specs := catalog.Specs{}
	marks = make([]int64, len(p.From))
	now := e.now.Wall.UnixNano()
	removed := e.lastOfRemoved(p)
	for slot, old := range p.From {
		if old >= 0 {
			marks[slot] = e.marks[old]
		}
	}
	for _, f := range p.Fresh {
		slot, entry := f.Job, p.jobs.Entry(f.Job)
		s := entry.Schedule
		var past past
		known, same := f.Was >= 0, f.Same
		if known {
			past.mark = e.marks[f.Was]
		} else if past, known = stored[p.jobs.Key(slot)]; known {
			same = past.spec == specs.Of(s)
		}
		late := !known && e.awaited.has(entry)
		if late {
			past, known = e.awaited.past[p.jobs.Key(slot)]
			same = known && past.spec == specs.Of(s)
		}
		since := p.since(entry.File().Name, e.now.Wall).UnixNano()
		switch {
		case !known:
			marks[slot] = max(since, removed[entry.File().Name])
			if entry.Options().Period != nil {
				periods = append(periods, slot)
			}
		case !same:
			marks[slot] = afterEdit(past.mark, since, now)
		case entry.Options().Scope == option.ScopeRing:
			marks[slot] = max(past.mark, past.ever)
		case late:
			marks[slot] = afterSetBack(s, past.mark, now, e.awaited.lastSeen.Sub(e.now.Wall))
		case e.memory != nil: // the clock may have been set while no daemon ran
			marks[slot] = afterSetBack(s, past.mark, now, e.memory.LastSeen.Sub(e.now.Wall))
		default:
			marks[slot] = past.mark
		}
		switch {
		case e.memory != nil:
			marks[slot] = afterOther(marks[slot], now, e.memory.Since, known)
		case late:
			marks[slot] = afterOther(marks[slot], now, e.awaited.since, known)
		}
	}
	return marks, periods
}

// afterEdit returns the mark of a job whose times were changed by an edit that was saved
// at since. A later mark is kept, even if it is slightly in the future because the clock
// was set back: the new times may contain the same instant.
func afterEdit(mark, since, now int64) int64 {
	if mark > since && mark-now < int64(smallStep) {
		return mark
	}
	return since
}

// afterOther returns the mark of a job whose crontab another cron ran until since.
// Occurrences before then belonged to that cron. Later ones belong to this daemon, even
// for a job that it did not know.
func afterOther(mark, now int64, since time.Time, known bool) int64 {
	switch other := min(since.UnixNano(), now); {
	case since.IsZero():
		return mark
	case known:
		return max(mark, other)
	default:
		return other
	}
}

// awaited is the state kept for crontabs that are loaded after the first Load, because
// their users were not known then.
type awaited struct {
	crontabs map[string]bool
	past     map[job.Key]past
	lastSeen time.Time
	since    time.Time
	booted   bool
}

func (s *State) await(file map[string]bool) *awaited {
	return &awaited{maps.Clone(file), s.past(), s.LastSeen, s.Since, s.Booted}
}

// forget drops the state of jobs that the first Load installed. A crontab whose user was
// deleted may be awaited forever, so the state should be small.
func (a *awaited) forget(jobs *catalog.Catalog) {
	if a == nil {
		return
	}
	for i := range jobs.Len() {
		delete(a.past, jobs.Key(i))
	}
	a.past = maps.Clone(a.past) // a map never shrinks
}

func (a *awaited) has(entry *crontab.Entry) bool {
	if a == nil {
		return false
	}
	_, ok := a.crontabs[entry.File().Name]
	return ok
}

// loadAwaited handles awaited crontabs that are loaded now.
func (e *Engine) loadAwaited() {
	if e.awaited == nil {
		return
	}
	if e.awaited.booted {
		e.boot(func(t *crontab.File) bool { return e.awaited.crontabs[t.Name] })
	}
	for _, t := range e.jobs.Crontabs() {
		delete(e.awaited.crontabs, t.Name)
	}
	if len(e.awaited.crontabs) == 0 {
		e.awaited = nil
	}
}

// past returns the state in the stored roster and marks. The roster is rewritten in each
// era and includes the marks of earlier eras.
func (s *State) past() map[job.Key]past {
	m := make(map[job.Key]past, len(s.Known))
	former := false
	for _, k := range s.Known {
		former = former || catalog.IsFormer(k.Key)
		m[k.Key] = past{spec: k.Spec, mark: k.Since.UnixNano()}
	}
	for _, mk := range s.Marks {
		key := catalog.KeyOf(mk.Job)
		if p, ok := m[key]; ok || former {
			p.ever = mk.Due.UnixNano()
			if mk.Era == s.Era {
				p.mark = max(p.mark, p.ever)
			}
			m[key] = p
		}
	}
	return m
}

// rename moves state that is stored under keys of version 0.7 to the current keys.
func rename(known map[job.Key]past, jobs *catalog.Catalog) {
	former := maps.Clone(known)
	maps.DeleteFunc(former, func(key job.Key, _ past) bool { return !catalog.IsFormer(key) })
	if len(former) == 0 {
		return
	}
	for slot := range jobs.Len() {
		if p, ok := former[catalog.FormerKey(jobs.Former(slot))]; ok {
			key := jobs.Key(slot)
			p.mark, p.ever = max(p.mark, known[key].mark), known[key].ever
			known[key] = p
		}
	}
}

// roster returns all jobs.
func (e *Engine) roster() Roster {
	r := Roster{Whole: true, Crontabs: make([]RosterCrontab, len(e.jobs.Crontabs()))}
	known := make([]Known, len(e.marks))
	for slot := range known {
		known[slot].Key, known[slot].Since = e.jobs.Key(slot), time.Unix(0, e.marks[slot]).UTC()
	}
	for _, g := range e.jobs.Groups() {
		for _, slot := range g.Jobs {
			known[slot].Spec = g.Spec
		}
	}
	for i, t := range e.jobs.Crontabs() {
		first, past := e.jobs.Of(i)
		r.Crontabs[i] = RosterCrontab{t.Name, known[first:past]}
	}
	return r
}

// behind lists the slots that have an occurrence between their mark and now. These are
// the slots in late and, if remembers is set, slots of jobs known before the first load
// that missed an occurrence while no daemon ran.
func (e *Engine) behind(p *prepared, late []int, remembers bool) []int {
	if len(late) == 0 && !remembers {
		return nil
	}
	waits := make([]bool, len(p.To))
	for _, old := range late {
		waits[old] = true
	}
	behind := make([]bool, len(p.From))
	for slot, old := range p.From {
		behind[slot] = old >= 0 && waits[old]
	}
	var (
		schedule cron.Schedule
		since    int64
		missed   bool
	)
	for _, f := range p.Fresh {
		switch mark := e.marks[f.Job]; {
		case f.Was >= 0:
			behind[f.Job] = f.Same && waits[f.Was]
		case remembers:
			if s := e.jobs.Entry(f.Job).Schedule; s != schedule || mark != since {
				next := nextAfter(s, time.Unix(0, mark).UTC())
				schedule, since, missed = s, mark, !next.IsZero() && !next.After(e.now.Wall)
			}
			behind[f.Job] = missed
		}
	}
	var slots []int
	for slot, is := range behind {
		if is {
			slots = append(slots, slot)
		}
	}
	return slots
}

// restore handles the runs that were live when the previous daemon ended, and runs
// @reboot entries at the first start after boot.
func (e *Engine) restore() {
	memory := e.memory
	e.memory = nil
	adopted := make(map[job.RunID]Adopted, len(memory.Adopted))
	for _, a := range memory.Adopted {
		adopted[a.Run] = a
	}
	e.following = true // postpone followAll until all live runs are restored
	for _, r := range memory.Live {
		e.nextRun = max(e.nextRun, r.ID+1) // before a lost one makes another
	}
	for _, r := range watchedFirst(memory.Live, adopted) {
		a, lives := adopted[r.ID]
		switch {
		case lives:
			e.adopt(r, a)
		case r.State == job.RunQueued || r.State == job.RunWaiting:
			e.restoreWaiting(r, memory.LastSeen)
		default:
			e.lose(r)
		}
	}
	e.followAll()
	e.freed = slices.Sorted(maps.Keys(e.byJob))
	e.startNext()
	if memory.Booted {
		e.boot(func(*crontab.File) bool { return true })
	}
}

// lose records the end of a run whose end was not observed. The current options of its
// entry decide the verdict.
func (e *Engine) lose(r job.Run) {
	r.State, r.Ended, r.Reason = job.RunEnded, e.now.Wall, job.DaemonDied
	r.Outcome = job.Outcome{Kind: job.Lost}
	lost := &run{Run: r, options: option.DefaultOptions()}
	e.locate(lost)
	if slot, ok := e.jobs.Find(r.Job); ok && isOf(lost, e.jobs.Entry(slot).User()) {
		lost.options, lost.zone = e.jobs.Options(slot), e.jobs.Entry(slot).Zone().Location()
	}
	lost.Verdict = judge(lost)
	e.recordRun(job.Ended, "", lost, "")
	e.conclude(lost)
}

// restoreWaiting restores a queued or waiting run. If catchup= skips the run because of
// the time without a daemon, the run is dropped.
func (e *Engine) restoreWaiting(old job.Run, lastSeen time.Time) {
	r := &run{Run: old, recorded: &old, gate: gateOf(&old)}
	slot, ok := e.jobs.Find(old.Job)
	if !ok || !isOf(r, e.jobs.Entry(slot).User()) { // or another user has a job of that name by now
		r.options = option.DefaultOptions()
		e.add(r)
		e.drop(r, job.JobRemoved)
		return
	}
	r.options, r.zone = e.jobs.Options(slot), e.jobs.Entry(slot).Zone().Location()
	e.add(r)
	e.watchStart(r)
	if e.reclaim(r) {
		r.storedAt = lastSeen
		return
	}
	e.goOnWaiting(r, lastSeen)
}

// SignOfLife is the interval at which a daemon with waiting runs stores that it is alive,
// if it has nothing else to store. After a crash, the lateness of a waiting run is
// therefore measured from shortly before the crash, and not from the last start or end of
// a run before it.
const SignOfLife = time.Minute

// HasWaiting reports whether runs wait.
func (e *Engine) HasWaiting() bool { return len(e.stalled) > 0 }

func earlier(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}

// goOnWaiting makes a restored run wait again for what it waited for.
func (e *Engine) goOnWaiting(r *run, lastSeen time.Time) {
	old, on := r.Run, r.WaitsOn()
	slot, _ := e.slotOf(r)
	if on == job.WaitsOnParents { // see reconsider
		e.giveUpLater(r)
		return
	}
	due := earlier(e.now.Wall, lastSeen.Add(SignOfLife))
	if old.NotBefore.After(due) {
		due = old.NotBefore
	}
	p := catchup(r.options, timetable.FixedTime(e.jobs.Entry(slot).Schedule), []time.Time{due}, e.now.Wall)
	if old.Backfill != 0 { // its occurrences are always in the past
		p = plan{}
	}
	switch {
	case p.tooLate == 1:
		e.drop(r, job.PastDeadline)
	case p.missed == 1:
		e.drop(r, p.reason)
	case on == job.WaitsOnDelay && old.NotBefore.Before(e.now.Wall): // wait for the whole delay again: it reduces the load of a host that starts
		e.waitUntil(r, startOf(e.stamps, r.options.Period, e.now.Wall, r.zone))
		e.recordRun(job.Queued, "", r, waiting(r))
	case on == job.WaitsOnCheck: // the result of the command is not known
		e.goOn(r, job.RanAfterCheck)
	case on == job.WaitsOnSlot:
		e.lineUp(r)
	case r.waitsForTime():
		e.timers.add(timer{at: e.now.UpAt(old.NotBefore), run: r.ID, kind: waitOver})
	}
}

// boot runs the @reboot entries of some crontabs, in order.
func (e *Engine) boot(of func(*crontab.File) bool) {
	for slot := range e.jobs.Len() {
		if entry := e.jobs.Entry(slot); entry.Schedule != timetable.Reboot || !of(entry.File()) {
			continue
		}
		j := e.firing(slot)
		if reason, detail := e.standing(j); reason != "" {
			e.skip(j, e.now.Wall, e.now.Wall, 1, reason, detail)
			continue
		}
		e.admit(j, e.now.Wall, job.TriggerBoot, job.AtBoot)
	}
}
