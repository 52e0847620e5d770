package screen

import (
	"context"
	"iter"
	"time"

	"github.com/cronring/cronring/daemon/api"
	"github.com/cronring/cronring/daemon/job"
)

// dossier is what the daemon tells of the one job that is looked at. It comes in
// parts, each of which is shown as soon as it is there; another job drops what
// is still on its way.
type dossier struct {
	id     job.ID
	seen   api.Row // the job on the board when it was asked for
	whole  bool    // asked for with all parts, and not only those of the peek pane
	asking bool
	asked  time.Time

	job   *api.Job
	ahead outlook // from its schedule
	past  *api.JobPast
	tail  *tail
	hours *api.Timeline
	err   error
}

const slotDossier = "dossier"

// pastCells is how many occurrences are shown of the one job.
const pastCells = 150

// liveAgain is how often the output of a run that lives is asked for again.
const liveAgain = 3 * time.Second

// reopen is called when its screen comes to the front: what was on its way when
// that was left does not come.
func (d *dossier) reopen() {
	if d.asking {
		d.asking, d.asked = false, time.Time{}
	}
}

// ask asks for a job, if it is another one than before or has changed since.
func (d *dossier) ask(w *World, id job.ID, whole bool) []Effect {
	if id != d.id {
		was := *d
		*d = dossier{id: id}
		if id == "" && was.asking {
			return []Effect{Forget{slotDossier}}
		}
	}
	slot, ok := w.Board.Find(id)
	if !ok || !w.Link.Live {
		return nil
	}
	row := w.Board.Row(slot)
	if !d.outdated(w, row, whole) {
		return nil
	}
	d.seen, d.whole, d.asking, d.asked = row, whole, true, w.Now
	from := midnight(w.Now, w.In(row.Zone)).AddDate(0, 0, 1-heatDays)
	return []Effect{Follow{slotDossier, func(ctx context.Context, daemon Daemon) iter.Seq2[any, error] {
		return func(yield func(any, error) bool) { readDossier(ctx, daemon, &row, whole, from, yield) }
	}}}
}

// outdated reports whether what is known is to be asked for again: another part
// is wanted, the job has changed, a run of it writes, or the last question found
// no answer. What changes all the time is asked for once in a while.
func (d *dossier) outdated(w *World, row api.Row, whole bool) bool {
	since := w.Now.Sub(d.asked)
	switch {
	case d.asked.IsZero() || whole && !d.whole:
		return true
	case d.asking:
		return false
	case row != d.seen:
		return since >= patience
	}
	return since >= liveAgain && (row.Live > 0 || d.err != nil)
}

// readDossier asks for one part after the other, those that are seen first.
func readDossier(ctx context.Context, d Daemon, row *api.Row, whole bool, from time.Time, yield func(any, error) bool) {
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
		t, err := readTail(ctx, d, run)
		if !yield(t, err) {
			return
		}
	}
	if whole {
		yield(d.Timeline(ctx, api.TimelineQuery{
			Refs: []string{string(row.Job)}, From: from, To: from.Add(heatDays * 24 * time.Hour), Cells: heatDays * 24,
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

// take receives a part.
func (d *dossier) take(w *World, a Answer) {
	switch part := a.Value.(type) {
	case api.Job:
		d.job, d.err = &part, nil
		d.ahead = newOutlook(&part, w.Now, w.zone(part.Job.Zone))
	case api.JobPast:
		d.past = &part
	case tail:
		d.tail = &part
	case api.Timeline:
		d.hours = &part
	}
	if a.Err != nil {
		d.err = a.Err
	}
	if a.Done {
		d.asking = false
	}
}
