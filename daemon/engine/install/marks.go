package install

import (
	"maps"
	"path"
	"slices"
	"time"

	"github.com/cronring/cronring/crontab"
	"github.com/cronring/cronring/crontab/option"
	"github.com/cronring/cronring/daemon/engine/agenda"
	"github.com/cronring/cronring/daemon/engine/catalog"
	"github.com/cronring/cronring/daemon/engine/effect"
	"github.com/cronring/cronring/daemon/job"
)

// Memory is the state of the jobs that an earlier daemon stored.
type Memory struct {
	jobs     map[job.Key]past
	lastSeen time.Time // when that daemon was last alive
	since    time.Time // until then another cron ran the same crontabs; zero: none did
}

// past is the stored state of a job.
type past struct {
	spec uint64
	mark int64
	ever int64 // the newest occurrence decided in any era: the mark of a ring job
}

// Remember returns the memory of the stored roster and marks. The roster is rewritten in
// each era and includes the marks of earlier eras.
func Remember(roster []effect.Known, marks []job.Mark, era job.Era, lastSeen, since time.Time) *Memory {
	m := make(map[job.Key]past, len(roster))
	former := false
	for _, k := range roster {
		former = former || catalog.IsFormer(k.Key)
		m[k.Key] = past{spec: k.Spec, mark: k.Since.UnixNano()}
	}
	for _, mk := range marks {
		key := catalog.KeyOf(mk.Job)
		if p, ok := m[key]; ok || former {
			p.ever = mk.Due.UnixNano()
			if mk.Era == era {
				p.mark = max(p.mark, p.ever)
			}
			m[key] = p
		}
	}
	return &Memory{jobs: m, lastSeen: lastSeen, since: since}
}

// rename moves state that is stored under keys of version 0.7 to the current keys.
func (m *Memory) rename(jobs *catalog.Catalog) {
	former := maps.Clone(m.jobs)
	maps.DeleteFunc(former, func(key job.Key, _ past) bool { return !catalog.IsFormer(key) })
	if len(former) == 0 {
		return
	}
	for slot := range jobs.Len() {
		if p, ok := former[catalog.FormerKey(jobs.Former(slot))]; ok {
			key := jobs.Key(slot)
			p.mark, p.ever = max(p.mark, m.jobs[key].mark), m.jobs[key].ever
			m.jobs[key] = p
		}
	}
}

// Awaited is the memory kept for crontabs that are loaded after the first Load, because
// their users were not known then. A nil Awaited keeps nothing.
type Awaited struct {
	*Memory
	Crontabs map[string]bool // whether it may be loaded later; see event.Load
	Booted   bool            // the host booted since the previous daemon
	Live     []job.Run       // were live, of users whose crontabs may be loaded later
}

// TakeLive removes and returns the runs in Live whose users' crontabs are among crontabs.
func (a *Awaited) TakeLive(crontabs []*crontab.File) (runs []job.Run) {
	loaded := make(map[string]bool, len(crontabs))
	for _, t := range crontabs {
		if a.Crontabs[t.Name] {
			loaded[t.Owner()] = true
		}
	}
	for _, r := range a.Live {
		if loaded[r.User] {
			runs = append(runs, r)
		}
	}
	a.Live = slices.DeleteFunc(a.Live, func(r job.Run) bool { return loaded[r.User] })
	return runs
}

// Users returns the users whose crontabs may be loaded later.
func (a *Awaited) Users() map[string]bool {
	users := map[string]bool{}
	if a != nil {
		for name, later := range a.Crontabs {
			if later { // a user's crontab has the name of its user
				users[path.Base(name)] = true
			}
		}
	}
	return users
}

// LastSeen returns when the earlier daemon was last alive.
func (m *Memory) LastSeen() time.Time { return m.lastSeen }

// Forget drops the state of jobs that the first Load installed. A crontab whose user was
// deleted may be awaited forever, so the state should be small.
func (a *Awaited) Forget(jobs *catalog.Catalog) {
	if a == nil {
		return
	}
	for i := range jobs.Len() {
		delete(a.jobs, jobs.Key(i))
	}
	a.jobs = maps.Clone(a.jobs) // a map never shrinks
}

// Len returns how many jobs the memory has.
func (a *Awaited) Len() int { return len(a.jobs) }

func (a *Awaited) has(entry *crontab.Entry) bool {
	if a == nil {
		return false
	}
	_, ok := a.Crontabs[entry.File().Name]
	return ok
}

// Marks returns the marks of the installed jobs: for each, the newest occurrence that is
// decided, in Unix nanoseconds. A job that stays keeps its mark. A job that is new, or
// whose times changed, starts from when its crontab was saved, so it has missed nothing
// before that. before are the marks of the jobs that were installed before. memory is set
// for the first Load, and awaited for crontabs that it could not load. periods lists the
// new jobs that have a period.
func (p *Prepared) Marks(before []int64, at time.Time, memory *Memory, awaited *Awaited) (marks []int64, periods []int) {
	if memory != nil {
		memory.rename(p.Jobs)
	}
	if awaited != nil {
		awaited.rename(p.Jobs)
	}
	specs := catalog.Specs{}
	marks = make([]int64, len(p.From))
	now := at.UnixNano()
	removed := p.lastOfRemoved(before, now)
	for slot, old := range p.From {
		if old >= 0 {
			marks[slot] = before[old]
		}
	}
	var file *crontab.File // of the last entry, and when it was saved
	var since int64
	for _, f := range p.Fresh {
		slot, entry := f.Job, p.Jobs.Entry(f.Job)
		if entry.File() != file {
			file = entry.File()
			since = p.Since(file.Name, at).UnixNano()
		}
		s := entry.Schedule
		var past past
		known, same := f.Was >= 0, f.Same
		if known {
			past.mark = before[f.Was]
		} else if memory != nil {
			past, known = memory.jobs[p.Jobs.Key(slot)]
			same = known && past.spec == specs.Of(s)
		}
		late := !known && awaited.has(entry)
		if late {
			past, known = awaited.jobs[p.Jobs.Key(slot)]
			same = known && past.spec == specs.Of(s)
		}
		switch {
		case !known:
			marks[slot] = max(since, removed[file.Name])
			if entry.Options().Period != nil {
				periods = append(periods, slot)
			}
		case !same:
			marks[slot] = afterEdit(past.mark, since, now)
		case entry.Options().Scope == option.ScopeRing:
			marks[slot] = max(past.mark, past.ever)
		case late:
			marks[slot] = agenda.AfterSetBack(s, past.mark, now, awaited.lastSeen.Sub(at))
		case memory != nil: // the clock may have been set while no daemon ran
			marks[slot] = agenda.AfterSetBack(s, past.mark, now, memory.lastSeen.Sub(at))
		default:
			marks[slot] = past.mark
		}
		switch {
		case memory != nil:
			marks[slot] = afterOther(marks[slot], now, memory.since, known)
		case late:
			marks[slot] = afterOther(marks[slot], now, awaited.since, known)
		}
	}
	return marks, periods
}

// lastOfRemoved returns, for each crontab, the newest mark of the jobs that are removed
// from it. Editing a command makes another job. If the daemon already ran an occurrence
// with the old text when it read the edit, the new job must not run that occurrence
// again.
func (p *Prepared) lastOfRemoved(marks []int64, now int64) map[string]int64 {
	last := map[string]int64{}
	for i, t := range p.Before.Crontabs() {
		var newest int64
		first, past := p.Before.Of(i)
		for old := first; old < past; old++ {
			if p.To[old] < 0 && marks[old] <= now {
				newest = max(newest, marks[old])
			}
		}
		last[t.Name] = newest
	}
	return last
}

// afterEdit returns the mark of a job whose times were changed by an edit that was saved
// at since. A later mark is kept, even if it is slightly in the future because the clock
// was set back: the new times may contain the same instant.
func afterEdit(mark, since, now int64) int64 {
	if mark > since && mark-now < int64(agenda.SmallStep) {
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
