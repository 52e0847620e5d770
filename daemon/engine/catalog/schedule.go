package catalog

import (
	"github.com/robfig/cron/v3"

	"github.com/cronring/cronring/crontab"
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

// group sorts the jobs by schedule. before has hashes that are known already.
func (c *Catalog) group(before []Group) {
	specs := make(Specs, len(before))
	for _, g := range before {
		specs[g.Schedule] = g.Spec
	}
	index := map[cron.Schedule]int{}
	of := make([]int, len(c.jobs)) // by job: its group
	var sizes []int
	for i := range c.jobs {
		schedule := c.jobs[i].entry.Schedule
		g, ok := index[schedule]
		if !ok {
			g = len(sizes)
			index[schedule] = g
			sizes = append(sizes, 0)
		}
		sizes[g]++
		of[i] = g
	}
	c.groups = make([]Group, len(sizes))
	room := make([]int, len(c.jobs))
	for schedule, g := range index {
		c.groups[g], room = Group{schedule, specs.Of(schedule), room[:0:sizes[g]]}, room[sizes[g]:]
	}
	for i, g := range of {
		c.groups[g].Jobs = append(c.groups[g].Jobs, i)
	}
}

// Specs remembers hashes of what schedules say: times, zone and modifiers. Unlike
// the address of a schedule, its hash is the same in a later process.
type Specs map[cron.Schedule]uint64

// Of returns the hash of a schedule.
func (m Specs) Of(s cron.Schedule) uint64 {
	h, ok := m[s]
	if !ok {
		h = hash(crontab.Identity(s))
		m[s] = h
	}
	return h
}
