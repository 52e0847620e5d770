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

// connect finds whom the entries at the slots of edged mean. seen finds a slot
// by the hash of its ID.
func (s *jobs) connect(edged []int32, seen map[uint64]int32) *family {
	if len(edged) == 0 {
		return nil
	}
	named := map[string][]int32{} // slots whose name another one has
	for _, slot := range slices.Sorted(maps.Keys(s.taken)) {
		name := s.entry(slot).Options().Name
		named[name] = append(named[name], slot)
	}
	entries := map[int32]*crontab.Entry{}
	entry := func(slot int32) *crontab.Entry {
		e, ok := entries[slot]
		if !ok {
			e = s.entry(slot)
			entries[slot] = e
		}
		return e
	}
	called := map[string][]int32{}
	g := crontab.Connect(edged, entry, func(name string) []int32 {
		slots, known := called[name]
		if known {
			return slots
		}
		if slot, ok := seen[hash(name)]; ok && string(s.id(slot)) == name {
			slots = append(slots, slot)
		}
		slots = append(slots, named[name]...)
		called[name] = slots
		return slots
	})
	f := &family{
		waits: map[job.ID][]parent{}, begins: map[job.ID][]parent{}, held: map[job.ID][]bond{}, starts: map[job.ID][]bond{},
		faults: make(map[int32]string, len(g.Faults)),
	}
	parents := map[int32]parent{}
	for _, slot := range edged {
		if fault, ok := g.Faults[slot]; ok {
			f.faults[slot] = fault.Text
			continue
		}
		id := s.id(slot)
		parentOf := func(link crontab.Link) parent {
			p, ok := parents[link.Parent]
			if !ok {
				p = parent{link.Parent, s.id(link.Parent), entry(link.Parent).User(), 0}
				parents[link.Parent] = p
			}
			p.outcomes = link.Outcomes
			return p
		}
		for edge, link := range g.After[slot] {
			p := parentOf(link)
			f.waits[id] = append(f.waits[id], p)
			f.held[p.id] = append(f.held[p.id], bond{slot, id, edge, link.Outcomes})
		}
		for edge, link := range g.On[slot] {
			p := parentOf(link)
			f.begins[id] = append(f.begins[id], p)
			f.starts[p.id] = append(f.starts[p.id], bond{slot, id, edge, link.Outcomes})
		}
	}
	return f
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
