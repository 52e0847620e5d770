package engine

import (
	"maps"
	"slices"

	"github.com/cronring/cronring/crontab"
	"github.com/cronring/cronring/daemon/job"
)

// family is whom after= and on= connect. It is immutable, and holds nothing
// of jobs that name nobody and that nobody names.
type family struct {
	waits  map[job.ID][]parent // by child: whom after= names, in its order
	begins map[job.ID][]parent // by child: whom on= names
	held   map[job.ID][]bond   // by parent: whose after= names it
	starts map[job.ID][]bond   // by parent: whose on= names it
	faults map[int32]string    // slots that must not run, and why
}

// parent is a job that another waits for.
type parent struct {
	slot     int32
	id       job.ID
	user     string
	outcomes crontab.Outcomes
}

// bond is an edge as its parent sees it.
type bond struct {
	child    int32 // its slot
	id       job.ID
	edge     int // which one of the child's
	outcomes crontab.Outcomes
}

// connect finds whom the entries at the slots of edged mean.
func (s *jobs) connect(edged []int32) *family {
	if len(edged) == 0 {
		return nil
	}
	g := crontab.Connect(edged, s.entry, s.caller(edged))
	f := &family{
		waits: make(map[job.ID][]parent, len(edged)), begins: map[job.ID][]parent{},
		held: make(map[job.ID][]bond, len(edged)), starts: map[job.ID][]bond{},
		faults: make(map[int32]string, len(g.Faults)),
	}
	for at, slot := range edged {
		if fault, ok := g.Faults[slot]; ok {
			f.faults[slot] = fault.Text
			continue
		}
		id := s.id(slot)
		s.bind(f.waits, f.held, slot, id, g.After[at])
		s.bind(f.begins, f.starts, slot, id, g.On[at])
	}
	return f
}

// bind writes down the edges of a child, as it sees them and as its parents do.
func (s *jobs) bind(parents map[job.ID][]parent, bonds map[job.ID][]bond, child int32, id job.ID, links []crontab.Link) {
	if len(links) == 0 {
		return
	}
	found := make([]parent, len(links))
	for edge, link := range links {
		p := parent{link.Parent, s.id(link.Parent), s.entry(link.Parent).User(), link.Outcomes}
		found[edge] = p
		bonds[p.id] = append(bonds[p.id], bond{child, id, edge, link.Outcomes})
	}
	parents[id] = found
}

// caller finds the slots of the entries that are called by a name which one of
// edged names.
func (s *jobs) caller(edged []int32) func(name string) []int32 {
	named := make(map[uint64]int32, len(edged)) // by hash of the name: who has it as its ID, or -1
	for _, slot := range edged {
		o := s.entry(slot).Options()
		for _, edges := range [][]crontab.Edge{o.After, o.On} {
			for _, edge := range edges {
				named[hash(edge.Job)] = -1
			}
		}
	}
	for slot, key := range s.keys {
		if _, ok := named[key]; ok {
			named[key] = int32(slot)
		}
	}
	others := map[string][]int32{} // those whose name another one has
	for _, slot := range slices.Sorted(maps.Keys(s.taken)) {
		name := s.entry(slot).Options().Name
		others[name] = append(others[name], slot)
	}
	called := map[string][]int32{} // all of a name that several have
	var one [1]int32
	return func(name string) []int32 {
		if all, ok := called[name]; ok {
			return all
		}
		slot, ok := named[hash(name)]
		ok = ok && slot >= 0 && string(s.id(slot)) == name
		switch {
		case !ok:
			return others[name]
		case others[name] == nil:
			one[0] = slot
			return one[:]
		}
		called[name] = append([]int32{slot}, others[name]...)
		return called[name]
	}
}

// fault is why a slot must not run, or "".
func (f *family) fault(slot int32) string {
	if f == nil {
		return ""
	}
	return f.faults[slot]
}

// parents are the jobs that a job waits for.
func (f *family) parents(child job.ID) []parent {
	if f == nil {
		return nil
	}
	return f.waits[child]
}

// waiting are the jobs that wait for a job.
func (f *family) waiting(parent job.ID) []bond {
	if f == nil {
		return nil
	}
	return f.held[parent]
}

// started are the jobs that the end of a job's run starts.
func (f *family) started(parent job.ID) []bond {
	if f == nil {
		return nil
	}
	return f.starts[parent]
}

// Edge is a job that another waits for or starts on.
type Edge struct {
	Job      job.ID
	Outcomes crontab.Outcomes
}

// Edges are the jobs that after= and on= of job i name. Those of a job that is
// held for its edges are as written.
func (v *View) Edges(i int) (after, on []Edge) {
	o := v.jobs.options(int32(i))
	if len(o.After)+len(o.On) == 0 {
		return nil, nil
	}
	id := v.ID(i)
	edges := func(found []parent, written []crontab.Edge) []Edge {
		edges := make([]Edge, len(written))
		for k, w := range written {
			edges[k] = Edge{job.ID(w.Job), w.Outcomes}
			if len(found) == len(written) {
				edges[k].Job = found[k].id
			}
		}
		return edges
	}
	if v.jobs.family == nil {
		return edges(nil, o.After), edges(nil, o.On)
	}
	return edges(v.jobs.family.waits[id], o.After), edges(v.jobs.family.begins[id], o.On)
}
