package jobs

import (
	"context"
	"fmt"
	"maps"

	"github.com/cronring/cronring/daemon/api"
	"github.com/cronring/cronring/daemon/job"
	"github.com/cronring/cronring/tui/board"
	"github.com/cronring/cronring/tui/canvas"
	"github.com/cronring/cronring/tui/failure"
	"github.com/cronring/cronring/tui/keys"
	"github.com/cronring/cronring/tui/screen"
)

// maxSums bounds the failing jobs whose output is read to find what they have in
// common.
const maxSums = 50

// sums groups the jobs that fail now by cause.
type sums struct {
	lines   map[job.RunID]string // what runs said of their failure
	asking  bool
	failing *board.List
	causes  []failure.Cause
	rest    bool   // more jobs fail than those with these causes
	version uint64 // of the board that they are of
}

const slotSums = "sums"

// ask requests the error lines of failing jobs, if they are shown and unknown.
func (s *sums) ask(w *screen.World, shown bool) []screen.Effect {
	if !shown || w.Board.Count(job.StateFailing) == 0 {
		s.causes = nil
		return nil
	}
	if s.asking || w.Board.Version() == s.version && s.causes != nil {
		return nil
	}
	s.version = w.Board.Version()
	var unknown []job.RunID
	for r := range s.rows(w) {
		if _, known := s.lines[r.LastRun]; !known && r.LastRun != 0 {
			unknown = append(unknown, r.LastRun)
		}
	}
	s.sum(w)
	if len(unknown) == 0 || !w.Link.Live {
		return nil
	}
	s.asking = true
	return []screen.Effect{screen.Ask{Slot: slotSums, Call: func(ctx context.Context, d screen.Daemon) (any, error) {
		return failure.ReadComplaints(ctx, d, unknown), nil
	}}}
}

// rows are the failing jobs, as many as are looked at.
func (s *sums) rows(w *screen.World) func(yield func(*api.Row) bool) {
	return func(yield func(*api.Row) bool) {
		if s.failing == nil {
			s.failing = w.Board.List(board.Query{States: []job.State{job.StateFailing}})
		}
		s.failing.Refresh(false)
		for i := range min(s.failing.Len(), maxSums) {
			if !yield(s.failing.At(i)) {
				return
			}
		}
	}
}

func (s *sums) take(w *screen.World, a screen.Answer) {
	s.asking = false
	if a.Err != nil {
		return
	}
	if s.lines == nil || len(s.lines) > 10*maxSums {
		s.lines = map[job.RunID]string{}
	}
	maps.Copy(s.lines, a.Value.(map[job.RunID]string))
	s.sum(w)
}

// sum groups the failures by their causes.
func (s *sums) sum(w *screen.World) {
	var failures []failure.Failure
	for r := range s.rows(w) {
		failures = append(failures, failure.Failure{
			Job: r.Job, Run: r.LastRun, Count: 1, First: r.Last.Add(r.Took), At: r.Last.Add(r.Took), Ending: r.Ending, Line: s.lines[r.LastRun],
		})
	}
	s.causes, s.rest = failure.Group(failures), w.Board.Count(job.StateFailing) > len(failures)
}

// text returns a summary of the causes for a line of room cells.
func (s *sums) text(w *screen.World, room int) string {
	if !s.rest {
		return failure.Summary(s.causes, room)
	}
	first := fmt.Sprintf("the first of %d: ", w.Board.Count(job.StateFailing))
	return first + failure.Summary(s.causes, room-len(first))
}

func (s *sums) draw(row canvas.View, w *screen.World) {
	if len(s.causes) == 0 {
		return
	}
	end := row.Width()
	for _, a := range []keys.Action{keys.Acknowledge, keys.ShowGroups} {
		if b, ok := w.Keys.Binding(a); ok && len(b.Keys) > 0 {
			field := row.In(0, 0, end-2, 1)
			end = field.PutRight(0, b.Keys[0]+" "+b.Short, canvas.Style{}) + 1
			w.ClickActs(row.In(end, 0, field.Width()-end, 1), a)
		}
	}
	row.PutCut(1, 0, end-4, s.text(w, end-4), w.Glyphs.Ellipsis, canvas.Style{})
}
