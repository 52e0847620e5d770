package crontab

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// maxLinks is the most jobs that the entries of one hand name in after= and
// on= together: a short default above many entries names many.
const maxLinks = 200_000

// CodeNobody is that of a name that no entry has.
const CodeNobody Code = "B417"

// Graph is how after= and on= connect entries, which are numbered by whoever
// asks. Entries that nothing connects are not in it.
type Graph struct {
	After  map[int32][]Link // whom an entry waits for, as its Options.After
	On     map[int32][]Link // whose end starts it, as its Options.On
	Faults map[int32]Fault  // entries that must not run
}

// Link is an Edge whose job was found.
type Link struct {
	Parent   int32
	Outcomes Outcomes
}

// Fault is why an entry must not run.
type Fault struct {
	Key  string // after or on
	Code Code
	Text string
}

// Hand is the account that wrote an entry: root for the tables of the host. An
// entry has no power over those of another hand.
func (e *Entry) Hand() string {
	if e.section.table.Format == User {
		return e.section.table.owner
	}
	return "root"
}

// Connect finds the jobs that the entries of edged name, among the entries
// called so: by name=, or by the identity that they have without one. An entry
// of root's hand may name any; another only those that run as its own account,
// and to it there are no others. Where several are called so, one of the same
// hand is meant.
//
// An entry that names nobody is at fault, and so is each that waits for itself
// in a circle. Of a circle through several hands only those at fault are that
// root did not write: nobody holds root's entries by joining them.
func Connect(edged []int32, entry func(int32) *Entry, called func(string) []int32) *Graph {
	c := &connecting{
		Graph: Graph{After: map[int32][]Link{}, On: map[int32][]Link{}, Faults: map[int32]Fault{}},
		entry: entry, called: called, links: map[string]int{},
	}
	for _, i := range edged {
		o := entry(i).Options()
		c.find(c.After, i, "after", o.After)
		c.find(c.On, i, "on", o.On)
	}
	c.refuseCircles(edged, func(i int32) bool { return entry(i).Hand() == "root" }, func(int32) bool { return true })
	c.refuseCircles(edged, func(int32) bool { return true }, func(i int32) bool { return entry(i).Hand() != "root" })
	return &c.Graph
}

type connecting struct {
	Graph
	entry  func(int32) *Entry
	called func(string) []int32
	links  map[string]int // by hand
}

// find works out whom the edges of an entry mean.
func (c *connecting) find(to map[int32][]Link, i int32, key string, edges []Edge) {
	if len(edges) == 0 {
		return
	}
	child := c.entry(i)
	if c.links[child.Hand()] += len(edges); c.links[child.Hand()] > maxLinks {
		c.refuse(i, Fault{key, "B419", fmt.Sprintf("after= and on= of %s name more than %d jobs in all", child.Hand(), maxLinks)})
		return
	}
	links := make([]Link, len(edges))
	for n, edge := range edges {
		parent, ok := c.parent(child, edge.Job)
		if !ok {
			c.refuse(i, Fault{key, CodeNobody, key + "= names " + edge.Job + ", which no entry " + whoseEntry(child) + "is called"})
			return
		}
		links[n] = Link{parent, edge.Outcomes}
	}
	to[i] = links
}

func whoseEntry(child *Entry) string {
	if child.Hand() == "root" {
		return ""
	}
	return "of " + child.Hand() + " "
}

func (c *connecting) parent(child *Entry, name string) (parent int32, ok bool) {
	for _, i := range c.called(name) {
		e := c.entry(i)
		if e.Hand() == child.Hand() {
			return i, true
		}
		if !ok && (child.Hand() == "root" || e.User() == child.Hand()) {
			parent, ok = i, true
		}
	}
	return parent, ok
}

// refuse keeps the first fault.
func (c *connecting) refuse(i int32, f Fault) {
	if _, ok := c.Faults[i]; !ok {
		c.Faults[i] = f
	}
}

// refuseCircles finds the circles of those entries that among holds for and
// that are not at fault already, and refuses the members that at holds for.
func (c *connecting) refuseCircles(edged []int32, among, at func(int32) bool) {
	in := map[int32]bool{}
	for _, i := range edged {
		if _, faulty := c.Faults[i]; !faulty && among(i) {
			in[i] = true
		}
	}
	for _, knot := range c.knots(edged, in) {
		if !slices.ContainsFunc(knot, at) {
			continue
		}
		fault := c.circle(knot)
		for _, i := range knot {
			if at(i) {
				c.refuse(i, fault)
			}
		}
	}
}

// parents are the entries that one waits for or starts on.
func (c *connecting) parents(i int32, n int) (parent int32, ok bool) {
	after, on := c.After[i], c.On[i]
	switch {
	case n < len(after):
		return after[n].Parent, true
	case n < len(after)+len(on):
		return on[n-len(after)].Parent, true
	}
	return 0, false
}

// knots lists the sets of entries that each wait for all of their set, by
// Tarjan's algorithm. It goes without recursion, as a chain is as long as a
// stranger makes it.
func (c *connecting) knots(edged []int32, in map[int32]bool) (knots [][]int32) {
	type visit struct {
		i         int32
		next, low int
	}
	var (
		order = map[int32]int{} // when an entry was first seen, from 1
		done  = map[int32]bool{}
		stack []int32
		path  []visit
	)
	enter := func(i int32) {
		order[i] = len(order) + 1
		stack = append(stack, i)
		path = append(path, visit{i: i, low: order[i]})
	}
	for _, root := range edged {
		if !in[root] || order[root] != 0 {
			continue
		}
		enter(root)
		for len(path) > 0 {
			v := &path[len(path)-1]
			if parent, more := c.parents(v.i, v.next); more {
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
			if left.low != order[left.i] {
				continue
			}
			first := len(stack) - 1
			for stack[first] != left.i {
				first--
			}
			knot := slices.Clone(stack[first:])
			stack = stack[:first]
			for _, i := range knot {
				done[i] = true
			}
			if len(knot) > 1 || c.waitsFor(left.i, left.i) {
				slices.Sort(knot)
				knots = append(knots, knot)
			}
		}
	}
	return knots
}

func (c *connecting) waitsFor(child, parent int32) bool {
	for n := 0; ; n++ {
		p, more := c.parents(child, n)
		if !more || p == parent {
			return more
		}
	}
}

// circle says the shortest way through a knot from its first entry back to it.
func (c *connecting) circle(knot []int32) Fault {
	in := make(map[int32]bool, len(knot))
	for _, i := range knot {
		in[i] = true
	}
	start := knot[0]
	child := map[int32]int32{} // of a parent: the entry through which it was first come upon
	var last int32
	for queue := []int32{start}; len(queue) > 0; queue = queue[1:] {
		i := queue[0]
		if c.waitsFor(i, start) {
			last = i
			break
		}
		for n := 0; ; n++ {
			parent, more := c.parents(i, n)
			if !more {
				break
			}
			if _, seen := child[parent]; in[parent] && !seen && parent != start {
				child[parent] = i
				queue = append(queue, parent)
			}
		}
	}
	way := []int32{start, last}
	for way[len(way)-1] != start {
		way = append(way, child[way[len(way)-1]])
	}
	return c.tell(way)
}

// tell says a circle in words. way begins and ends with the same entry, and
// each one waits for the one before it.
func (c *connecting) tell(way []int32) Fault {
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
func (c *connecting) named(child, parent int32) (key, name string) {
	o := c.entry(child).Options()
	for n, link := range c.After[child] {
		if link.Parent == parent {
			return "after", o.After[n].Job
		}
	}
	for n, link := range c.On[child] {
		if link.Parent == parent {
			return "on", o.On[n].Job
		}
	}
	return "", ""
}

// Remarks are the faults as lint shows them, in order.
func (g *Graph) Remarks(entry func(int32) *Entry) []Diagnostic {
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
