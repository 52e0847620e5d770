package catalog

import (
	"maps"
	"strconv"
	"strings"

	"github.com/cronring/cronring/crontab"
	"github.com/cronring/cronring/crontab/option"
	"github.com/cronring/cronring/crontab/timetable"
	"github.com/cronring/cronring/daemon/job"
)

// maxShards limits how many jobs shards= adds to those of a crontab.
const maxShards = 100_000

// Catalog contains the installed jobs. It is immutable. The zero value has no jobs.
type Catalog struct {
	crontabs []*crontab.File
	first    []int // by crontab: its first job
	jobs     []installed
	second   map[int]int // by the first shard of an entry: its second
	whole    map[int]int // by each other shard: the first

	ownerless bool // IDs are as in version 0.7; see Renames
	byKey     map[job.Key]int
	twins     map[int]twin
	taken     map[int]int // jobs whose name= another job of the same owner uses; the value is that job

	graph   graph
	ring    ring
	groups  []Group
	once    []int // jobs that run once in a period
	oncePer []int // jobs with once-per=
	delayed []int // jobs with delay=
	counted []int // jobs with pause-counts=
	events  events
	daily   map[string]bool // IDs of periods; true if an anacrontab checks the period every day
	held    map[int]string  // why jobs must not run although their entries could
}

// installed is an entry, or one shard of it.
type installed struct {
	entry *crontab.Entry
	key   job.Key // of its ID alone
	shard int
}

// New returns the catalog of crontabs. before is the catalog that it replaces, or nil;
// for crontabs that are in both, identities are not computed again. unfit returns why the
// host cannot run an entry, or ""; if it is nil, the host can run all entries.
func New(crontabs []*crontab.File, before *Catalog, unfit func(*crontab.Entry) string) *Catalog {
	if before == nil {
		before = &Catalog{}
	}
	c := &Catalog{crontabs: crontabs}
	excess := c.install()
	unfits := c.classify(unfit)
	c.identify(before)
	c.connect()
	c.findRing()
	c.group(before)
	c.judge(excess, unfits)
	c.ring.holdings = c.findHoldings()
	return c
}

// install lists the jobs of all crontabs. It returns the entries whose shards would
// be too many.
func (c *Catalog) install() (excess []int) {
	n := 0
	for _, t := range c.crontabs {
		n += len(t.Entries)
	}
	c.jobs, c.second, c.whole = make([]installed, 0, n), map[int]int{}, map[int]int{}
	for _, t := range c.crontabs {
		first := len(c.jobs)
		c.first = append(c.first, first)
		for k := range t.Entries {
			c.jobs = append(c.jobs, installed{entry: &t.Entries[k]})
		}
		left := maxShards
		for k := range t.Entries {
			switch more := t.Entries[k].Options().Shards - 1; {
			case more <= 0:
			case more > left:
				excess = append(excess, first+k)
			default:
				left -= more
				c.second[first+k] = len(c.jobs)
				for n := range more {
					c.whole[len(c.jobs)] = first + k
					c.jobs = append(c.jobs, installed{entry: &t.Entries[k], shard: n + 1})
				}
			}
		}
	}
	return excess
}

// classify lists the jobs that refer to others, the ring jobs and the jobs with a period,
// and returns why jobs are unfit. It reads the options of all entries once.
func (c *Catalog) classify(unfit func(*crontab.Entry) string) (unfits map[int]string) {
	c.daily, unfits = map[string]bool{}, map[int]string{}
	for i := range c.jobs {
		e := c.jobs[i].entry
		o := e.Options()
		if len(o.After)+len(o.On) > 0 {
			c.graph.edged = append(c.graph.edged, i)
		}
		if o.Scope == option.ScopeRing {
			c.ring.jobs = append(c.ring.jobs, i)
		}
		if p := o.Period; p != nil {
			c.once = append(c.once, i)
			c.daily[p.ID] = c.daily[p.ID] || e.File().Format == crontab.Anacron
		}
		c.events.add(i, o.Triggers)
		if o.OncePer != option.OncePerNone {
			c.oncePer = append(c.oncePer, i)
		}
		if timetable.DelayOf(e.Schedule) > 0 {
			c.delayed = append(c.delayed, i)
		}
		if o.PauseCounts {
			c.counted = append(c.counted, i)
		}
		if unfit != nil {
			if why := unfit(e); why != "" {
				unfits[i] = why
			}
		}
	}
	return unfits
}

// judge finds the jobs that must not run. The first reason found for a job is kept.
func (c *Catalog) judge(excess []int, unfits map[int]string) {
	c.held = map[int]string{}
	for i, fault := range c.graph.Faults {
		c.hold(i, fault.Text)
	}
	for i, why := range unfits {
		c.hold(i, why)
	}
	for _, i := range c.once {
		if c.Entry(i).Options().Shards > 1 {
			c.hold(i, job.HeldShardsOfPeriod)
		}
	}
	for _, i := range excess {
		c.hold(i, job.HeldShards(maxShards))
	}
	for i, other := range c.taken {
		c.hold(i, job.HeldName(c.Entry(i).Options().Name, c.Entry(other).File().Name))
	}
}

func (c *Catalog) hold(i int, why string) {
	if why != "" && c.held[i] == "" {
		c.held[i] = why
	}
}

// Crontabs returns the crontabs.
func (c *Catalog) Crontabs() []*crontab.File { return c.crontabs }

// Of returns the jobs of a crontab, which is an index into Crontabs: all numbers from first
// up to, but not including, past.
func (c *Catalog) Of(file int) (first, past int) {
	if file+1 < len(c.first) {
		return c.first[file], c.first[file+1]
	}
	return c.first[file], len(c.jobs)
}

// places returns where each crontab is in crontabs.
func (c *Catalog) places() map[*crontab.File]int {
	places := make(map[*crontab.File]int, len(c.crontabs))
	for i, t := range c.crontabs {
		places[t] = i
	}
	return places
}

// Len returns the number of jobs.
func (c *Catalog) Len() int { return len(c.jobs) }

// Entry returns the crontab entry of a job. All shards of an entry return the same one.
func (c *Catalog) Entry(i int) *crontab.Entry { return c.jobs[i].entry }

// Options returns the options of a job. They are those of its entry, except that Held is
// set for a job that must not run.
func (c *Catalog) Options(i int) *option.Options {
	o := c.jobs[i].entry.Options()
	if why := c.held[i]; why != "" && o.Held == "" {
		held := *o
		held.Held = why
		return &held
	}
	return o
}

// Job describes a job as its records and clients show it.
func (c *Catalog) Job(i int) job.Job { return withInput(c.Brief(i), c.Entry(i)) }

// Brief returns the description of job i without the input of its command, Stdin and Env, which
// users can make large.
func (c *Catalog) Brief(i int) job.Job { return describe(c.ID(i), c.Entry(i), c.Options(i)) }

// Describe returns the description of the job with an ID and an entry. It is for callers
// that keep the entry of a run instead of its description, because the entry takes less
// memory.
func Describe(id job.ID, e *crontab.Entry) job.Job { return withInput(describe(id, e, e.Options()), e) }

func withInput(j job.Job, e *crontab.Entry) job.Job {
	j.Stdin, _ = e.Stdin()
	j.Env = e.Env()
	return j
}

func describe(id job.ID, e *crontab.Entry, o *option.Options) job.Job {
	j := job.Job{
		ID: id, Crontab: e.File().Name, Line: e.Line(), User: e.User(),
		Schedule: e.Spec(), Zone: e.Zone().String(), Command: e.Command(), Dir: e.Dir(),
		Disabled: !o.Enabled, Held: o.Held, Degraded: o.Degraded,
	}
	if o.Shards > 1 {
		_, index, _ := strings.Cut(id.Name(), "#")
		j.Shard, _ = strconv.Atoi(index)
		j.Shards = o.Shards
	}
	if len(o.Items) > 0 {
		j.Options = make(map[string]string, len(o.Items))
		for _, it := range o.Items {
			j.Options[it.Key] = it.Value
		}
	}
	return j
}

// shardsOf returns all shards of the entry whose first shard a job is, or the job.
func (c *Catalog) shardsOf(i int) []int {
	all := []int{i}
	if second, ok := c.second[i]; ok {
		for n := range c.Entry(i).Options().Shards - 1 {
			all = append(all, second+n)
		}
	}
	return all
}

// OncePer returns the jobs with once-per=.
func (c *Catalog) OncePer() []int { return c.oncePer }

// Delayed returns the jobs with delay=, in order.
func (c *Catalog) Delayed() []int { return c.delayed }

// PauseCounted returns the jobs with pause-counts=, in order.
func (c *Catalog) PauseCounted() []int { return c.counted }

// Periods returns the jobs that run once in a period.
func (c *Catalog) Periods() []int { return c.once }

// Period returns the period that decides whether an occurrence of an entry is due. An
// entry of an anacrontab is checked every day, so its period applies unchanged. Entries
// of other crontabs with the same period ID use the same period, and so leave the run to
// the anacrontab's entry.
//
// An entry of a crontab alone is checked only at its own times. If its period applied
// unchanged, a weekly entry that was caught up on Wednesday would not run on Sunday, and
// next in eleven days. It therefore runs at its times, and at most once a day.
func (c *Catalog) Period(e *crontab.Entry) *timetable.Period {
	p := e.Options().Period
	if c.daily[p.ID] {
		return p
	}
	return &timetable.Period{ID: p.ID, Days: 1, Delay: p.Delay, From: p.From, Until: p.Until}
}

// Hold returns a catalog in which the jobs of some groups are held too. groups contains
// indexes into Groups.
func (c *Catalog) Hold(groups []int, why string) *Catalog {
	held := *c
	held.held = maps.Clone(c.held)
	for _, g := range groups {
		for _, i := range c.groups[g].Jobs {
			held.hold(i, why)
		}
	}
	return &held
}
