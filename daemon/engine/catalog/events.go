package catalog

import "github.com/cronring/cronring/crontab/option"

// events lists the jobs that events in on= start, other than the ends of runs.
type events struct {
	resume, clock, files []int
	named                map[string][]int // by the name of an event that users emit
}

func (e *events) add(i int, t *option.Triggers) {
	if t == nil {
		return
	}
	if t.Resume {
		e.resume = append(e.resume, i)
	}
	if t.Clock {
		e.clock = append(e.clock, i)
	}
	if len(t.Files) > 0 {
		e.files = append(e.files, i)
	}
	for _, s := range t.Events {
		if e.named == nil {
			e.named = map[string][]int{}
		}
		if list := e.named[s.Name]; len(list) == 0 || list[len(list)-1] != i {
			e.named[s.Name] = append(list, i)
		}
	}
}

// OnResume returns the jobs with on=resume.
func (c *Catalog) OnResume() []int { return c.events.resume }

// OnClock returns the jobs with on=clock.
func (c *Catalog) OnClock() []int { return c.events.clock }

// OnFiles returns the jobs with on=file:.
func (c *Catalog) OnFiles() []int { return c.events.files }

// StartedBy returns the jobs that an event starts if a user emits it. admin reports whether that is an
// administrator.
func (c *Catalog) StartedBy(name, user string, admin bool) (jobs []int) {
	for _, i := range c.events.named[name] {
		for _, s := range c.Entry(i).Options().Triggers.Events {
			if s.Matches(name, user, admin, c.Entry(i).User()) {
				jobs = append(jobs, i)
				break
			}
		}
	}
	return jobs
}
