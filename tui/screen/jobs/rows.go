package jobs

import (
	"context"

	"github.com/cronring/cronring/daemon/api"
	"github.com/cronring/cronring/daemon/job"
	"github.com/cronring/cronring/tui/board"
	"github.com/cronring/cronring/tui/screen"
)

// Rows are the jobs on the board that match a query, as rows of a table.
type Rows struct {
	Board  *board.Board
	List   *board.List
	Query  *board.Query
	search *board.Search // that was requested last
}

// Use lists the jobs of a board.
func (r *Rows) Use(b *board.Board) {
	r.Board, r.List = b, b.List(*r.Query)
}

// Row returns the job at an index.
func (r *Rows) Row(i int) *api.Row { return r.List.At(i) }

// Filter keeps the jobs that match a text.
func (r *Rows) Filter(text string) {
	r.Query.Text = text
	r.List.Set(*r.Query)
}

// Len returns the number of jobs, At the ID of the job at an index.
func (r *Rows) Len() int        { return r.List.Len() }
func (r *Rows) At(i int) job.ID { return r.List.At(i).Job }

// Has reports whether there is a job, although the filter may hide it.
func (r *Rows) Has(id job.ID) bool {
	_, ok := r.Board.Job(id)
	return ok
}

// Place returns the index of a job, or -1.
func (r *Rows) Place(id job.ID) int { return r.List.Place(id) }

// SlotSearch is the slot of Ask.
const SlotSearch = "search"

// Ask requests the search that the list waits for, and ends one that it no longer waits for.
func (r *Rows) Ask() []screen.Effect {
	search := r.List.Search()
	if search == r.search {
		return nil
	}
	if r.search = search; search == nil {
		return []screen.Effect{screen.Forget{Slot: SlotSearch}}
	}
	return []screen.Effect{screen.Ask{Slot: SlotSearch, Call: func(ctx context.Context, _ screen.Daemon) (any, error) {
		return search.Run(ctx)
	}}}
}

// Take takes in what a search has found.
func (r *Rows) Take(a screen.Answer) {
	r.search = nil
	if a.Err == nil {
		r.List.Take(a.Value.(board.Found))
	}
}
