package engine

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"iter"
	"maps"
	"slices"

	"github.com/robfig/cron/v3"

	"github.com/cronring/cronring/crontab"
	"github.com/cronring/cronring/daemon/job"
)

// share lists the ring jobs by key, so that they are found by it, and connects
// those that belong together.
func (s *jobs) share(slots []int) {
	if s.shared = slots; len(slots) == 0 {
		return
	}
	s.toll = 1
	s.ringKeys = make(map[int]job.Key, len(slots))
	for _, slot := range slots {
		s.ringKeys[slot] = job.KeyOf(s.id(slot), s.entry(slot).User())
	}
	slices.SortFunc(s.shared, func(a, b int) int { return s.ringKeys[a].Compare(s.ringKeys[b]) })
	s.clans = s.findClans()
}

// sharedBy finds a ring job by its ring key.
func (s *jobs) sharedBy(key job.Key) (slot int, ok bool) {
	at, ok := slices.BinarySearchFunc(s.shared, key, func(slot int, key job.Key) int { return s.ringKeys[slot].Compare(key) })
	if !ok {
		return 0, false
	}
	return s.shared[at], true
}

// findClans finds the ring jobs that after= and on= connect, by slot.
func (s *jobs) findClans() map[int]*clan {
	if s.family == nil {
		return nil
	}
	over := map[int]int{} // a step towards the one that stands for all of a clan
	root := func(slot int) int {
		for {
			next, ok := over[slot]
			if !ok || next == slot {
				return slot
			}
			if after, ok := over[next]; ok {
				over[slot] = after
			}
			slot = next
		}
	}
	for at, child := range s.family.edged {
		if !s.isShared(child) {
			continue
		}
		for _, links := range [][]crontab.Link{s.family.graph.After[at], s.family.graph.On[at]} {
			for _, link := range links {
				a, b := root(child), root(link.Parent)
				over[a] = a
				over[b] = a
			}
		}
	}
	if len(over) == 0 {
		return nil
	}
	clans, byRoot := map[int]*clan{}, map[int]*clan{}
	for slot := range over {
		c := byRoot[root(slot)]
		if c == nil {
			c = &clan{key: s.ringKeys[slot], first: slot}
			byRoot[root(slot)] = c
		}
		c.slots = append(c.slots, slot)
		if s.ringKeys[slot].Compare(c.key) < 0 {
			c.key, c.first = s.ringKeys[slot], slot
		}
		clans[slot] = c
	}
	for _, c := range byRoot {
		slices.Sort(c.slots)
	}
	return clans
}

// parted is why a job must not run that waits for, or starts on, one that is
// another kind of scope's: the one is on one member and the other on each.
func (s *jobs) parted(child int, links []crontab.Link) string {
	for _, link := range links {
		if s.isShared(child) != s.isShared(link.Parent) {
			return "names " + string(s.id(link.Parent)) + ", and scope=ring is said of only one of them"
		}
	}
	return ""
}

// part holds the jobs whose edges lead out of the ring or into it.
func (s *jobs) part() {
	f := s.family
	if f == nil {
		return
	}
	for at, child := range f.edged {
		key, why := "after=", s.parted(child, f.graph.After[at])
		if why == "" {
			key, why = "on=", s.parted(child, f.graph.On[at])
		}
		if why == "" {
			continue
		}
		if _, faulty := f.graph.Faults[child]; !faulty {
			f.graph.Faults[child] = crontab.Fault{Key: key[:len(key)-1], Code: crontab.CodeNobody, Text: key + " " + why}
		}
		f.graph.After[at], f.graph.On[at] = nil, nil
	}
}

// ringFault is why an entry of scope=ring must not run here at all, or "".
func ringFault(entry *crontab.Entry, o *crontab.Options, mode RingMode) string {
	switch {
	case o.Scope != crontab.ScopeRing:
		return ""
	case entry.Schedule == crontab.Reboot:
		return "scope=ring: each host starts by itself, so @reboot cannot be one member's"
	case o.Period != nil:
		return "scope=ring: each host has days of its own on which its periods ran, so a line that runs once in a period cannot be one member's"
	case mode == NoRing:
		return "scope=ring: this host is in no ring"
	case mode == Available && o.Partitioned == crontab.PartitionedHold:
		return "if-partitioned=hold needs voters: the ring's mode is available"
	}
	return ""
}

// holdings returns the ring jobs that this host can run, by key.
func (s *jobs) holdings() []Holding {
	if s.ring == NoRing || len(s.shared) == 0 {
		return nil
	}
	held, specs := make([]Holding, 0, len(s.shared)), map[cron.Schedule]job.Key{}
	for _, slot := range s.shared {
		if o := s.options(slot); o.Enabled && o.Held == "" {
			held = append(held, Holding{s.ringKeys[slot], s.entryHash(slot, specs), s.formerHash(slot)})
		}
	}
	return held
}

// isCandidate reports whether this host can run a ring job: its entry is neither
// disabled nor held, and its user exists here and may log in.
func (e *Engine) isCandidate(slot int) bool {
	o := e.jobs.options(slot)
	_, barred := e.bars[e.jobs.entry(slot).User()]
	return o.Enabled && o.Held == "" && !barred
}

// candidates returns those of jobs.held whose users may run jobs here. The other
// members do not wait for this one with the rest.
func (e *Engine) candidates() []Holding {
	if len(e.bars) == 0 {
		return e.jobs.held
	}
	var all []Holding
	for slot, h := range e.jobs.eachHeld() {
		if e.isCandidate(slot) {
			all = append(all, h)
		}
	}
	return all
}

// bar changes which users may run no jobs.
func (e *Engine) bar(users map[string]Barred) {
	before := e.candidates()
	e.bars = maps.Clone(users)
	if now := e.candidates(); e.ring != nil && !slices.Equal(before, now) {
		e.emit(Holdings{now})
	}
}

// eachHeld returns jobs.held with their jobs.
func (s *jobs) eachHeld() iter.Seq2[int, Holding] {
	return func(yield func(int, Holding) bool) {
		held := s.held
		for _, slot := range s.shared {
			if len(held) == 0 {
				return
			}
			if held[0].Key != s.ringKeys[slot] { // it is disabled or held
				continue
			}
			if !yield(slot, held[0]) {
				return
			}
			held = held[1:]
		}
	}
}

// entryHash returns a SHA-256 of all that an entry says, but not of where it is
// written, which may differ from host to host. Each text is hashed with its length,
// so that no two entries are hashed alike. specs remembers the hashes of schedules.
func (s *jobs) entryHash(slot int, specs map[cron.Schedule]job.Key) job.Key {
	e := s.entry(slot)
	spec, ok := specs[e.Schedule]
	if !ok {
		spec = job.SumKey([]byte(crontab.Identity(e.Schedule)))
		specs[e.Schedule] = spec
	}
	b := append(make([]byte, 0, 512), spec[:]...)
	add := func(text string) { b = append(binary.AppendUvarint(b, uint64(len(text))), text...) }
	stdin, _ := e.Stdin()
	for _, text := range []string{string(s.id(slot)), e.User(), e.Command(), stdin, e.Dir()} {
		add(text)
	}
	env := e.Env()
	b = binary.AppendUvarint(b, uint64(len(env)))
	for _, text := range env {
		add(text)
	}
	items := slices.Clone(e.Options().Items)
	slices.SortStableFunc(items, func(a, b crontab.Option) int { return cmp.Compare(a.Key, b.Key) })
	for _, it := range items {
		add(it.Key)
		add(it.Value)
	}
	return job.SumKey(b)
}

// judgeShards finds the entries that shards= would make too many jobs of.
func (s *jobs) judgeShards() (short map[int]string) {
	for i, sheet := range s.sheets {
		if sheet == nil {
			continue
		}
		for _, k := range sheet.excess {
			if short == nil {
				short = map[int]string{}
			}
			short[s.first[i]+k] = fmt.Sprintf("shards= of its table makes more than %d jobs", mostShards)
		}
	}
	return short
}

// shardFault is why an entry with shards= must not run, or "".
func shardFault(o *crontab.Options) string {
	if o.Shards > 1 && o.Period != nil {
		return "shards=: a line that runs once in a period leaves one stamp, so it cannot be several jobs"
	}
	return ""
}
