// Package jobinfo owns the details of a job that several screens show, which it requests from the
// daemon and draws beside a list or in a tab.
package jobinfo

import (
	"context"
	"iter"
	"time"

	"github.com/cronring/cronring/daemon/api"
	"github.com/cronring/cronring/daemon/job"
	"github.com/cronring/cronring/tui/failure"
	"github.com/cronring/cronring/tui/screen"
)

// Info is the daemon's data about the selected job. It arrives in parts, and each is
// shown when it arrives. Selecting another job drops the rest.
type Info struct {
	ID     job.ID
	seen   api.Row // the job on the board when it was asked for
	whole  bool    // asked for with all parts, and not only those of the peek pane
	asking bool
	asked  time.Time

	Job   *api.Job
	Ahead outlook // from its schedule
	Past  *api.JobPast
	tail  *failure.Tail
	Hours *api.Timeline
	err   error
}

const Slot = "dossier"

// pastCells is the number of occurrences that are shown.
const pastCells = 150

// liveAgain is the time between two requests for the output of a live run.
const liveAgain = 3 * time.Second

// Reopen is called when its screen comes to the front: what was on its way when
// that was left does not come.
func (d *Info) Reopen() {
	if d.asking {
		d.asking, d.asked = false, time.Time{}
	}
}

// Ask requests the data of a job, if another job is selected or the job has changed.
func (d *Info) Ask(w *screen.World, id job.ID, whole bool) []screen.Effect {
	if id != d.ID {
		was := *d
		*d = Info{ID: id}
		if id == "" && was.asking {
			return []screen.Effect{screen.Forget{Slot: Slot}}
		}
	}
	row, ok := w.Board.Job(id)
	if !ok || !w.Link.Live || !d.outdated(w, row, whole) {
		return nil
	}
	d.seen, d.whole, d.asking, d.asked = row, whole, true, w.Now
	from := screen.Midnight(w.Now, w.In(row.Zone)).AddDate(0, 0, 1-hourDays)
	return []screen.Effect{screen.Follow{Slot: Slot, Call: func(ctx context.Context, daemon screen.Daemon) iter.Seq2[any, error] {
		return func(yield func(any, error) bool) { readInfo(ctx, daemon, &row, whole, from, yield) }
	}}}
}

// outdated reports whether to request the data again: more parts are needed, the job
// has changed, a run writes output, or the last request failed. Frequent changes are
// batched.
func (d *Info) outdated(w *screen.World, row api.Row, whole bool) bool {
	since := w.Now.Sub(d.asked)
	switch {
	case d.asked.IsZero() || whole && !d.whole:
		return true
	case d.asking:
		return false
	case row != d.seen:
		return since >= Patience
	}
	return since >= liveAgain && (row.Live > 0 || d.err != nil)
}

// readInfo requests one part after the other, visible parts first.
func readInfo(ctx context.Context, d screen.Daemon, row *api.Row, whole bool, from time.Time, yield func(any, error) bool) {
	shown, err := d.Show(ctx, string(row.Job))
	if err != nil {
		yield(nil, err)
		return
	}
	if !yield(shown, nil) {
		return
	}
	if whole {
		past, err := d.Past(ctx, []job.ID{row.Job}, pastCells)
		if len(past) == 1 {
			if !yield(past[0], nil) {
				return
			}
		} else if err != nil && !yield(nil, err) {
			return
		}
	}
	if run := runToShow(&shown); run != 0 && (whole || row.State == job.StateFailing) {
		t, err := failure.ReadTail(ctx, d, run)
		if !yield(t, err) {
			return
		}
	}
	if whole {
		yield(d.Timeline(ctx, api.TimelineQuery{
			Refs: []string{string(row.Job)}, From: from, To: from.Add(hourDays * 24 * time.Hour), Cells: hourDays * 24,
		}))
	}
}

// runToShow is the run whose output is shown: the newest that writes, else the
// newest that has ended.
func runToShow(j *api.Job) job.RunID {
	for i := len(j.Running) - 1; i >= 0; i-- {
		if j.Running[i].State == job.RunRunning {
			return j.Running[i].ID
		}
	}
	if j.Last != nil {
		return j.Last.ID
	}
	return 0
}

// Take receives a part.
func (d *Info) Take(w *screen.World, a screen.Answer) {
	switch part := a.Value.(type) {
	case api.Job:
		d.Job, d.err = &part, nil
		d.Ahead = newOutlook(&part, w.Now, w.LoadZone(part.Job.Zone))
	case api.JobPast:
		d.Past = &part
	case failure.Tail:
		d.tail = &part
	case api.Timeline:
		d.Hours = &part
	}
	if a.Err != nil {
		d.err = a.Err
	}
	if a.Done {
		d.asking = false
	}
}
