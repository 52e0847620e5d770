package catalog

import (
	"cmp"
	"encoding/binary"
	"iter"
	"slices"

	"github.com/robfig/cron/v3"

	"github.com/cronring/cronring/crontab/option"
	"github.com/cronring/cronring/crontab/timetable"
	"github.com/cronring/cronring/daemon/job"
)

// ring contains the jobs of scope=ring. A key there includes the user: all members of the
// ring compute the same key.
type ring struct {
	jobs       []int     // by key
	sorted     []job.Key // the keys of jobs, in the same order
	keys       map[int]job.Key
	components map[int]*Component
	holdings   []Holding
}

// Component is a set of ring jobs that after= and on= connect: one member runs all of
// them.
type Component struct {
	Key  job.Key // the smallest of their keys
	Lead int     // the job that has it
	Jobs []int   // in order
}

// Holding is a job of a ring that this host can run.
type Holding struct {
	Key  job.Key
	Hash job.Key // hash of the whole entry: with another hash, a member has another job
	// Former is the argument of FormerKey for the job: members of version 0.7.0 were
	// granted its occurrences under that key. It is for this host only.
	Former uint64
	Owner  string // the user in whose crontab the job is; for this host only
}

// findRing sorts the jobs of scope=ring by key, and finds the components of connected
// jobs.
func (c *Catalog) findRing() {
	r := &c.ring
	if len(r.jobs) == 0 {
		return
	}
	r.keys = make(map[int]job.Key, len(r.jobs))
	for _, i := range r.jobs {
		r.keys[i] = job.KeyOf(c.ID(i), c.Entry(i).User())
	}
	slices.SortFunc(r.jobs, func(a, b int) int { return r.keys[a].Compare(r.keys[b]) })
	r.sorted = make([]job.Key, len(r.jobs))
	for at, i := range r.jobs {
		r.sorted[at] = r.keys[i]
	}
	r.components = c.findComponents()
}

// findComponents finds the jobs of the ring that after= and on= connect, by job.
func (c *Catalog) findComponents() map[int]*Component {
	next := map[int][]int{}
	for at, child := range c.graph.edged {
		if !c.InRing(child) {
			continue
		}
		for _, link := range slices.Concat(c.graph.After[at], c.graph.On[at]) {
			next[child] = append(next[child], link.Parent)
			next[link.Parent] = append(next[link.Parent], child)
		}
	}
	components := make(map[int]*Component, len(next))
	for i := range next {
		if components[i] != nil {
			continue
		}
		found := &Component{Jobs: []int{i}}
		components[i] = found
		for n := 0; n < len(found.Jobs); n++ {
			for _, other := range next[found.Jobs[n]] {
				if components[other] == nil {
					components[other] = found
					found.Jobs = append(found.Jobs, other)
				}
			}
		}
		found.Lead = slices.MinFunc(found.Jobs, func(a, b int) int { return c.ring.keys[a].Compare(c.ring.keys[b]) })
		found.Key = c.ring.keys[found.Lead]
		slices.Sort(found.Jobs)
	}
	return components
}

// InRing reports whether a job has scope=ring: its occurrences belong to one member of
// a ring.
func (c *Catalog) InRing(i int) bool { return c.Entry(i).Options().Scope == option.ScopeRing }

// RingJobs returns the jobs of scope=ring, by RingKey. Callers must not change it.
func (c *Catalog) RingJobs() []int { return c.ring.jobs }

// RingKey returns the key of a job of scope=ring among the members of a ring.
func (c *Catalog) RingKey(i int) job.Key { return c.ring.keys[i] }

// FindRing returns the job of scope=ring with a key, as RingKey returns it.
func (c *Catalog) FindRing(key job.Key) (i int, ok bool) {
	at, ok := slices.BinarySearchFunc(c.ring.sorted, key, job.Key.Compare)
	if !ok {
		return 0, false
	}
	return c.ring.jobs[at], true
}

// Component returns the jobs that a job of scope=ring is connected with; nil: none.
func (c *Catalog) Component(i int) *Component { return c.ring.components[i] }

// findHoldings lists the jobs of scope=ring that are neither disabled nor held.
func (c *Catalog) findHoldings() []Holding {
	held, specs := make([]Holding, 0, len(c.ring.jobs)), map[cron.Schedule]job.Key{}
	for _, i := range c.ring.jobs {
		if o := c.Options(i); o.Enabled && o.Held == "" {
			held = append(held, Holding{c.ring.keys[i], c.entryHash(i, specs), c.Former(i), c.ID(i).Owner()})
		}
	}
	return held
}

// Holdings returns the jobs of scope=ring that this host can run, by key. Callers must
// not change it.
func (c *Catalog) Holdings() []Holding { return c.ring.holdings }

// EachHolding returns Holdings with the numbers of the jobs.
func (c *Catalog) EachHolding() iter.Seq2[int, Holding] {
	return func(yield func(int, Holding) bool) {
		held := c.ring.holdings
		for _, i := range c.ring.jobs {
			if len(held) == 0 {
				return
			}
			if held[0].Key != c.ring.keys[i] { // it is disabled or held
				continue
			}
			if !yield(i, held[0]) {
				return
			}
			held = held[1:]
		}
	}
}

// entryHash returns a SHA-256 of the content of an entry. Its place in the crontab is not
// included, because that can differ from host to host. Each text is hashed with its
// length, so different entries cannot be hashed as the same text. specs caches the hashes
// of schedules.
func (c *Catalog) entryHash(i int, specs map[cron.Schedule]job.Key) job.Key {
	e := c.Entry(i)
	spec, ok := specs[e.Schedule]
	if !ok {
		spec = job.SumKey([]byte(timetable.Identity(e.Schedule)))
		specs[e.Schedule] = spec
	}
	b := append(make([]byte, 0, 512), spec[:]...)
	add := func(text string) { b = append(binary.AppendUvarint(b, uint64(len(text))), text...) }
	stdin, _ := e.Stdin()
	for _, text := range []string{string(c.ID(i)), e.User(), e.Command(), stdin, e.Dir()} {
		add(text)
	}
	env := e.Env()
	b = binary.AppendUvarint(b, uint64(len(env)))
	for _, text := range env {
		add(text)
	}
	items := slices.Clone(e.Options().Items)
	slices.SortStableFunc(items, func(a, b option.Option) int { return cmp.Compare(a.Key, b.Key) })
	for _, it := range items {
		add(it.Key)
		add(it.Value)
	}
	return job.SumKey(b)
}
