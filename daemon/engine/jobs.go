package engine

import (
	"cmp"
	"sort"

	"github.com/cronring/cronring/crontab"
	"github.com/cronring/cronring/daemon/job"
)

// jobs is what is installed: the entries of all tables, numbered through as
// slots. It is immutable. A host may hold a million entries, so it keeps eight
// bytes for each beside the entry itself and makes the rest when asked.
type jobs struct {
	tables []*crontab.Table
	first  []int32          // slot of each table's first entry
	keys   []uint64         // per slot: hash of the ID, to find it by
	twins  map[int32]int    // per slot: ordinal among entries alike, where above 1
	taken  map[int32]int32  // slots whose name= an earlier slot has
	once   []int32          // slots of entries that run once in a period
	daily  map[string]bool  // IDs of periods that an anacrontab asks about each day
	pooled []int32          // slots of entries with pool=
	short  map[int32]string // of them, those that ask for more than there is, and why; see judgePools
	watch  []int32          // slots with expect=, or of whose hold channels want to know
	unfit  map[*crontab.Options]string
	family *family // whom after= and on= connect; nil: nobody
}

// newJobs numbers the entries of tables. What before knows of a table that has
// not changed is used again.
func newJobs(tables []*crontab.Table, before *jobs) *jobs {
	n := 0
	s := &jobs{tables: tables, first: make([]int32, len(tables)), twins: map[int32]int{}, taken: map[int32]int32{}, daily: map[string]bool{}}
	for i, t := range tables {
		s.first[i] = int32(n)
		n += len(t.Entries)
	}
	s.keys = make([]uint64, n)
	seen := make(map[uint64]int32, n)
	var edged []int32
	known := before.starts()
	for i, t := range tables {
		old, same := known[t]
		for k := range t.Entries {
			slot := s.first[i] + int32(k)
			s.keys[slot] = s.name(slot, &t.Entries[k], before.natural(old+int32(k), same), seen)
			o := t.Entries[k].Options()
			if o.Pool != "" {
				s.pooled = append(s.pooled, slot)
			}
			if o.Expect > 0 || tells(o, crontab.NoticeHeld) {
				s.watch = append(s.watch, slot)
			}
			if p := o.Period; p != nil {
				s.once = append(s.once, slot)
				s.daily[p.ID] = s.daily[p.ID] || anacronLine(&t.Entries[k])
			}
			if len(o.After)+len(o.On) > 0 {
				edged = append(edged, slot)
			}
		}
	}
	s.family = s.connect(edged, seen)
	return s
}

// carried is, for each slot, the one that the same entry of the same table had
// before, under the same key, or -1.
func (s *jobs) carried(before *jobs) []int32 {
	from := make([]int32, s.len())
	known := before.starts()
	for i, t := range s.tables {
		old, same := known[t]
		for k := range int32(len(t.Entries)) {
			slot := s.first[i] + k
			if from[slot] = -1; same && s.keys[slot] == before.keys[old+k] {
				from[slot] = old + k
			}
		}
	}
	return from
}

// starts is where each table begins.
func (s *jobs) starts() map[*crontab.Table]int32 {
	first := make(map[*crontab.Table]int32, len(s.tables))
	for i, t := range s.tables {
		first[t] = s.first[i]
	}
	return first
}

// natural is the key of a slot as if it had no twin, or 0 where that is not
// known.
func (s *jobs) natural(slot int32, known bool) uint64 {
	if !known || s.twins[slot] > 0 {
		return 0
	}
	return s.keys[slot]
}

// name settles the identity of a slot and returns its key: the ordinal of a
// twin, or that another entry has its name already. key is the one without
// that, if it is known.
func (s *jobs) name(slot int32, entry *crontab.Entry, key uint64, seen map[uint64]int32) uint64 {
	if key == 0 {
		key = hash(string(s.id(slot)))
	}
	other, dup := seen[key]
	if dup && entry.Options().Name != "" {
		s.taken[slot] = other
	}
	for twin := 2; dup; twin++ {
		s.twins[slot] = twin
		key = hash(string(s.id(slot)))
		_, dup = seen[key]
	}
	seen[key] = slot
	return key
}

func (s *jobs) len() int32 { return int32(len(s.keys)) }

func (s *jobs) entry(slot int32) *crontab.Entry {
	t := sort.Search(len(s.first), func(i int) bool { return s.first[i] > slot }) - 1
	return &s.tables[t].Entries[slot-s.first[t]]
}

func (s *jobs) id(slot int32) job.ID {
	e := s.entry(slot)
	if name := e.Options().Name; name != "" && s.twins[slot] == 0 {
		return job.ID(name)
	}
	return job.DeriveID(e.Table().Name, e.User(), e.Command(), s.twins[slot])
}

// options are the entry's own, but for an entry whose name is taken: it is held
// if the other one is of the same hand, and else runs without the name; and for
// one whose edges are at fault, which is held.
func (s *jobs) options(slot int32) *crontab.Options {
	o := s.entry(slot).Options()
	if why := cmp.Or(s.family.fault(slot), s.short[slot], s.unfit[o]); why != "" && o.Held == "" {
		held := *o
		held.Held = why
		return &held
	}
	other, ok := s.taken[slot]
	switch {
	case ok && o.Degraded == "" && s.entry(slot).Hand() != s.entry(other).Hand():
		degraded := *o
		degraded.Degraded = "name=" + o.Name + " is the name of another account's job; this one goes by another"
		return &degraded
	case ok && o.Held == "" && s.entry(slot).Hand() == s.entry(other).Hand():
		held := *o
		held.Held = "the name " + o.Name + " is taken by an entry of " + s.entry(other).Table().Name
		return &held
	}
	return o
}

func (s *jobs) find(id job.ID) (slot int32, ok bool) {
	h := hash(string(id))
	for i, x := range s.keys {
		if x == h && s.id(int32(i)) == id {
			return int32(i), true
		}
	}
	return 0, false
}

func (s *jobs) job(slot int32) job.Job { return describe(s.id(slot), s.entry(slot), s.options(slot)) }

// Describe makes the job of an entry. It is for who keeps the entry of a run,
// which is small, rather than the Job that came with its Start.
func Describe(id job.ID, e *crontab.Entry) job.Job { return describe(id, e, e.Options()) }

func describe(id job.ID, e *crontab.Entry, o *crontab.Options) job.Job {
	stdin, _ := e.Stdin()
	j := job.Job{
		ID: id, Table: e.Table().Name, Line: e.Line(), User: e.User(),
		Schedule: e.Spec(), Zone: e.Zone().String(), Command: e.Command(), Stdin: stdin, Dir: e.Dir(), Env: e.Env(),
		Disabled: !o.Enabled, Held: o.Held, Degraded: o.Degraded,
	}
	if len(o.Items) > 0 {
		j.Options = make(map[string]string, len(o.Items))
		for _, it := range o.Items {
			j.Options[it.Key] = it.Value
		}
	}
	return j
}

// hash is FNV-1a, 64 bits, written out because a host may have a million IDs
// and hash/fnv copies each.
func hash(s string) uint64 {
	h := uint64(14695981039346656037)
	for i := range len(s) {
		h = (h ^ uint64(s[i])) * 1099511628211
	}
	return h
}
