package jobstate

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"time"

	"github.com/cronring/cronring/daemon/display"
	"github.com/cronring/cronring/daemon/engine/view"
	"github.com/cronring/cronring/daemon/job"
	"github.com/cronring/cronring/daemon/server/call"
)

// Store is the history, as far as the states of jobs need it.
type Store interface {
	Numbered(ctx context.Context, ids []job.RunID, f func(job.Run)) error
	Last(ctx context.Context, f func(job.Run)) error
	LastOf(ctx context.Context, jobs []job.ID, f func(job.Run)) error
	LastBy(ctx context.Context, id job.ID, user string, f func(job.Run)) error
	Streaks(ctx context.Context, f func(l job.Summary)) error
}

// Jobs finds the states of jobs.
type Jobs struct {
	*memory
	store Store
	ring  Ring
}

// New returns the states of the jobs of a view.
func New(s Store, view func() *view.View, ring Ring) *Jobs {
	return &Jobs{newMemory(s, view), s, ring}
}

// Numbered is the status of a job, with its number in the view.
type Numbered struct {
	job.Status
	Number int // in the view
}

// How many jobs are processed at a time: by Statuses, which describes them, and by
// states.
const (
	statusPage = 512
	statesPage = 4096
)

// State is the state of one job.
type State struct {
	Condition
	Number int // in the view
	ID     job.ID
}

// States yields the states of jobs, in the order of jobs. It is for lists that are sorted or
// filtered by state: it reads the history only for jobs that the memory lacks, and does not
// describe the jobs. An error is the last item.
func (s *Jobs) States(ctx context.Context, c *call.Call, jobs []int) iter.Seq2[State, error] {
	return func(yield func(State, error) bool) {
		look := s.Look(c, jobs)
		for page := range slices.Chunk(jobs, statesPage) {
			ids := c.IDs(page)
			pasts, err := s.newest(ctx, ids, c.Peer.Admin)
			if err != nil {
				yield(State{}, err)
				return
			}
			for k, i := range page {
				p, _ := look.Condition(i, &pasts[k])
				if !yield(State{Condition: p, Number: i, ID: ids[k]}, nil) {
					return
				}
			}
		}
	}
}

// Statuses yields the status of jobs, in the order given. An error is the last item.
func (s *Jobs) Statuses(ctx context.Context, c *call.Call, jobs []int) iter.Seq2[Numbered, error] {
	return func(yield func(Numbered, error) bool) {
		look := s.Look(c, jobs)
		for page := range slices.Chunk(jobs, statusPage) {
			lasts, pasts, err := s.lastRuns(ctx, c, page)
			if err != nil {
				yield(Numbered{}, fmt.Errorf("read history: %w", err))
				return
			}
			for k, i := range page {
				if !yield(Numbered{look.Status(i, c.View.Job(i), &pasts[k], lasts[k]), i}, nil) {
					return
				}
			}
		}
	}
}

// lastRuns returns the newest ended run that the caller sees of each job, or nil, and what the
// memory has of it.
func (s *Jobs) lastRuns(ctx context.Context, c *call.Call, jobs []int) (lasts []*job.Run, pasts []Past, err error) {
	if pasts, err = s.newest(ctx, c.IDs(jobs), c.Peer.Admin); err != nil {
		return nil, nil, err
	}
	places := make(map[job.RunID]int, len(jobs))
	numbers := make([]job.RunID, 0, len(jobs))
	for k := range pasts {
		if id := pasts[k].Run; id != 0 {
			places[id], numbers = k, append(numbers, id)
		}
	}
	lasts = make([]*job.Run, len(jobs))
	take := func(r job.Run) {
		if k := places[r.ID]; c.SeesRun(&r) {
			lasts[k] = &r
		} else {
			pasts[k] = Past{}
		}
		delete(places, r.ID)
	}
	err = s.store.Numbered(ctx, numbers, take)
	for id := range places {
		if r := s.recentRun(id); r != nil {
			take(*r)
		}
	}
	return lasts, pasts, err
}

// Collect returns the statuses as a slice, for a small number of jobs.
func Collect(all iter.Seq2[Numbered, error]) (list []Numbered, err error) {
	for st, err := range all {
		if err != nil {
			return nil, err
		}
		list = append(list, st)
	}
	return list, nil
}

// Condition contains all that determines a job's state.
type Condition struct {
	ended, Failed bool // its newest run; a failure that was not acknowledged
	Late, Running bool
	paused, held  bool
	disabled      bool
}

// Attention is the pause, problem or remote state of a job.
type Attention struct {
	Hold    *job.Hold
	Held    string // why its entry must not run
	Problem string
	Ack     *job.Ack // of the failure of its newest run
	Away    *job.Elsewhere
}

// conditionOf returns the condition of job i apart from its live runs, and the reasons for it.
// marked reports whether the job may have a pause, a problem or an acknowledgement; see
// View.Marked.
func conditionOf(v *view.View, i int, l *lastRun, where *Whereabouts, marked bool) (Condition, Attention) {
	var s Attention
	o := v.Options(i)
	s.Held = o.Held
	if b, barred := v.BarredUser(i); barred && s.Held == "" {
		s.Held = b.Detail
	}
	if marked {
		s.Hold, s.Problem = v.Hold(i), v.Problems(i).Words()
		if l.Failed {
			if a := v.Ack(i); a.Covers(l.Run) {
				s.Ack = a
			}
		}
	}
	s.Away = where.Since(i, l.At())
	return Condition{
		ended: l.Run != 0 && !l.Unknown || s.Away != nil, Failed: l.Failed && s.Ack == nil && s.Away == nil, Late: s.Problem != "",
		paused: s.Hold != nil, held: s.Held != "", disabled: !o.Enabled,
	}, s
}

// add takes a live run of job i into account. It is late when it should have
// started by now: it is due, its grace is over, and it waits behind another or
// for a process.
func (p *Condition) add(v *view.View, i int, r *job.Run, now time.Time) {
	switch r.State {
	case job.RunRunning:
		p.Running = true
	case job.RunDecided:
		p.Running = true
		p.Late = p.Late || now.After(LateAt(v, i, r))
	case job.RunQueued:
		p.Late = p.Late || now.After(LateAt(v, i, r))
	}
}

// LateAt is after when a run of job i that has no process is late.
func LateAt(v *view.View, i int, r *job.Run) time.Time {
	return r.Due.Add(v.Entry(i).Options().Grace)
}

// State is the worst of what can be said of a job.
func (p Condition) State() job.State {
	switch {
	case p.Failed:
		return job.StateFailing
	case p.Late:
		return job.StateLate
	case p.Running:
		return job.StateRunning
	case p.held:
		return job.StateHeld
	case p.paused:
		return job.StatePaused
	case p.disabled:
		return job.StateDisabled
	case p.ended:
		return job.StateOK
	}
	return job.StateNew
}

// why describes briefly what prevents a job from running.
func (s *Attention) why(c Condition, live []job.Run) string {
	waiting := slices.IndexFunc(live, func(r job.Run) bool { return r.State != job.RunRunning })
	switch {
	case s.Problem != "":
		return s.Problem
	case waiting >= 0 && live[waiting].State != job.RunDecided:
		return display.Clause(live[waiting].Reason.Sentence())
	case waiting >= 0 && c.Late:
		return "it is decided, but not started yet"
	case s.Held != "":
		return s.Held
	case s.Hold != nil:
		return "paused " + s.Hold.Detail().Words()
	}
	return ""
}
