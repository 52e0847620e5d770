package catalog

import (
	"github.com/robfig/cron/v3"

	"github.com/cronring/cronring/crontab/timetable"
)

// Group is the jobs of one schedule: entries with the same times in the same zone
// share a schedule value.
type Group struct {
	Schedule cron.Schedule
	Spec     uint64 // see Specs
	Jobs     []int  // in order
}

// Groups returns all jobs by schedule. Callers must not change it.
func (c *Catalog) Groups() []Group { return c.groups }

// group sorts the jobs by schedule. For crontabs that are in before too, it uses the
// earlier results again.
func (c *Catalog) group(before *Catalog) {
	specs := make(Specs, len(before.groups))
	moved := make([]int32, len(before.groups)) // where its groups are now; -1: not known yet
	for g, old := range before.groups {
		specs[old.Schedule], moved[g] = old.Spec, -1
	}
	index, places := map[cron.Schedule]int32{}, before.places()
	var sizes []int
	find := func(schedule cron.Schedule) int32 {
		g, ok := index[schedule]
		if !ok {
			g = int32(len(sizes))
			index[schedule] = g
			sizes = append(sizes, 0)
		}
		return g
	}
	for t, file := range c.crontabs {
		first, past := c.Of(t)
		place, kept := places[file]
		for i := first; i < past; i++ {
			x := &c.jobs[i]
			if !kept {
				x.group = find(x.entry.Schedule)
			} else {
				g := &moved[before.jobs[before.first[place]+i-first].group]
				if *g < 0 {
					*g = find(x.entry.Schedule)
				}
				x.group = *g
			}
			sizes[x.group]++
		}
	}
	c.groups = make([]Group, len(sizes))
	room := make([]int, len(c.jobs))
	for schedule, g := range index {
		c.groups[g], room = Group{schedule, specs.Of(schedule), room[:0:sizes[g]]}, room[sizes[g]:]
	}
	for i := range c.jobs {
		g := &c.groups[c.jobs[i].group]
		g.Jobs = append(g.Jobs, i)
	}
}

// Specs remembers hashes of what schedules say: times, zone and modifiers. Unlike
// the address of a schedule, its hash is the same in a later process.
type Specs map[cron.Schedule]uint64

// Of returns the hash of a schedule.
func (m Specs) Of(s cron.Schedule) uint64 {
	h, ok := m[s]
	if !ok {
		h = hash(timetable.Identity(s))
		m[s] = h
	}
	return h
}
