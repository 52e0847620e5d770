package engine

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/robfig/cron/v3"

	"github.com/cronring/cronring/crontab"
	"github.com/cronring/cronring/daemon/job"
)

// past is what is remembered of a job when tables are loaded.
type past struct {
	spec uint64
	mark int64
	ever int64 // the newest that was decided in any era: that of a ring job
}

// load replaces all crontabs. What takes long was done by Prepare, unless
// another load or a clock that was set back made that worthless.
func (e *Engine) load(ev Load) {
	p, first := ev.prepared, e.memory != nil
	if p == nil || p.before != e.jobs || e.now.Wall.Before(p.at) {
		p = prepare(&ev, e.jobs, e.now.Wall)
	}
	everything := first || e.node != ev.Node || !maps.Equal(e.labels, ev.Labels) || e.jobs.ring != ev.Ring || !maps.Equal(e.jobs.unfit, ev.Unfit)
	e.node, e.labels = ev.Node, ev.Labels
	if first && len(ev.Awaited) > 0 {
		e.awaited = e.memory.await(ev.Awaited)
	}
	late := e.agenda.due(e.now.Wall, e.pending)
	e.decideBefore(p, late)
	marks, fresh := e.marksOf(p)
	if first {
		e.awaited.forget(p.jobs.keys)
	}
	remembers := first || e.awaited != nil
	e.jobs, e.marks, e.agenda = p.jobs, marks, p.agenda
	e.enroll(ev.Ring)
	e.measure(ev.Limits, e.moveRuns(p, everything))
	e.holdFaulty()
	e.pending = e.behind(p, late, remembers)
	if p.changed || first {
		e.record(job.Record{Kind: job.Loaded, Detail: fmt.Sprintf("%d jobs from %d tables", e.jobs.len(), len(ev.Tables))})
		if first {
			e.emit(e.roster())
		} else {
			e.emit(p.roster(marks))
		}
	}
	if p.held {
		e.emit(Holdings{e.candidates()})
	}
	if first {
		if e.memory.Booted {
			fresh = e.jobs.once
		}
		e.restore()
	} else { // what a crontab's line missed before it was written is not missed
		fresh = slices.DeleteFunc(fresh, func(slot int) bool { return !anacronLine(e.jobs.entry(slot)) })
		e.welcome()
	}
	e.watchLater(p, everything)
	if first {
		e.unsettle(e.sorted())
		e.settle(len(e.unsettled) + len(e.unwatched))
	}
	for _, slot := range fresh {
		e.look(slot)
	}
}

// decideBefore decides, by the entries that p removes or gives other times, what
// came due before that edit was saved. late are the slots that have come due.
func (e *Engine) decideBefore(p *prepared, late []int) {
	if len(late) == 0 {
		return
	}
	stays := make([]bool, len(p.to))
	for old, slot := range p.to {
		stays[old] = slot >= 0 && p.from[slot] == old
	}
	for _, f := range p.fresh {
		if f.was >= 0 && f.same {
			stays[f.was] = true
		}
	}
	var seen lookup
	for _, slot := range late {
		if stays[slot] || e.jobs.isShared(slot) {
			continue
		}
		entry := e.jobs.entry(slot)
		until := p.since(entry.Table().Name, e.now.Wall)
		if e.draining { // nothing starts
			if due := seen.between(entry.Schedule, e.marks[slot], until); !due.empty() {
				e.skip(e.firing(slot), due.first, due.last(), due.older+len(due.list), job.JobRemoved, "")
			}
			continue
		}
		e.decide(slot, until, &seen)
		if e.jobs.family != nil {
			e.heed(slot)
		}
	}
}

// lastOfRemoved returns, for each crontab, the newest mark of the jobs that p
// removes from it. An edit of a command makes another job: where the daemon had
// run an occurrence by the text before when it read the edit, the job that the
// edit made must not run it again.
func (e *Engine) lastOfRemoved(p *prepared) map[string]int64 {
	last := map[string]int64{}
	for old, slot := range p.to {
		if slot < 0 && e.marks[old] <= e.now.Wall.UnixNano() {
			name := e.jobs.entry(old).Table().Name
			last[name] = max(last[name], e.marks[old])
		}
	}
	return last
}

// marksOf returns the marks of the jobs of p. A job that stays keeps its mark;
// one that is new, or whose times changed, starts from when its crontab was
// saved: nothing before is missed. periods lists the new ones that have a period.
func (e *Engine) marksOf(p *prepared) (marks []int64, periods []int) {
	var stored map[job.Key]past
	if e.memory != nil {
		stored = e.memory.past()
		p.jobs.rename(stored)
	}
	if e.awaited != nil {
		p.jobs.rename(e.awaited.past)
	}
	specs := specHashes{}
	marks = make([]int64, len(p.from))
	now := e.now.Wall.UnixNano()
	removed := e.lastOfRemoved(p)
	for slot, old := range p.from {
		if old >= 0 {
			marks[slot] = e.marks[old]
		}
	}
	for _, f := range p.fresh {
		slot, entry := f.slot, p.jobs.entry(f.slot)
		s := entry.Schedule
		var past past
		known, same := f.was >= 0, f.same
		if known {
			past.mark = e.marks[f.was]
		} else if past, known = stored[p.jobs.keys[slot]]; known {
			same = past.spec == specs.of(s)
		}
		late := !known && e.awaited.has(entry)
		if late {
			past, known = e.awaited.past[p.jobs.keys[slot]]
			same = known && past.spec == specs.of(s)
		}
		since := p.since(entry.Table().Name, e.now.Wall).UnixNano()
		switch {
		case !known:
			marks[slot] = max(since, removed[entry.Table().Name])
			if entry.Options().Period != nil {
				periods = append(periods, slot)
			}
		case !same:
			marks[slot] = afterEdit(past.mark, since, now)
		case entry.Options().Scope == crontab.ScopeRing:
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

// afterEdit is the mark of a job whose times were changed by an edit that was
// saved at since. A later one stands, also one just ahead of the clock, which
// was set back by a little: the new times may name that instant too.
func afterEdit(mark, since, now int64) int64 {
	if mark > since && mark-now < int64(smallStep) {
		return mark
	}
	return since
}

// afterOther is the mark of a job whose table another cron ran until since:
// what came due before then was its business, what came later is ours, of a job
// that was not known, too.
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

// awaited is what is remembered for tables that come later than the first
// Load, because nobody knew their accounts then.
type awaited struct {
	tables   map[string]bool
	past     map[job.Key]past
	lastSeen time.Time
	since    time.Time
	booted   bool
}

func (s *State) await(tables map[string]bool) *awaited {
	return &awaited{maps.Clone(tables), s.past(), s.LastSeen, s.Since, s.Booted}
}

// forget lets go of what is known of jobs that did not have to be waited for:
// a table of an account that was deleted may be awaited for ever.
func (a *awaited) forget(keys []job.Key) {
	if a == nil {
		return
	}
	for _, key := range keys {
		delete(a.past, key)
	}
	a.past = maps.Clone(a.past) // a map never shrinks
}

func (a *awaited) has(entry *crontab.Entry) bool {
	if a == nil {
		return false
	}
	_, ok := a.tables[entry.Table().Name]
	return ok
}

// welcome deals with awaited tables that have come.
func (e *Engine) welcome() {
	if e.awaited == nil {
		return
	}
	if e.awaited.booted {
		e.boot(func(t *crontab.Table) bool { return e.awaited.tables[t.Name] })
	}
	for _, t := range e.jobs.tables {
		delete(e.awaited.tables, t.Name)
	}
	if len(e.awaited.tables) == 0 {
		e.awaited = nil
	}
}

// past is what the roster and the marks of the store say. The roster is
// written anew with each era and holds the marks of those before.
func (s *State) past() map[job.Key]past {
	m := make(map[job.Key]past, len(s.Known))
	former := false
	for _, k := range s.Known {
		former = former || isFormer(k.Key)
		m[k.Key] = past{spec: k.Spec, mark: k.Since.UnixNano()}
	}
	for _, mk := range s.Marks {
		key := idKey(mk.Job)
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

// roster returns all jobs.
func (e *Engine) roster() Roster {
	r := Roster{Whole: true, Tables: make([]RosterTable, len(e.jobs.tables))}
	known := make([]Known, len(e.marks))
	for slot, key := range e.jobs.keys {
		known[slot].Key, known[slot].Since = key, time.Unix(0, e.marks[slot]).UTC()
	}
	for _, g := range e.jobs.groups {
		for _, slot := range g.members {
			known[slot].Spec = g.spec
		}
	}
	for i, t := range e.jobs.tables {
		r.Tables[i] = RosterTable{t.Name, known[e.jobs.first[i]:][:e.jobs.size(i)]}
	}
	return r
}

// specHashes names schedules by what they say rather than by address, so that
// a later process knows them again.
type specHashes map[cron.Schedule]uint64

func (m specHashes) of(s cron.Schedule) uint64 {
	h, ok := m[s]
	if !ok {
		h = hash(crontab.Identity(s))
		m[s] = h
	}
	return h
}

// group sorts the slots by schedule. from is what they carry over from those
// of before.
func (s *jobs) group(before []group, from []int) []group {
	came, index := s.newGroups(from)
	to := successors(from)
	groups := make([]group, 0, len(before)+len(came))
	for _, g := range before {
		stay := make([]int, 0, len(g.members))
		for _, old := range g.members {
			if old < len(to) && to[old] >= 0 {
				stay = append(stay, to[old])
			}
		}
		g.members = stay
		if at, ok := index[g.schedule]; ok {
			g.members = slices.Concat(stay, came[at].members)
			slices.Sort(g.members)
			came[at].members = nil
		}
		if len(g.members) > 0 {
			groups = append(groups, g)
		}
	}
	specs := specHashes{}
	for _, g := range came {
		if len(g.members) > 0 {
			g.spec = specs.of(g.schedule)
			groups = append(groups, g)
		}
	}
	return groups
}

// newGroups sorts the slots that carry nothing over. index is where a schedule
// stands.
func (s *jobs) newGroups(from []int) (groups []group, index map[cron.Schedule]int) {
	index = map[cron.Schedule]int{}
	var slots, of []int // of each of these: its group
	var sizes []int
	for slot, old := range from {
		if old >= 0 {
			continue
		}
		schedule := s.entry(slot).Schedule
		at, ok := index[schedule]
		if !ok {
			at = len(groups)
			index[schedule] = at
			groups, sizes = append(groups, group{schedule: schedule}), append(sizes, 0)
		}
		sizes[at]++
		slots, of = append(slots, slot), append(of, at)
	}
	for at, n := range sizes {
		groups[at].members = make([]int, 0, n)
	}
	for i, at := range of {
		groups[at].members = append(groups[at].members, slots[i])
	}
	return groups, index
}

// successors is, for each slot of before, the one that carries it over, or -1.
// None does after its end.
func successors(from []int) []int {
	var to []int
	for slot, old := range from {
		for old >= len(to) {
			to = append(to, -1)
		}
		if old >= 0 {
			to[old] = slot
		}
	}
	return to
}

// behind lists the slots with an occurrence between mark and now: late already,
// or, if it remembers jobs from before the first load, missed while the daemon
// was away.
func (e *Engine) behind(p *prepared, late []int, remembers bool) []int {
	if len(late) == 0 && !remembers {
		return nil
	}
	waits := make([]bool, len(p.to))
	for _, old := range late {
		waits[old] = true
	}
	behind := make([]bool, len(p.from))
	for slot, old := range p.from {
		behind[slot] = old >= 0 && waits[old]
	}
	var (
		schedule cron.Schedule
		since    int64
		missed   bool
	)
	for _, f := range p.fresh {
		switch mark := e.marks[f.slot]; {
		case f.was >= 0:
			behind[f.slot] = f.same && waits[f.was]
		case remembers:
			if s := e.jobs.entry(f.slot).Schedule; s != schedule || mark != since {
				next := nextAfter(s, time.Unix(0, mark).UTC())
				schedule, since, missed = s, mark, !next.IsZero() && !next.After(e.now.Wall)
			}
			behind[f.slot] = missed
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

// restore deals with the runs that were live when the daemon before this one
// ended, and runs @reboot entries at the first start after boot.
func (e *Engine) restore() {
	memory := e.memory
	e.memory = nil
	adopted := make(map[job.RunID]Adopted, len(memory.Adopted))
	for _, a := range memory.Adopted {
		adopted[a.Run] = a
	}
	e.following = true // what follows from an end depends on all that lives
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
	for _, id := range slices.Sorted(maps.Keys(e.byJob)) {
		e.promote(id)
	}
	if memory.Booted {
		e.boot(func(*crontab.Table) bool { return true })
	}
}

// lose records the end of a run whose end nobody saw. The entry of today says
// what that means.
func (e *Engine) lose(r job.Run) {
	r.State, r.Ended, r.Reason = job.RunEnded, e.now.Wall, job.DaemonDied
	r.Outcome = job.Outcome{Kind: job.Lost}
	lost := &run{Run: r, options: crontab.DefaultOptions()}
	if slot, ok := e.jobs.find(r.Job); ok && isOf(lost, e.jobs.entry(slot).User()) {
		lost.options, lost.zone = e.jobs.options(slot), e.jobs.entry(slot).Zone().Location()
	}
	lost.Verdict = judge(lost)
	e.recordRun(job.Ended, "", lost, "")
	e.conclude(lost)
}

// restoreWaiting takes a queued or waiting run back, unless the time that
// the daemon was away makes it a missed one that catchup= leaves out.
func (e *Engine) restoreWaiting(old job.Run, lastSeen time.Time) {
	r := &run{Run: old, recorded: &old, gate: queuedAt(old.Reason, old.Attempt)}
	slot, ok := e.jobs.find(old.Job)
	if !ok || !isOf(r, e.jobs.entry(slot).User()) { // or the name is another account's by now
		r.options = crontab.DefaultOptions()
		e.add(r)
		e.drop(r, job.JobRemoved)
		return
	}
	r.options, r.zone = e.jobs.options(slot), e.jobs.entry(slot).Zone().Location()
	e.add(r)
	e.watchStart(r)
	if e.reclaim(r); r.bid != nil {
		r.bid.since = lastSeen
		return
	}
	e.goOnWaiting(r, lastSeen)
}

// SignOfLife is how often a daemon stores that it lives while runs wait, if it
// has nothing else to store. After a crash a run that waited is as late as its
// daemon was away, and not as the last start or end before the crash is old.
const SignOfLife = time.Minute

// HasWaiting reports whether runs wait.
func (e *Engine) HasWaiting() bool { return len(e.stalled) > 0 }

func earlier(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}

// goOnWaiting lets a run that was taken back wait for what it waited for.
func (e *Engine) goOnWaiting(r *run, lastSeen time.Time) {
	old := r.Run
	slot, _ := e.slotOf(r)
	if old.Reason == job.WaitsForParents { // see reconsider
		e.giveUpLater(r)
		return
	}
	due := earlier(e.now.Wall, lastSeen.Add(SignOfLife))
	if old.NotBefore.After(due) {
		due = old.NotBefore
	}
	p := catchup(r.options, crontab.FixedTime(e.jobs.entry(slot).Schedule), []time.Time{due}, e.now.Wall)
	if old.Backfill != 0 { // of the past it is anyway
		p = plan{}
	}
	switch {
	case p.tooLate == 1:
		e.drop(r, job.PastDeadline)
	case p.missed == 1:
		e.drop(r, p.reason)
	case old.Reason == job.WaitsForDelay && old.NotBefore.Before(e.now.Wall): // the delay is there to spare a host that starts
		e.waitUntil(r, startOf(e.stamps, r.options.Period, e.now.Wall, r.zone))
		e.recordRun(job.Queued, "", r, waiting(r))
	case old.Reason == job.WaitsForCheck: // nobody knows what the command answered
		e.goOn(r, job.RanAfterCheck)
	case old.Reason == job.WaitsForSlot:
		e.lineUp(r)
	case r.waitsForTime():
		e.timers.add(timer{at: e.upAt(old.NotBefore), run: r.ID, kind: waitOver})
	}
}

// boot runs the @reboot entries of some tables, in table order.
func (e *Engine) boot(of func(*crontab.Table) bool) {
	for slot := range e.jobs.len() {
		if entry := e.jobs.entry(slot); entry.Schedule != crontab.Reboot || !of(entry.Table()) {
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
