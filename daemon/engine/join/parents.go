package join

import (
	"time"

	"github.com/cronring/cronring/crontab/option"
	"github.com/cronring/cronring/daemon/engine/catalog"
	"github.com/cronring/cronring/daemon/job"
)

// Parents is the state of the parents that a run waits for.
type Parents struct {
	Edges []catalog.Parent
	Since time.Time // only occurrences that came due after this count
	Known []job.Parent
	tally tally
}

// New returns the state of parents that have not ended.
func New(parents []catalog.Parent, since time.Time) *Parents {
	return &Parents{Edges: parents, Since: since, Known: make([]job.Parent, len(parents)), tally: tally{edges: len(parents)}}
}

// Chance reports whether a join of the parents holds, or still can.
func (w *Parents) Chance(join option.Join) Chance { return chanceOf(join, w.tally) }

// Update replaces the state of parent i.
func (w *Parents) Update(i int, now job.Parent) {
	w.tally.count(w.Known[i].Verdict, w.Edges[i].Outcomes, -1)
	w.tally.count(now.Verdict, w.Edges[i].Outcomes, 1)
	w.Known[i] = now
}

// mostNamed limits how many parents a detail names.
const mostNamed = 5

// Missing lists the parents that have not ended.
func (w *Parents) Missing() job.Detail {
	return w.list(func(p job.Parent) job.Detail {
		if p.Verdict != "" {
			return ""
		}
		return p.Name()
	})
}

// All lists the parents.
func (w *Parents) All() job.Detail {
	return w.list(func(p job.Parent) job.Detail { return job.Text(string(p.Job)) })
}

// Ends describes how the parents ended.
func (w *Parents) Ends() job.Detail {
	return w.list(func(p job.Parent) job.Detail {
		if p.Verdict == "" {
			return ""
		}
		return p.Detail()
	})
}

// list joins what say returns for each parent. It skips empty details and stops after
// mostNamed parents.
func (w *Parents) list(say func(job.Parent) job.Detail) job.Detail {
	var names []job.Detail
	for _, p := range w.Known {
		name := say(p)
		switch {
		case name == "":
		case len(names) == mostNamed:
			return job.JoinNamesAndOthers(names)
		default:
			names = append(names, name)
		}
	}
	return job.JoinNames(names)
}

// FailedParent describes a parent that failed, or else how all parents ended.
func (w *Parents) FailedParent(join option.Join, c Chance) job.Detail {
	byEdge := join == option.JoinAll || join == option.JoinAny
	for i, p := range w.Known {
		if c == Failed && p.Verdict.Bad() && !(byEdge && w.Edges[i].Outcomes&OutcomesOf(p.Verdict) != 0) {
			return p.Detail()
		}
	}
	return w.Ends()
}
