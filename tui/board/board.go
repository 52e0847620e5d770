// Package board owns the jobs as the dashboard holds them: what the daemon sent
// last, and lists of them by filter and order. It has no goroutines and reads no
// clock.
package board

import (
	"iter"
	"maps"

	"github.com/cronring/cronring/daemon/api"
	"github.com/cronring/cronring/daemon/job"
)

// Slot is a job's place on the board. It stays the job's own until the job is
// gone; then another may get it.
type Slot int32

// Board is the jobs that the account sees.
type Board struct {
	rows     []api.Row
	gone     []bool
	free     []Slot
	slots    map[job.ID]Slot
	counts   map[job.State]int
	complete bool
	version  uint64
}

// New makes an empty board.
func New() *Board {
	return &Board{slots: map[job.ID]Slot{}, counts: map[job.State]int{}}
}

// Apply takes in what the daemon sent.
func (b *Board) Apply(u api.BoardUpdate) {
	b.version++
	for _, row := range u.Rows {
		b.put(row)
	}
	for _, id := range u.Gone {
		b.remove(id)
	}
	if u.Complete {
		b.complete = true
	}
}

func (b *Board) put(row api.Row) {
	slot, ok := b.slots[row.Job]
	switch {
	case ok:
		b.counts[b.rows[slot].State]--
	case len(b.free) > 0:
		slot, b.free = b.free[len(b.free)-1], b.free[:len(b.free)-1]
	default:
		slot = Slot(len(b.rows))
		b.rows, b.gone = append(b.rows, api.Row{}), append(b.gone, false)
	}
	b.rows[slot], b.gone[slot], b.slots[row.Job] = row, false, slot
	b.counts[row.State]++
}

func (b *Board) remove(id job.ID) {
	slot, ok := b.slots[id]
	if !ok {
		return
	}
	b.counts[b.rows[slot].State]--
	delete(b.slots, id)
	b.rows[slot], b.gone[slot] = api.Row{}, true
	b.free = append(b.free, slot)
}

// Len is how many jobs there are, and Count how many of a state.
func (b *Board) Len() int              { return len(b.slots) }
func (b *Board) Count(s job.State) int { return b.counts[s] }
func (b *Board) Complete() bool        { return b.complete }
func (b *Board) Version() uint64       { return b.version }
func (b *Board) Row(s Slot) api.Row    { return b.rows[s] }

// Jobs gives all jobs, in no order.
func (b *Board) Jobs() iter.Seq[job.ID] { return maps.Keys(b.slots) }

// Find gives the place of a job.
func (b *Board) Find(id job.ID) (Slot, bool) {
	s, ok := b.slots[id]
	return s, ok
}
