package screen

import (
	"context"
	"iter"
	"strings"
	"time"

	"github.com/cronring/cronring/daemon/api"
	"github.com/cronring/cronring/daemon/job"
	"github.com/cronring/cronring/tui/safe"
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

// tail is the end of a run's output.
type tail struct {
	Run       job.RunID
	Lines     []tailLine
	Complaint string // see errorLine
}

// tailLine is one line of it, clean.
type tailLine struct {
	At     time.Time
	Stream job.Stream
	Text   string
}

// Bounds of what is read of the output of one run, and kept.
const (
	tailBytes  = 1 << 20
	tailHead   = 256 << 10 // of it, where the complaint is looked for
	tailLength = 200
)

// readTail reads the output of a run, as far as it goes until now. Of a very
// long one the first part is read.
func readTail(ctx context.Context, d Daemon, run job.RunID) (tail, error) {
	lines := tailWriter{}
	streams := map[job.Stream]*safe.Lines{}
	var head []job.Chunk
	size := 0
	for e, err := range d.Output(ctx, run.String(), false) {
		if err != nil {
			return tail{Run: run}, err
		}
		if e.Chunk == nil {
			continue
		}
		c := e.Chunk
		if size < tailHead {
			head = append(head, *c)
		}
		if streams[c.Stream] == nil {
			streams[c.Stream] = &safe.Lines{W: &lines}
		}
		lines.at, lines.stream = c.At, c.Stream
		streams[c.Stream].Write(c.Data) // a list takes everything
		if size += len(c.Data); size > tailBytes {
			break
		}
	}
	for _, stream := range []job.Stream{job.Stdout, job.Stderr, job.System} {
		if l := streams[stream]; l != nil {
			lines.stream = stream
			l.Close()
		}
	}
	return tail{Run: run, Lines: lines.lines, Complaint: errorLine(head)}, nil
}

// tailWriter keeps the last lines that were written to it.
type tailWriter struct {
	at     time.Time
	stream job.Stream
	lines  []tailLine
}

func (t *tailWriter) Write(p []byte) (int, error) {
	const widest = 500 // bytes of one line
	text := string(p[:min(len(p), widest)])
	if len(t.lines) >= 2*tailLength {
		t.lines = append(t.lines[:0], t.lines[tailLength:]...)
	}
	t.lines = append(t.lines, tailLine{t.at, t.stream, strings.ReplaceAll(strings.TrimSuffix(text, "\n"), "\t", "    ")})
	return len(p), nil
}
