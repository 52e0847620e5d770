package engine

import (
	"cmp"
	"slices"

	"github.com/cronring/cronring/crontab"
	"github.com/cronring/cronring/daemon/job"
)

// family is whom after= and on= connect, by slot. It is immutable, and holds
// nothing of jobs that name nobody and that nobody names.
type family struct {
	edged  []int // the jobs that name others, in order
	graph  *crontab.Graph
	held   []bond // by parent: whose after= names it
	starts []bond // by parent: whose on= names it
}

// parent is a job that another waits for.
type parent struct {
	slot     int
	id       job.ID
	user     string
	outcomes crontab.Outcomes
}

// bond is an edge as its parent sees it.
type bond struct {
	parent, child int
	edge          int // which one of the child's
	outcomes      crontab.Outcomes
}

// connect finds whom the entries at the slots of edged mean, but for those that
// mean whom they meant before.
func (s *jobs) connect(edged []int, stays *stay) *family {
	if len(edged) == 0 {
		return nil
	}
	known := &crontab.Graph{After: make([][]crontab.Link, len(edged)), On: make([][]crontab.Link, len(edged))}
	names := s.keepLinks(known, stays)
	kept := make([]bool, len(edged))
	for at := range edged {
		kept[at] = len(known.After[at])+len(known.On[at]) > 0
	}
	g := crontab.Connect(edged, s.entry, s.caller(names), known)
	for at, child := range edged {
		if !kept[at] {
			s.spread(g, at, child)
		}
	}
	return &family{edged, g, bonds(edged, g.After), bonds(edged, g.On)}
}

// spread lets the name of an entry with shards= mean all of them, and its faults
// be those of each.
func (s *jobs) spread(g *crontab.Graph, at int, child int) {
	if t, k, index := s.at(child); index > 0 {
		if fault, ok := g.Faults[s.first[t]+k]; ok {
			g.Faults[child], g.After[at], g.On[at] = fault, nil, nil
			return
		}
	}
	all := func(links []crontab.Link) []crontab.Link {
		var more []crontab.Link
		for n, link := range links {
			shards := s.shardsOf(link.Parent)
			if len(shards) > 1 && more == nil {
				more = slices.Clone(links[:n])
			}
			if more == nil {
				continue
			}
			for _, slot := range shards {
				more = append(more, crontab.Link{Parent: slot, Outcomes: link.Outcomes})
			}
		}
		if more == nil {
			return links
		}
		return more
	}
	g.After[at], g.On[at] = all(g.After[at]), all(g.On[at])
}

// keepLinks takes over what the entries of a table meant before, if nobody came
// or went whom one of them names. names has the keys of what the others name.
func (s *jobs) keepLinks(known *crontab.Graph, stays *stay) (names map[job.Key]int) {
	names = map[job.Key]int{}
	at := 0
	for i, sheet := range s.sheets {
		if sheet == nil || len(sheet.edged) == 0 {
			continue
		}
		past := at + len(sheet.edged)
		if !s.keepLinksOf(i, known.After[at:past], known.On[at:past], stays) {
			clear(known.After[at:past])
			clear(known.On[at:past])
			for _, name := range sheet.names {
				names[name] = -1
			}
		}
		at = past
	}
	return names
}

// keepLinksOf fills in whom the entries of table i mean, and reports whether
// that is known.
func (s *jobs) keepLinksOf(i int, after, on [][]crontab.Link, stays *stay) bool {
	if stays == nil || stays.from[i] < 0 || slices.ContainsFunc(s.sheets[i].names, stays.isTouched) {
		return false
	}
	family := stays.before.family
	first, _ := slices.BinarySearch(family.edged, stays.before.first[stays.from[i]])
	for k := range after {
		waits, begins := family.graph.After[first+k], family.graph.On[first+k]
		if len(waits)+len(begins) == 0 { // it was at fault, and may be no more
			return false
		}
		after[k], on[k] = s.moved(waits, stays), s.moved(begins, stays)
	}
	return true
}

// moved is links of before, whose parents stay, as they are now.
func (s *jobs) moved(links []crontab.Link, stays *stay) []crontab.Link {
	if len(links) == 0 {
		return nil
	}
	moved := make([]crontab.Link, len(links))
	for n, link := range links {
		slot, _ := s.now(link.Parent, stays)
		moved[n] = crontab.Link{Parent: slot, Outcomes: link.Outcomes}
	}
	return moved
}

// bonds sorts edges, which are there by place in edged, by parent.
func bonds(edged []int, links [][]crontab.Link) []bond {
	n := 0
	for _, own := range links {
		n += len(own)
	}
	bonds := make([]bond, 0, n)
	for at, own := range links {
		for edge, link := range own {
			bonds = append(bonds, bond{link.Parent, edged[at], edge, link.Outcomes})
		}
	}
	slices.SortFunc(bonds, func(a, b bond) int {
		return cmp.Or(cmp.Compare(a.parent, b.parent), cmp.Compare(a.child, b.child), cmp.Compare(a.edge, b.edge))
	})
	return bonds
}

// caller finds the slot of the entry of an owner with a name. named has the keys
// of all IDs that it will be asked for; it stores there the slot with that ID, or
// -1.
func (s *jobs) caller(named map[job.Key]int) func(owner, name string) (int, bool) {
	if len(named) == 0 {
		return nil
	}
	for slot, key := range s.keys {
		if _, ok := named[key]; ok {
			named[key] = slot
		}
	}
	shards := map[job.ID]int{} // the first ones of entries that have several
	for i, sheet := range s.sheets {
		if sheet == nil {
			continue
		}
		for _, x := range sheet.shards {
			stem := s.stem(s.first[i] + x.entry)
			if _, ok := named[idKey(stem)]; ok && x.index == 1 {
				shards[stem] = s.first[i] + x.entry
			}
		}
	}
	return func(owner, name string) (int, bool) {
		id := job.NewID(owner, name)
		if first, ok := shards[id]; ok {
			return first, true
		}
		slot, ok := named[idKey(id)]
		return slot, ok && slot >= 0
	}
}

// fault is why a slot must not run, or "".
func (f *family) fault(slot int) string {
	if f == nil {
		return ""
	}
	return f.graph.Faults[slot].Text
}

// links are whom after= and on= of a job mean. Those of one that is held for its
// edges are none.
func (f *family) links(child int) (after, on []crontab.Link) {
	if f == nil {
		return nil, nil
	}
	at, ok := slices.BinarySearch(f.edged, child)
	if !ok {
		return nil, nil
	}
	return f.graph.After[at], f.graph.On[at]
}

// parents are the jobs that a job waits for.
func (s *jobs) parents(child int) []parent {
	after, _ := s.family.links(child)
	parents := make([]parent, len(after))
	for i, link := range after {
		parents[i] = parent{link.Parent, s.id(link.Parent), s.entry(link.Parent).User(), link.Outcomes}
	}
	return parents
}

// waiting are the jobs that wait for a job.
func (f *family) waiting(parent int) []bond {
	if f == nil {
		return nil
	}
	return bondsOf(f.held, parent)
}

// started are the jobs that the end of a job's run starts.
func (f *family) started(parent int) []bond {
	if f == nil {
		return nil
	}
	return bondsOf(f.starts, parent)
}

// bondsOf is those of bonds that have a parent, in the order of the children.
func bondsOf(bonds []bond, parent int) []bond {
	first, ok := slices.BinarySearchFunc(bonds, parent, func(b bond, slot int) int { return cmp.Compare(b.parent, slot) })
	if !ok {
		return nil
	}
	past := first
	for past < len(bonds) && bonds[past].parent == parent {
		past++
	}
	return bonds[first:past]
}

// Edge is a job that another waits for or starts on.
type Edge struct {
	Job      job.ID
	Outcomes crontab.Outcomes
}

// Edges are the jobs that after= and on= of job i name. Those of a job that is
// held for its edges are as written.
func (v *View) Edges(i int) (after, on []Edge) {
	o := v.jobs.options(i)
	if len(o.After)+len(o.On) == 0 {
		return nil, nil
	}
	edges := func(found []crontab.Link, written []crontab.Edge) []Edge {
		if len(found) > len(written) { // some have shards
			all := make([]Edge, len(found))
			for k, link := range found {
				all[k] = Edge{v.jobs.id(link.Parent), link.Outcomes}
			}
			return all
		}
		edges := make([]Edge, len(written))
		for k, w := range written {
			edges[k] = Edge{job.ID(w.Job), w.Outcomes}
			if len(found) == len(written) {
				edges[k].Job = v.jobs.id(found[k].Parent)
			}
		}
		return edges
	}
	waits, begins := v.jobs.family.links(i)
	return edges(waits, o.After), edges(begins, o.On)
}
