package catalog

import (
	"cmp"
	"slices"

	"github.com/cronring/cronring/crontab"
	"github.com/cronring/cronring/crontab/dependency"
	"github.com/cronring/cronring/crontab/option"
	"github.com/cronring/cronring/daemon/job"
)

// graph contains the connections of after= and on= between jobs. Jobs without connections
// take no memory in it.
type graph struct {
	dependency.Graph       // by place in edged
	edged            []int // the jobs that name others, in order
	waiting          []Dependent
	starting         []Dependent
}

// Parent is a job that another job waits for.
type Parent struct {
	Job      int
	ID       job.ID
	User     string
	Outcomes option.Outcomes
}

// Dependent is a job that refers to another one, its parent, in after= or on=.
type Dependent struct {
	Parent, Job int
	Edge        int // its place among the parents of Job
	Outcomes    option.Outcomes
}

// Edge is a reference to a job in after= or on=.
type Edge struct {
	Job      job.ID
	Outcomes option.Outcomes
}

// connect finds the jobs that after= and on= refer to.
func (c *Catalog) connect() {
	g := &c.graph
	if len(g.edged) == 0 {
		return
	}
	g.Graph = *dependency.Connect(g.edged, c.Entry, c.finder())
	for at, child := range g.edged {
		c.spread(at, child)
	}
	c.part()
	g.waiting, g.starting = dependents(g.edged, g.After), dependents(g.edged, g.On)
}

// finder returns a function that finds the job of an owner with a name. The name of an
// entry with shards= refers to its first shard. The function caches results, because many
// entries refer to the same jobs.
func (c *Catalog) finder() func(owner, name string) (i int, ok bool) {
	type found struct {
		job int
		ok  bool
	}
	type asked struct{ owner, name string }
	known := map[asked]found{}
	return func(owner, name string) (int, bool) {
		x, again := known[asked{owner, name}]
		if !again {
			id := job.NewID(owner, name)
			x.job, x.ok = c.Find(id)
			if len(c.second) > 0 {
				first, ok := c.Find(id + "#0")
				if _, several := c.second[first]; ok && several {
					x.job, x.ok = first, true
				}
			}
			known[asked{owner, name}] = x
		}
		return x.job, x.ok
	}
}

// spread makes references to an entry with shards= refer to all of its shards, and
// applies a fault of the entry to each shard.
func (c *Catalog) spread(at, child int) {
	g := &c.graph
	if first, ok := c.whole[child]; ok {
		if fault, faulty := g.Faults[first]; faulty {
			g.Faults[child], g.After[at], g.On[at] = fault, nil, nil
			return
		}
	}
	if len(c.second) > 0 {
		g.After[at], g.On[at] = c.spreadLinks(g.After[at]), c.spreadLinks(g.On[at])
	}
}

func (c *Catalog) spreadLinks(links []dependency.Link) (all []dependency.Link) {
	for _, link := range links {
		for _, i := range c.shardsOf(link.Parent) {
			all = append(all, dependency.Link{Parent: i, Outcomes: link.Outcomes})
		}
	}
	return all
}

// part holds the jobs that wait for, or start on, a job of another scope: one of the two
// runs on one member of the ring, the other on every host.
func (c *Catalog) part() {
	g := &c.graph
	for at, child := range g.edged {
		key, other := "after", c.parted(child, g.After[at])
		if other == "" {
			key, other = "on", c.parted(child, g.On[at])
		}
		if other == "" {
			continue
		}
		if _, faulty := g.Faults[child]; !faulty {
			g.Faults[child] = dependency.Fault{Key: key, Code: dependency.CodeNobody, Text: job.HeldScope(key, other)}
		}
		g.After[at], g.On[at] = nil, nil
	}
}

// parted returns a parent of another scope, or "".
func (c *Catalog) parted(child int, links []dependency.Link) job.ID {
	for _, link := range links {
		if c.InRing(child) != c.InRing(link.Parent) {
			return c.ID(link.Parent)
		}
	}
	return ""
}

// dependents sorts links, which are given by place in edged, by parent.
func dependents(edged []int, links [][]dependency.Link) []Dependent {
	n := 0
	for _, own := range links {
		n += len(own)
	}
	all := make([]Dependent, 0, n)
	for at, own := range links {
		for edge, link := range own {
			all = append(all, Dependent{link.Parent, edged[at], edge, link.Outcomes})
		}
	}
	slices.SortFunc(all, func(a, b Dependent) int {
		return cmp.Or(cmp.Compare(a.Parent, b.Parent), cmp.Compare(a.Job, b.Job), cmp.Compare(a.Edge, b.Edge))
	})
	return all
}

// dependentsOf returns the part of all, which is sorted by parent, with that parent.
func dependentsOf(all []Dependent, parent int) []Dependent {
	byParent := func(d Dependent, parent int) int { return cmp.Compare(d.Parent, parent) }
	first, _ := slices.BinarySearchFunc(all, parent, byParent)
	past, _ := slices.BinarySearchFunc(all[first:], parent+1, byParent)
	return all[first : first+past]
}

// Diagnostics returns the errors in after= and on= of all jobs.
func (c *Catalog) Diagnostics() []crontab.Diagnostic { return c.graph.Diagnostics(c.Entry) }

// HasEdges reports whether any job refers to another one in after= or on=.
func (c *Catalog) HasEdges() bool { return len(c.graph.edged) > 0 }

// links returns the links of after= and on= of a job. A job that is held for its edges
// has none.
func (c *Catalog) links(i int) (after, on []dependency.Link) {
	at, ok := slices.BinarySearch(c.graph.edged, i)
	if !ok {
		return nil, nil
	}
	return c.graph.After[at], c.graph.On[at]
}

// Parents returns the jobs that a job waits for, in the order of its after=.
func (c *Catalog) Parents(i int) []Parent {
	after, _ := c.links(i)
	parents := make([]Parent, len(after))
	for n, link := range after {
		parents[n] = Parent{link.Parent, c.ID(link.Parent), c.Entry(link.Parent).User(), link.Outcomes}
	}
	return parents
}

// Waiting returns the jobs that wait for a job, by number. If a job refers to it twice,
// that job is listed twice.
func (c *Catalog) Waiting(i int) []Dependent { return dependentsOf(c.graph.waiting, i) }

// Starting returns the jobs that start when a run of a job ends, as Waiting does.
func (c *Catalog) Starting(i int) []Dependent { return dependentsOf(c.graph.starting, i) }

// Edges returns the jobs that after= and on= of a job refer to. For a job that is held
// because of its edges, they are as written.
func (c *Catalog) Edges(i int) (after, on []Edge) {
	o := c.Entry(i).Options()
	waits, starts := c.links(i)
	return c.edges(waits, o.After), c.edges(starts, o.On)
}

func (c *Catalog) edges(found []dependency.Link, written []option.Edge) []Edge {
	if len(written) == 0 {
		return nil
	}
	if len(found) == 0 { // it is held
		edges := make([]Edge, len(written))
		for n, w := range written {
			edges[n] = Edge{job.ID(w.Job), w.Outcomes}
		}
		return edges
	}
	edges := make([]Edge, len(found))
	for n, link := range found {
		edges[n] = Edge{c.ID(link.Parent), link.Outcomes}
	}
	return edges
}
