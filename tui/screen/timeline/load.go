package timeline

import (
	"context"
	"slices"

	"github.com/cronring/cronring/daemon/api"
	"github.com/cronring/cronring/daemon/job"
	"github.com/cronring/cronring/tui/jobinfo"
	"github.com/cronring/cronring/tui/screen"
)

// lineQuestion is the subject of a request.
type lineQuestion struct {
	axis   axis
	jobs   []job.ID
	stamps []jobinfo.Stamp
}

// lineAnswer is the daemon's answer.
type lineAnswer struct {
	axis axis
	line api.Timeline
	jobs map[job.ID]*api.TimelineJob
}

// ask requests what is in view after the axis or the jobs have changed, or after a
// run has begun or ended. Only one request is under way at a time.
func (s *Timeline) ask(w *screen.World) []screen.Effect {
	if id, ok := s.table.Cursor(); ok {
		w.At = id
	}
	effects := s.rows.Ask()
	if !w.Link.Live {
		return effects
	}
	return slices.Concat(effects, s.askLine(w), s.askTogether(w))
}

func (s *Timeline) askLine(w *screen.World) []screen.Effect {
	q := s.question(w)
	soon := w.Now.Sub(s.at) < jobinfo.Patience
	switch {
	case s.asking, len(q.jobs) == 0:
		return nil
	case s.err != nil && soon:
		return nil
	case s.err == nil && q.axis == s.asked.axis && slices.Equal(q.jobs, s.asked.jobs) && (soon || slices.Equal(q.stamps, s.asked.stamps)):
		return nil
	}
	s.asking, s.asked, s.at = true, q, w.Now
	return []screen.Effect{screen.Ask{Slot: slotLine, Call: func(ctx context.Context, d screen.Daemon) (any, error) {
		refs := make([]string, len(q.jobs))
		for i, id := range q.jobs {
			refs[i] = string(id)
		}
		line, err := d.Timeline(ctx, api.TimelineQuery{Refs: refs, From: q.axis.from, To: q.axis.to(), Cells: q.axis.cells})
		return newLineAnswer(q.axis, line), err
	}}}
}

func newLineAnswer(a axis, line api.Timeline) lineAnswer {
	answer := lineAnswer{a, line, make(map[job.ID]*api.TimelineJob, len(line.Jobs))}
	for i := range line.Jobs {
		answer.jobs[line.Jobs[i].Job] = &line.Jobs[i]
	}
	return answer
}

// question returns the subject of a request now.
func (s *Timeline) question(w *screen.World) lineQuestion {
	q := lineQuestion{axis: s.axis(w)}
	first, last := s.table.Seen()
	for i := first; i < min(last, first+api.MaxPast); i++ {
		r := s.rows.Row(i)
		q.jobs = append(q.jobs, r.Job)
		q.stamps = append(q.stamps, jobinfo.StampOf(r))
	}
	return q
}

// of yields the cells of a job and their index on an axis, which can begin at another
// time than the requested one.
func (l *lineAnswer) of(id job.ID, a axis) func(yield func(*api.TimelineCell, int) bool) {
	return func(yield func(*api.TimelineCell, int) bool) {
		j := l.jobs[id]
		if j == nil || l.axis.step != a.step {
			return
		}
		shift := l.axis.index(a.from)
		for i := range j.Cells {
			if at := j.Cells[i].Cell - shift; at >= 0 && at < a.cells && !yield(&j.Cells[i], at) {
				return
			}
		}
	}
}
