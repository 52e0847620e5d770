package engine

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/cronring/cronring/crontab"
)

// share lists the ring jobs by key, so that they are found by it, and connects
// those that belong together.
func (s *jobs) share(slots []int32) {
	if s.shared = slots; len(slots) == 0 {
		return
	}
	s.toll = 1
	slices.SortFunc(s.shared, func(a, b int32) int { return cmp.Compare(s.keys[a], s.keys[b]) })
	s.clans = s.findClans()
}

// sharedBy finds a ring job by its key.
func (s *jobs) sharedBy(key uint64) (slot int32, ok bool) {
	at, ok := slices.BinarySearchFunc(s.shared, key, func(slot int32, key uint64) int { return cmp.Compare(s.keys[slot], key) })
	if !ok {
		return 0, false
	}
	return s.shared[at], true
}

// findClans finds the ring jobs that after= and on= connect, by slot.
func (s *jobs) findClans() map[int32]*clan {
	if s.family == nil {
		return nil
	}
	over := map[int32]int32{} // a step towards the one that stands for all of a clan
	root := func(slot int32) int32 {
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
	clans, byRoot := map[int32]*clan{}, map[int32]*clan{}
	for slot := range over {
		c := byRoot[root(slot)]
		if c == nil {
			c = &clan{key: s.keys[slot], first: slot}
			byRoot[root(slot)] = c
		}
		c.slots = append(c.slots, slot)
		if s.keys[slot] < c.key {
			c.key, c.first = s.keys[slot], slot
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
func (s *jobs) parted(child int32, links []crontab.Link) string {
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

// holdings is the ring jobs that this host can run.
func (s *jobs) holdings() []Holding {
	if s.ring == NoRing || len(s.shared) == 0 {
		return nil
	}
	held, specs := make([]Holding, 0, len(s.shared)), specHashes{}
	for _, slot := range s.shared {
		if o := s.options(slot); o.Enabled && o.Held == "" {
			held = append(held, Holding{s.keys[slot], s.entryHash(slot, specs)})
		}
	}
	return held
}

// entryHash is a hash of all that an entry says: but not of where it stands,
// which may differ from host to host.
func (s *jobs) entryHash(slot int32, specs specHashes) uint64 {
	e := s.entry(slot)
	stdin, _ := e.Stdin()
	h := specs.of(e.Schedule)
	add := func(text string) { h = (h ^ hash(text)) * 1099511628211 }
	for _, text := range []string{string(s.id(slot)), e.User(), e.Command(), stdin, e.Dir()} {
		add(text)
	}
	for _, text := range e.Env() {
		add(text)
	}
	add("")
	items := slices.Clone(e.Options().Items)
	slices.SortStableFunc(items, func(a, b crontab.Option) int { return cmp.Compare(a.Key, b.Key) })
	for _, it := range items {
		add(it.Key + "=" + it.Value)
	}
	return h
}

// judgeShards finds the entries that shards= would make too many jobs of.
func (s *jobs) judgeShards() (short map[int32]string) {
	for i, sheet := range s.sheets {
		if sheet == nil {
			continue
		}
		for _, k := range sheet.excess {
			if short == nil {
				short = map[int32]string{}
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
