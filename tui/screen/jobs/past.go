package jobs

import (
	"context"
	"time"

	"github.com/cronring/cronring/daemon/api"
	"github.com/cronring/cronring/daemon/job"
	"github.com/cronring/cronring/tui/jobinfo"
	"github.com/cronring/cronring/tui/screen"
)

// stripCells is the number of occurrences of each job in the list.
const stripCells = 12

// maxPasts bounds the jobs whose past is remembered.
const maxPasts = 2000

// pasts caches the past of jobs that were in view. It is requested again after a run
// has begun or ended. Only one request is under way at a time, so that a repeating
// key does not flood the daemon.
type pasts struct {
	known  map[job.ID]pastEntry
	asking bool
	asked  time.Time
	failed bool
}

type pastEntry struct {
	stamp jobinfo.Stamp
	past  api.JobPast
}

const slotPast = "past"

// of is the past of a job; nil: it is not known yet.
func (p *pasts) of(id job.ID) *api.JobPast {
	e, ok := p.known[id]
	if !ok {
		return nil
	}
	return &e.past
}

// ask requests the past of rows that are unknown or have changed.
func (p *pasts) ask(w *screen.World, rows func(yield func(*api.Row) bool)) []screen.Effect {
	if p.asking || !w.Link.Live {
		return nil
	}
	soon := w.Now.Sub(p.asked) < jobinfo.Patience
	if p.failed && soon {
		return nil
	}
	var jobs []job.ID
	var stamps map[job.ID]jobinfo.Stamp
	for r := range rows {
		e, known := p.known[r.Job]
		if stamp := jobinfo.StampOf(r); len(jobs) < api.MaxPast && (!known || !soon && e.stamp != stamp) {
			if stamps == nil {
				stamps = map[job.ID]jobinfo.Stamp{}
			}
			jobs, stamps[r.Job] = append(jobs, r.Job), stamp
		}
	}
	if len(jobs) == 0 {
		return nil
	}
	p.asking, p.asked = true, w.Now
	return []screen.Effect{screen.Ask{Slot: slotPast, Call: func(ctx context.Context, d screen.Daemon) (any, error) {
		past, err := d.Past(ctx, jobs, stripCells)
		return pastAnswer{stamps, past}, err
	}}}
}

// pastAnswer is the past of some jobs as they were when they were asked for.
type pastAnswer struct {
	stamps map[job.ID]jobinfo.Stamp
	past   []api.JobPast
}

// take keeps an answer. What the daemon left out has no past; after an error
// nothing is asked for a while, as the next question would fail alike.
func (p *pasts) take(w *screen.World, a screen.Answer) {
	p.asking, p.failed = false, a.Err != nil
	if p.failed {
		p.asked = w.Now
		return
	}
	if p.known == nil || len(p.known) > maxPasts {
		p.known = map[job.ID]pastEntry{}
	}
	answer := a.Value.(pastAnswer)
	for id, stamp := range answer.stamps {
		p.known[id] = pastEntry{stamp: stamp, past: api.JobPast{Job: id}}
	}
	for _, past := range answer.past {
		p.known[past.Job] = pastEntry{answer.stamps[past.Job], past}
	}
}
