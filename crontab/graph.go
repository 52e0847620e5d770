package crontab

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// maxLinks is the most jobs that the entries of one owner name in
// after= and on= together: a short default above many entries names many.
const maxLinks = 200_000

// CodeNobody is that of a name that no entry has.
const CodeNobody Code = "B417"

// Graph is how after= and on= connect entries, which are numbered by whoever
// asks. Entries that nothing connects are not in it, nor the links of those at
// fault.
type Graph struct {
	After  [][]Link      // by place in edged: whom an entry waits for, as its Options.After
	On     [][]Link      // likewise: whose end starts it, as its Options.On
	Faults map[int]Fault // by number: entries that must not run
}

// Link is an Edge whose job was found.
type Link struct {
	Parent   int
	Outcomes Outcomes
}

// Fault is why an entry must not run.
type Fault struct {
	Key  string // after or on
	Code Code
	Text string
}

// Connect finds the jobs that the entries of edged, which is in order, name in
// after= and on=. called returns the entry of an owner with that name: its name=,
// or the one that is derived where that is missing.
//
// OWNER/NAME is the job of that owner. A bare name is a job of the same owner or,
// in a user's crontab, of one of root's crontabs that runs as this user. Root's
// crontabs may refer to any job; a user's crontab only to jobs that run as that
// user, and all others do not exist for it. So no crontab changes what the entries
// of another owner refer to.
//
// An entry that names no job is at fault, and so is each that waits for itself
// in a circle. Of a circle through several owners only those entries are at fault
// that root does not own: no user holds root's entries by joining them.
func Connect(edged []int, entry func(int) *Entry, called func(owner, name string) (int, bool)) *Graph {
	c := &connecting{edged: edged, numbered: entry, called: called}
	c.After, c.On, c.Faults = make([][]Link, len(edged)), make([][]Link, len(edged)), map[int]Fault{}
	c.findAll()
	if c.lead() {
		isRoots := func(at int) bool { return c.entry(at).Table().owner == "root" }
		c.refuseCircles(isRoots, func(int) bool { return true })
		c.refuseCircles(func(int) bool { return true }, func(at int) bool { return !isRoots(at) })
	}
	for at, i := range edged {
		if _, faulty := c.Faults[i]; faulty {
			c.After[at], c.On[at] = nil, nil
		}
	}
	return &c.Graph
}

// connecting speaks of the entries of edged by their place there, and of others
// by their number: a host may have very many, and each load connects all.
type connecting struct {
	Graph
	edged    []int
	ways     [][]int // by place: the places of its parents, each once for each edge; see lead
	numbered func(int) *Entry
	called   func(owner, name string) (int, bool)
}

func (c *connecting) entry(at int) *Entry { return c.numbered(c.edged[at]) }

// findAll finds the links of all entries.
func (c *connecting) findAll() {
	links := map[string]int{} // by owner
	for at := range c.edged {
		child := c.entry(at)
		o, owner := child.Options(), child.Table().owner
		links[owner] += len(o.After)
		c.After[at] = c.find(at, "after", o.After, links[owner])
		links[owner] += len(o.On)
		c.On[at] = c.find(at, "on", o.On, links[owner])
	}
}

// find works out whom the edges of an entry mean. all is how many its owner
// has with them.
func (c *connecting) find(at int, key string, edges []Edge, all int) []Link {
	if len(edges) == 0 {
		return nil
	}
	child := c.entry(at)
	if all > maxLinks {
		c.refuse(at, Fault{key, "B419", fmt.Sprintf("after= and on= of %s name more than %d jobs in all", child.Table().owner, maxLinks)})
		return nil
	}
	links := make([]Link, len(edges))
	for n, edge := range edges {
		parent, ok := c.parent(child, edge.Job)
		if !ok {
			c.refuse(at, Fault{key, CodeNobody, key + "= names " + edge.Job + ", which is not a job of " + child.Table().owner + orElse(child, edge.Job)})
			return nil
		}
		links[n] = Link{parent, edge.Outcomes}
	}
	return links
}

// orElse says what to write in a root crontab if a job of a user's is meant.
func orElse(child *Entry, reference string) string {
	if child.Table().owner != "root" || strings.Contains(reference, "/") {
		return ""
	}
	return " (a job of a user's crontab is USER/" + reference + ")"
}

// parent finds the job that a child names.
func (c *connecting) parent(child *Entry, reference string) (parent int, ok bool) {
	own := child.Table().owner
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

// lead fills ways, and reports whether there are any. A parent without edges of
// its own is in no circle, and left out.
func (c *connecting) lead() (any bool) {
	c.ways = make([][]int, len(c.edged))
	for at := range c.edged {
		for _, links := range [][]Link{c.After[at], c.On[at]} {
			for _, link := range links {
				if parent, ok := slices.BinarySearch(c.edged, link.Parent); ok {
					c.ways[at] = append(c.ways[at], parent)
					any = true
				}
			}
		}
	}
	return any
}

// refuseCircles finds the circles of those entries that among holds for and
// that are not at fault already, and refuses the members that hit holds for.
func (c *connecting) refuseCircles(among, hit func(at int) bool) {
	in := make([]bool, len(c.edged))
	for at, i := range c.edged {
		_, faulty := c.Faults[i]
		in[at] = len(c.ways[at]) > 0 && !faulty && among(at)
	}
	for _, knot := range c.knots(in) {
		if !slices.ContainsFunc(knot, hit) {
			continue
		}
		fault := c.circle(knot)
		for _, at := range knot {
			if hit(at) {
				c.refuse(at, fault)
			}
		}
	}
}

// knots lists the sets of entries that each wait for all of their set, by
// Tarjan's algorithm. It goes without recursion, as a chain is as long as a
// stranger makes it.
func (c *connecting) knots(in []bool) (knots [][]int) {
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
			if ways := c.ways[v.at]; v.next < len(ways) {
				parent := ways[v.next]
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
			knot := stack[first:]
			stack = stack[:first]
			for _, at := range knot {
				done[at] = true
			}
			if len(knot) > 1 || slices.Contains(c.ways[left.at], left.at) {
				knot = slices.Clone(knot)
				slices.Sort(knot)
				knots = append(knots, knot)
			}
		}
	}
	return knots
}

// circle says the shortest way through a knot from its first entry back to it.
func (c *connecting) circle(knot []int) Fault {
	in := make(map[int]bool, len(knot))
	for _, at := range knot {
		in[at] = true
	}
	start := knot[0]
	child := map[int]int{} // of a parent: the entry through which it was first come upon
	var last int
	for queue := []int{start}; len(queue) > 0; queue = queue[1:] {
		at := queue[0]
		if slices.Contains(c.ways[at], start) {
			last = at
			break
		}
		for _, parent := range c.ways[at] {
			if _, seen := child[parent]; in[parent] && !seen && parent != start {
				child[parent] = at
				queue = append(queue, parent)
			}
		}
	}
	way := []int{start, last}
	for way[len(way)-1] != start {
		way = append(way, child[way[len(way)-1]])
	}
	return c.tell(way)
}

// tell says a circle in words. way begins and ends with the same entry, and
// each one waits for the one before it.
func (c *connecting) tell(way []int) Fault {
	const most = 12 // names
	var after, on bool
	names := make([]string, len(way))
	for n := 1; n < len(way); n++ {
		key, name := c.named(way[n], way[n-1])
		after, on = after || key == "after", on || key == "on"
		names[n-1] = name
	}
	names[len(way)-1] = names[0]
	if cut := len(names) - most; cut > 0 {
		names = slices.Concat(names[:most/2], []string{fmt.Sprintf("%d more", cut)}, names[len(names)-most/2:])
	}
	f := Fault{Key: "after", Code: "B418", Text: "after= makes a circle: "}
	switch {
	case after && on:
		f.Text = "after= and on= make a circle: "
	case on:
		f.Key, f.Text = "on", "on= makes a circle: "
	}
	f.Text += strings.Join(names, " -> ")
	return f
}

// named is the word and the name by which an entry names its parent.
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

// Remarks are the faults as lint shows them, in order.
func (g *Graph) Remarks(entry func(int) *Entry) []Diagnostic {
	var remarks []Diagnostic
	for _, i := range slices.Sorted(maps.Keys(g.Faults)) {
		f, e := g.Faults[i], entry(i)
		d := Diagnostic{
			File: e.Table().Name, Line: e.Line(), Severity: lineCodes[f.Code].severity, Code: f.Code,
			Message: printable(f.Text) + ": the entry is held",
		}
		for _, it := range e.Options().Items {
			if it.Key == f.Key && (it.File == "" || it.File == d.File) {
				d.Line, d.Column, d.Length = it.Line, it.Column, len(it.Key)+1+len(it.Value)
			}
		}
		remarks = append(remarks, d)
	}
	return remarks
}
