package timeline

import (
	"context"
	"time"

	"github.com/cronring/cronring/daemon/api"
	"github.com/cronring/cronring/tui/screen"
)

// minutes is a range of time whose starts are counted.
type minutes struct{ from, to time.Time }

// askTogether requests the starts in the selected cell, or at the next occurrence of
// the job.
func (s *Timeline) askTogether(w *screen.World) []screen.Effect {
	m := s.minutes(w)
	if m == s.together {
		return nil
	}
	s.together, s.clashed = m, false
	if m.from.IsZero() {
		return []screen.Effect{screen.Forget{Slot: slotTogether}}
	}
	return []screen.Effect{screen.Ask{Slot: slotTogether, Call: func(ctx context.Context, d screen.Daemon) (any, error) {
		return d.Clashes(ctx, api.ClashQuery{From: m.from, To: m.to, Limit: 1})
	}}}
}

// minutes returns the range of askTogether, without the past.
func (s *Timeline) minutes(w *screen.World) minutes {
	a, present := s.axis(w), w.Now.Truncate(time.Minute)
	from, to := s.cell, s.cell
	if !s.cell.IsZero() {
		from = a.at(a.index(s.cell))
		to = from.Add(min(a.step, day))
	} else if row := s.table.Current(); row != nil && !row.Next.IsZero() && row.Next.After(w.Now) {
		from = row.Next.Truncate(time.Minute)
		to = from.Add(time.Minute)
	}
	if !to.After(present) {
		return minutes{}
	}
	if from.Before(present) {
		from = present
	}
	return minutes{from.UTC(), to.UTC()}
}
