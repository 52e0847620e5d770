// Package board owns the jobs as the dashboard holds them: what the daemon sent
// last, and lists of them by filter and order. It has no goroutines and reads no
// clock.
//
// Jobs are stored without pointers: with a hundred thousand rows of a dozen strings each, garbage
// collection would be slow. Texts that many jobs share are stored once; each job's own texts are in
// one run of bytes, and in lower case in another, which a filter scans from end to end.
package board

import (
	"bytes"
	"hash/maphash"
	"iter"
	"maps"
	"math"
	"slices"
	"time"

	"github.com/cronring/cronring/daemon/api"
	"github.com/cronring/cronring/daemon/job"
)

// Slot is a job's place on the board. It stays the job's own until the job is
// gone; then another may get it.
type Slot int32

// Board is the jobs that the account sees.
type Board struct {
	cells []cell // by slot
	text  []byte // names and commands, one after the other
	words words

	hay  []byte       // what a filter looks through, in lower case
	hays []searchText // whose each part is, in order

	seed     maphash.Seed
	slots    map[uint64]Slot // by hash of the name
	free     []Slot
	wasted   int // bytes of text no longer in use
	counts   [len(job.States)]int
	byName   []Slot // in order of name, except fresh; some may be deleted
	fresh    []Slot // jobs that are not in byName yet
	expected int    // number of jobs according to the daemon; it may be wrong
	stream   uint8  // which of the daemon's streams this is; it begins again after 255
	complete bool
	version  uint64
	owned    int // jobs with a node
	paused   int // jobs that are paused
	barred   int // jobs in state held that are not paused
	labelled int // jobs with labels
}

// cell is a row without pointers.
type cell struct {
	next, began, last, until int64 // instants are Unix nanoseconds; never for none
	took, run                int64

	at      uint32 // of the name in text; the command follows it
	hay     int32  // place in hays
	name    uint16 // length
	command uint16 // length

	line, streak, live int32

	user, table, schedule, zone, labels, ending, why, node word
	away                                                   word // who had it last, if that was not this host

	state             uint8 // index in job.States; gone if the slot is free
	seen              uint8 // stream that last contained it
	protected, paused bool
	acked, fixed      bool
	unsorted          bool // it is in fresh
}

// words returns the places of what is stored in words.
func (c *cell) words() []*word {
	return []*word{&c.user, &c.table, &c.schedule, &c.zone, &c.labels, &c.ending, &c.why, &c.node, &c.away}
}

// searchText is a part of what a filter looks through.
type searchText struct {
	at   uint32
	slot Slot // nobody: the part is no longer in use
}

const (
	gone   = math.MaxUint8
	nobody = Slot(-1)
	never  = int64(math.MinInt64)
)

// New makes an empty board.
func New() *Board {
	return &Board{seed: maphash.MakeSeed(), slots: map[uint64]Slot{}, words: newWords()}
}

// Apply takes in what the daemon sent. It keeps nothing of the update's memory.
func (b *Board) Apply(u api.BoardUpdate) {
	b.version++
	if u.Begin {
		b.stream++
	}
	b.makeRoom()
	for i := range u.Rows {
		b.put(&u.Rows[i])
	}
	if u.Head != nil {
		b.expected = min(u.Head.Jobs, mostExpected)
	}
	for _, id := range u.Gone {
		b.remove(id)
	}
	if u.Complete {
		b.sweep()
		b.text, b.hay, b.hays = fit(b.text), fit(b.hay), fit(b.hays)
		b.complete = true
	}
	b.tidy()
}

// Bounds of what room is made for before it has come.
const (
	mostExpected = 1 << 17 // jobs
	mostAhead    = 1 << 26 // bytes of their texts
)

// makeRoom reserves memory for the jobs to come: slices that grow as they arrive cost more than all
// other work. It skips the first jobs, which the user waits for, and estimates the size of texts
// from them.
func (b *Board) makeRoom() {
	const some = 1024
	n := len(b.slots)
	if b.complete || n >= b.expected {
		return
	}
	if cap(b.cells) < b.expected {
		b.cells = slices.Grow(b.cells, b.expected-len(b.cells))
		slots := make(map[uint64]Slot, b.expected)
		maps.Copy(slots, b.slots)
		b.slots = slots
	}
	if n >= some {
		b.text, b.hay, b.hays = ahead(b.text, n, b.expected), ahead(b.hay, n, b.expected), ahead(b.hays, n, b.expected)
	}
}

// ahead makes room in what one number of jobs takes for what another does, and
// somewhat more.
func ahead[T any](s []T, jobs, expected int) []T {
	need := min(len(s)*expected/jobs, mostAhead)
	if cap(s) >= need {
		return s
	}
	return slices.Grow(s, need+need/16-len(s))
}

// fit reduces the capacity of a slice if append has reserved much more than it needs.
func fit[T any](s []T) []T {
	if cap(s) < len(s)+len(s)/8 {
		return s
	}
	return append(make([]T, 0, len(s)+len(s)/32), s...)
}

// sweep removes the jobs that a stream before this one has named last: they are
// no more, or are no longer to be seen.
func (b *Board) sweep() {
	for _, slot := range b.slots {
		if b.cells[slot].seen != b.stream {
			b.remove(job.ID(b.nameOf(slot)))
		}
	}
}

func (b *Board) put(row *api.Row) {
	key := b.key(row.Job)
	slot, known := b.slots[key]
	if known {
		b.count(slot, -1)
	} else {
		slot = b.enter(key)
	}
	b.setText(slot, row, known)
	b.set(slot, row)
	b.count(slot, 1)
}

// count counts a job in or out.
func (b *Board) count(slot Slot, by int) {
	b.counts[b.cells[slot].state] += by
	if b.words.text(b.cells[slot].node) != "" {
		b.owned += by
	}
	switch c := &b.cells[slot]; {
	case c.paused:
		b.paused += by
	case job.States[c.state] == job.StateHeld:
		b.barred += by
	}
	if b.words.text(b.cells[slot].labels) != "" {
		b.labelled += by
	}
}

// enter assigns a slot to a new job.
func (b *Board) enter(key uint64) Slot {
	slot := Slot(len(b.cells))
	if n := len(b.free); n > 0 {
		slot, b.free = b.free[n-1], b.free[:n-1]
	} else {
		b.cells = append(b.cells, cell{hay: -1, state: gone})
	}
	b.slots[key] = slot
	b.fresh = append(b.fresh, slot)
	b.cells[slot].unsorted = true
	return slot
}

// setText keeps the texts that a row has for itself, unless they are as before.
func (b *Board) setText(slot Slot, row *api.Row, known bool) {
	c := &b.cells[slot]
	command := row.Command[:min(len(row.Command), math.MaxUint16)]
	name := string(row.Job)[:min(len(row.Job), math.MaxUint16)]
	if known && string(b.commandOf(slot)) == command {
		return
	}
	if known {
		b.waste(slot)
	}
	c.at, c.name, c.command = uint32(len(b.text)), uint16(len(name)), uint16(len(command))
	b.text = append(append(b.text, name...), command...)
	b.addText(slot)
}

// waste releases the texts of a slot.
func (b *Board) waste(slot Slot) {
	b.wasted += int(b.cells[slot].name) + int(b.cells[slot].command)
	b.hays[b.cells[slot].hay].slot = nobody
}

func (b *Board) set(slot Slot, row *api.Row) {
	c := &b.cells[slot]
	c.state, c.seen = uint8(row.State.Severity()), b.stream
	c.protected, c.paused, c.acked, c.fixed = row.Protected, row.Paused, row.Acked, row.Fixed
	c.user, c.table, c.schedule = b.words.of(row.User), b.words.of(row.Crontab), b.words.of(row.Schedule)
	c.line, c.streak, c.live = int32(row.Line), int32(row.Streak), int32(row.Live)
	c.zone, c.ending, c.why = b.words.of(row.Zone), b.words.of(row.Ending), b.words.of(row.Why)
	c.labels, c.node, c.away = b.words.of(row.Labels), b.words.of(row.Node), b.words.of(row.Elsewhere)
	c.next, c.began, c.last, c.until = nanos(row.Next), nanos(row.Began), nanos(row.Last), nanos(row.HeldUntil)
	c.took, c.run = int64(row.Took), int64(row.LastRun)
}

func nanos(t time.Time) int64 {
	if t.IsZero() {
		return never
	}
	return t.UnixNano()
}

func instant(n int64) time.Time {
	if n == never {
		return time.Time{}
	}
	return time.Unix(0, n).UTC()
}

func (b *Board) remove(id job.ID) {
	slot, ok := b.Find(id)
	if !ok {
		return
	}
	b.count(slot, -1)
	delete(b.slots, b.key(id))
	b.waste(slot)
	b.cells[slot].state = gone
	b.free = append(b.free, slot)
}

// Len returns the number of jobs.
func (b *Board) Len() int { return len(b.slots) }

// Count returns the number of jobs in a state, or of those that are paused.
func (b *Board) Count(s job.State) int {
	if s == job.MarkPaused {
		return b.paused
	}
	return b.counts[s.Severity()]
}

// Barred returns the number of jobs that are held for another reason than a pause.
func (b *Board) Barred() int { return b.barred }

// Owned returns the number of ring jobs that have an owner.
func (b *Board) Owned() int { return b.owned }

// Labelled returns the number of jobs with labels.
func (b *Board) Labelled() int { return b.labelled }

// Complete reports that the daemon has sent every job.
func (b *Board) Complete() bool { return b.complete }

// Version changes with what is on the board.
func (b *Board) Version() uint64 { return b.version }

// Row is all that is known of a job.
func (b *Board) Row(s Slot) api.Row {
	c := &b.cells[s]
	if c.state == gone {
		return api.Row{}
	}
	return api.Row{
		Job: job.ID(b.nameOf(s)), Command: string(b.commandOf(s)), Line: int(c.line),
		User: b.words.text(c.user), Crontab: b.words.text(c.table), Schedule: b.words.text(c.schedule), Zone: b.words.text(c.zone),
		State: job.States[c.state], Protected: c.protected, Paused: c.paused, Acked: c.acked, Fixed: c.fixed,
		Next: instant(c.next), Began: instant(c.began), Last: instant(c.last), HeldUntil: instant(c.until),
		Live: int(c.live), LastRun: job.RunID(c.run), Took: time.Duration(c.took), Streak: int(c.streak),
		Labels: b.words.text(c.labels), Ending: b.words.text(c.ending), Why: b.words.text(c.why),
		Node: b.words.text(c.node), Elsewhere: b.words.text(c.away),
	}
}

// Jobs returns all jobs, in no particular order.
func (b *Board) Jobs() iter.Seq[job.ID] {
	return func(yield func(job.ID) bool) {
		for _, slot := range b.slots {
			if !yield(job.ID(b.nameOf(slot))) {
				return
			}
		}
	}
}

// Find returns the slot of a job.
func (b *Board) Find(id job.ID) (Slot, bool) {
	slot, ok := b.slots[b.key(id)]
	return slot, ok
}

// At is the job of an entry, by its place.
func (b *Board) At(file string, line int) (api.Row, bool) {
	for s := range Slot(len(b.cells)) {
		if c := &b.cells[s]; c.state != gone && c.line == int32(line) && b.words.text(c.table) == file {
			return b.Row(s), true
		}
	}
	return api.Row{}, false
}

// key returns a seeded hash of a name. Its value cannot be predicted, so collisions are practically
// impossible.
func (b *Board) key(id job.ID) uint64 { return maphash.String(b.seed, string(id)) }

func (b *Board) nameOf(s Slot) []byte { return b.text[b.cells[s].at:][:b.cells[s].name] }

func (b *Board) commandOf(s Slot) []byte {
	return b.text[int(b.cells[s].at)+int(b.cells[s].name):][:b.cells[s].command]
}

// tidy rebuilds the board if too much of its text is no longer in use.
func (b *Board) tidy() {
	const some = 1 << 16
	if b.wasted < len(b.text)/2+some && b.words.len() < 4*len(b.slots)+some {
		return
	}
	text, words := b.text, b.words
	b.text, b.words, b.hay, b.hays, b.wasted = nil, newWords(), nil, nil, 0
	for s := range Slot(len(b.cells)) {
		c := &b.cells[s]
		if c.state == gone {
			c.hay = -1
			continue
		}
		own := text[c.at:][:int(c.name)+int(c.command)]
		c.at = uint32(len(b.text))
		b.text = append(b.text, own...)
		for _, w := range c.words() {
			*w = b.words.of(words.text(*w))
		}
		b.addText(s)
	}
}

// inOrder brings byName up to date: what is new is put between what is there.
func (b *Board) inOrder() []Slot {
	byName := func(x, y Slot) int { return bytes.Compare(b.nameOf(x), b.nameOf(y)) }
	left := slices.DeleteFunc(b.byName, func(s Slot) bool { return b.cells[s].state == gone || b.cells[s].unsorted })
	b.byName = left
	if len(b.fresh) == 0 {
		return b.byName
	}
	slices.Sort(b.fresh)
	fresh := slices.DeleteFunc(slices.Compact(b.fresh), func(s Slot) bool { return b.cells[s].state == gone })
	for _, s := range fresh {
		b.cells[s].unsorted = false
	}
	slices.SortFunc(fresh, byName)
	merged := make([]Slot, 0, len(left)+len(fresh))
	for len(left) > 0 && len(fresh) > 0 {
		if byName(left[0], fresh[0]) <= 0 {
			merged, left = append(merged, left[0]), left[1:]
		} else {
			merged, fresh = append(merged, fresh[0]), fresh[1:]
		}
	}
	b.byName, b.fresh = append(append(merged, left...), fresh...), b.fresh[:0]
	return b.byName
}
