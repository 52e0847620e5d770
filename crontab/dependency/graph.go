package dependency

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/cronring/cronring/crontab"
	"github.com/cronring/cronring/crontab/diagnostic"
	"github.com/cronring/cronring/crontab/option"
)

// maxLinks is the highest number of references in after= and on= of all entries
// of one owner: a short default above many entries can cause very many.
const maxLinks = 200_000

// CodeNobody is the code for a reference to a missing job.
const CodeNobody diagnostic.Code = "B417"

// Graph is the connections of entries by after= and on=. The caller numbers the
// entries. The graph has no links of entries with a fault.
type Graph struct {
	After  [][]Link      // by index in edged: the jobs that an entry waits for, in the order of Options.After
	On     [][]Link      // by index in edged: the jobs whose end starts it, in the order of Options.On
	Faults map[int]Fault // by number: entries that must not run
}

// Link is an Edge whose job was found.
type Link struct {
	Parent   int
	Outcomes option.Outcomes
}

// Fault is the reason why an entry must not run.
type Fault struct {
	Key  string // after or on
	Code diagnostic.Code
	Text string
}

// Connect resolves the references in after= and on= of the entries of edged,
// which is sorted. called returns the entry of an owner with a given name, either
// name= or the derived name.
//
// OWNER/NAME is the job of that owner. A bare name is a job of the same owner or,
// in a user's crontab, of one of root's crontabs that runs as this user. Root's
// crontabs may refer to any job; a user's crontab only to jobs that run as that
// user, and all others do not exist for it. So no crontab changes what the entries
// of another owner refer to.
//
// An entry with a reference to a missing job has a fault, and so has each entry
// of a cycle. If a cycle has entries of several owners, root's entries have no
// fault, so that users cannot hold root's entries.
func Connect(edged []int, entry func(int) *crontab.Entry, called func(owner, name string) (int, bool)) *Graph {
	c := &connecting{edged: edged, numbered: entry, called: called}
	c.After, c.On, c.Faults = make([][]Link, len(edged)), make([][]Link, len(edged)), map[int]Fault{}
	c.findAll()
	if c.collectParents() {
		isRoots := func(at int) bool { return c.entry(at).File().Owner() == "root" }
		c.refuseCycles(isRoots, func(int) bool { return true })
		c.refuseCycles(func(int) bool { return true }, func(at int) bool { return !isRoots(at) })
	}
	for at, i := range edged {
		if _, faulty := c.Faults[i]; faulty {
			c.After[at], c.On[at] = nil, nil
		}
	}
	return &c.Graph
}

// connecting identifies the entries of edged by their index in edged, and other
// entries by their number.
type connecting struct {
	Graph
	edged    []int
	parents  [][]int // by index: the indexes of the parents, one for each edge; see collectParents
	numbered func(int) *crontab.Entry
	called   func(owner, name string) (int, bool)
}

func (c *connecting) entry(at int) *crontab.Entry { return c.numbered(c.edged[at]) }

// findAll resolves the references of all entries.
func (c *connecting) findAll() {
	links := map[string]int{} // by owner
	for at := range c.edged {
		child := c.entry(at)
		o, owner := child.Options(), child.File().Owner()
		links[owner] += len(o.After)
		c.After[at] = c.find(at, "after", o.After, links[owner])
		links[owner] += len(o.On)
		c.On[at] = c.find(at, "on", o.On, links[owner])
	}
}

// find resolves the edges of an entry. all is the number of edges of its owner so
// far, including these.
func (c *connecting) find(at int, key string, edges []option.Edge, all int) []Link {
	if len(edges) == 0 {
		return nil
	}
	child := c.entry(at)
	if all > maxLinks {
		c.refuse(at, Fault{key, "B419", fmt.Sprintf("after= and on= of %s have more than %d references in total", child.File().Owner(), maxLinks)})
		return nil
	}
	links := make([]Link, len(edges))
	for n, edge := range edges {
		parent, ok := c.parent(child, edge.Job)
		if !ok {
			c.refuse(at, Fault{key, CodeNobody, key + "= refers to " + edge.Job + ", which is not a job of " + child.File().Owner() + orElse(child, edge.Job)})
			return nil
		}
		links[n] = Link{parent, edge.Outcomes}
	}
	return links
}

// orElse returns a hint for references in root's crontabs to a user's job.
func orElse(child *crontab.Entry, reference string) string {
	if child.File().Owner() != "root" || strings.Contains(reference, "/") {
		return ""
	}
	return " (a job of a user's crontab is USER/" + reference + ")"
}

// parent resolves a reference of child.
func (c *connecting) parent(child *crontab.Entry, reference string) (parent int, ok bool) {
	own := child.File().Owner()
	visible := func(owner, name string) (int, bool) {
		i, ok := c.called(owner, name)
		return i, ok && (own == "root" || owner == own || c.numbered(i).User() == own)
	}
	if owner, name, full := strings.Cut(reference, "/"); full {
		return visible(owner, name)
	}
	if parent, ok = visible(own, reference); ok {
		return parent, ok
	}
	return visible("root", reference)
}

// refuse keeps the first fault.
func (c *connecting) refuse(at int, f Fault) {
	if _, ok := c.Faults[c.edged[at]]; !ok {
		c.Faults[c.edged[at]] = f
	}
}

// collectParents fills parents, and reports whether it has any elements. It omits
// parents without edges, because they cannot be part of a cycle.
func (c *connecting) collectParents() (found bool) {
	c.parents = make([][]int, len(c.edged))
	for at := range c.edged {
		for _, links := range [][]Link{c.After[at], c.On[at]} {
			for _, link := range links {
				if parent, ok := slices.BinarySearch(c.edged, link.Parent); ok {
					c.parents[at] = append(c.parents[at], parent)
					found = true
				}
			}
		}
	}
	return found
}

// refuseCycles finds the cycles among the entries for which among returns true and
// that have no fault yet. The entries of a cycle for which hit returns true get a
// fault.
func (c *connecting) refuseCycles(among, hit func(at int) bool) {
	in := make([]bool, len(c.edged))
	for at, i := range c.edged {
		_, faulty := c.Faults[i]
		in[at] = len(c.parents[at]) > 0 && !faulty && among(at)
	}
	for _, component := range c.components(in) {
		if !slices.ContainsFunc(component, hit) {
			continue
		}
		fault := c.cycle(component)
		for _, at := range component {
			if hit(at) {
				c.refuse(at, fault)
			}
		}
	}
}

// components returns the strongly connected components that have a cycle, by
// Tarjan's algorithm. It does not use recursion, because a hostile user can make
// a chain of any length.
func (c *connecting) components(in []bool) (components [][]int) {
	type visit struct{ at, next, low int }
	var (
		order = make([]int, len(c.edged)) // when an entry was first seen, from 1
		done  = make([]bool, len(c.edged))
		seen  int
		stack []int
		path  []visit
	)
	enter := func(at int) {
		seen++
		order[at] = seen
		stack = append(stack, at)
		path = append(path, visit{at: at, low: seen})
	}
	for root := range c.edged {
		if !in[root] || order[root] != 0 {
			continue
		}
		enter(root)
		for len(path) > 0 {
			v := &path[len(path)-1]
			if parents := c.parents[v.at]; v.next < len(parents) {
				parent := parents[v.next]
				v.next++
				switch {
				case !in[parent] || done[parent]:
				case order[parent] == 0:
					enter(parent)
				default:
					v.low = min(v.low, order[parent])
				}
				continue
			}
			left := *v
			path = path[:len(path)-1]
			if len(path) > 0 {
				path[len(path)-1].low = min(path[len(path)-1].low, left.low)
			}
			if left.low != order[left.at] {
				continue
			}
			first := len(stack) - 1
			for stack[first] != left.at {
				first--
			}
			component := stack[first:]
			stack = stack[:first]
			for _, at := range component {
				done[at] = true
			}
			if len(component) > 1 || slices.Contains(c.parents[left.at], left.at) {
				component = slices.Clone(component)
				slices.Sort(component)
				components = append(components, component)
			}
		}
	}
	return components
}

// cycle returns a fault with the shortest path in a component from its first
// entry back to it.
func (c *connecting) cycle(component []int) Fault {
	in := make(map[int]bool, len(component))
	for _, at := range component {
		in[at] = true
	}
	start := component[0]
	child := map[int]int{} // by parent: the entry from which the search reached it
	var last int
	for queue := []int{start}; len(queue) > 0; queue = queue[1:] {
		at := queue[0]
		if slices.Contains(c.parents[at], start) {
			last = at
			break
		}
		for _, parent := range c.parents[at] {
			if _, seen := child[parent]; in[parent] && !seen && parent != start {
				child[parent] = at
				queue = append(queue, parent)
			}
		}
	}
	path := []int{start, last}
	for path[len(path)-1] != start {
		path = append(path, child[path[len(path)-1]])
	}
	return c.cycleFault(path)
}

// cycleFault describes a cycle. path begins and ends with the same entry, and each
// entry waits for the previous one.
func (c *connecting) cycleFault(path []int) Fault {
	const most = 12 // names
	var after, on bool
	names := make([]string, len(path))
	for n := 1; n < len(path); n++ {
		key, name := c.named(path[n], path[n-1])
		after, on = after || key == "after", on || key == "on"
		names[n-1] = name
	}
	names[len(path)-1] = names[0]
	if cut := len(names) - most; cut > 0 {
		names = slices.Concat(names[:most/2], []string{fmt.Sprintf("%d more", cut)}, names[len(names)-most/2:])
	}
	f := Fault{Key: "after", Code: "B418", Text: "after= forms a cycle: "}
	switch {
	case after && on:
		f.Text = "after= and on= form a cycle: "
	case on:
		f.Key, f.Text = "on", "on= forms a cycle: "
	}
	f.Text += strings.Join(names, " -> ")
	return f
}

// named returns the option and the name by which an entry refers to its parent.
func (c *connecting) named(child, parent int) (key, name string) {
	o := c.entry(child).Options()
	for n, link := range c.After[child] {
		if link.Parent == c.edged[parent] {
			return "after", o.After[n].Job
		}
	}
	for n, link := range c.On[child] {
		if link.Parent == c.edged[parent] {
			return "on", o.On[n].Job
		}
	}
	return "", ""
}

// Diagnostics returns the faults as diagnostics, sorted by entry.
func (g *Graph) Diagnostics(entry func(int) *crontab.Entry) []diagnostic.Diagnostic {
	var diagnostics []diagnostic.Diagnostic
	for _, i := range slices.Sorted(maps.Keys(g.Faults)) {
		f, e := g.Faults[i], entry(i)
		d := diagnostic.Diagnostic{
			File: e.File().Name, Line: e.Line(), Severity: f.Code.Severity(), Code: f.Code,
			Message: diagnostic.Harmless(f.Text) + ": the entry is held",
		}
		for _, it := range e.Options().Items {
			if it.Key == f.Key && (it.File == "" || it.File == d.File) {
				d.Line, d.Column, d.Length = it.Line, it.Column, len(it.Key)+1+len(it.Value)
			}
		}
		diagnostics = append(diagnostics, d)
	}
	return diagnostics
}
