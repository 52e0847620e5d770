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

// group sorts the jobs by schedule. It uses the hashes of before again.
func (c *Catalog) group(before *Catalog) {
	specs := make(Specs, len(before.groups))
	for _, old := range before.groups {
		specs[old.Schedule] = old.Spec
	}
	index := map[cron.Schedule]int{}
	for i := range c.jobs {
		schedule := c.jobs[i].entry.Schedule
		g, ok := index[schedule]
		if !ok {
			g = len(c.groups)
			index[schedule] = g
			c.groups = append(c.groups, Group{Schedule: schedule, Spec: specs.Of(schedule)})
		}
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
		h = hash(timetable.Identity(s))
		m[s] = h
	}
	return h
}
