// Package board owns the jobs as the dashboard holds them: what the daemon sent
// last, and lists of them by filter and order. It has no goroutines and reads no
// clock.
//
// Jobs are stored in columns, not as rows: with a hundred thousand rows of a dozen strings each,
// garbage collection and sorting would be slow. Texts that many jobs share are stored once; each
// job's own texts are in one run of bytes, and in lower case in another, which a filter scans from
// end to end.
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
	cols  columns
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
}

// columns has one slice for each property of a row, by slot.
type columns struct {
	at       []uint32 // of the name in text; the command follows it
	name     []uint16 // length
	command  []uint16 // length
	hay      []int32  // place in hays
	state    []uint8  // index in job.States; gone if the slot is free
	flags    []uint8
	seen     []uint8 // stream that last contained it
	line     []int32
	streak   []int32
	live     []int32
	user     []word
	table    []word
	schedule []word
	zone     []word
	ending   []word
	why      []word
	node     []word
	away     []word  // who had it last, if that was not this host
	next     []int64 // instants are Unix nanoseconds; never for none
	began    []int64
	last     []int64
	until    []int64
	took     []int64
	run      []int64
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

// The flags.
const (
	protected = 1 << iota
	acked
	fixed
	unsorted // it is in fresh
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
	if cap(b.cols.at) < b.expected {
		b.cols.reserve(b.expected)
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
		if b.cols.seen[slot] != b.stream {
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
	b.counts[b.cols.state[slot]] += by
	if b.words.text(b.cols.node[slot]) != "" {
		b.owned += by
	}
}

// enter assigns a slot to a new job.
func (b *Board) enter(key uint64) Slot {
	slot := Slot(len(b.cols.at))
	if n := len(b.free); n > 0 {
		slot, b.free = b.free[n-1], b.free[:n-1]
	} else {
		b.cols.grow()
	}
	b.slots[key] = slot
	b.fresh = append(b.fresh, slot)
	b.cols.flags[slot] = unsorted
	return slot
}

func (c *columns) grow() {
	c.at, c.name, c.command, c.hay = append(c.at, 0), append(c.name, 0), append(c.command, 0), append(c.hay, -1)
	c.state, c.flags, c.seen = append(c.state, gone), append(c.flags, 0), append(c.seen, 0)
	c.line, c.streak, c.live = append(c.line, 0), append(c.streak, 0), append(c.live, 0)
	c.user, c.table, c.schedule, c.zone = append(c.user, 0), append(c.table, 0), append(c.schedule, 0), append(c.zone, 0)
	c.ending, c.why, c.node, c.away = append(c.ending, 0), append(c.why, 0), append(c.node, 0), append(c.away, 0)
	c.next, c.began, c.last, c.until = append(c.next, 0), append(c.began, 0), append(c.last, 0), append(c.until, 0)
	c.took, c.run = append(c.took, 0), append(c.run, 0)
}

// reserve makes room for a number of jobs.
func (c *columns) reserve(jobs int) {
	c.at, c.name, c.command, c.hay = room(c.at, jobs), room(c.name, jobs), room(c.command, jobs), room(c.hay, jobs)
	c.state, c.flags, c.seen = room(c.state, jobs), room(c.flags, jobs), room(c.seen, jobs)
	c.line, c.streak, c.live = room(c.line, jobs), room(c.streak, jobs), room(c.live, jobs)
	c.user, c.table, c.schedule, c.zone = room(c.user, jobs), room(c.table, jobs), room(c.schedule, jobs), room(c.zone, jobs)
	c.ending, c.why, c.node, c.away = room(c.ending, jobs), room(c.why, jobs), room(c.node, jobs), room(c.away, jobs)
	c.next, c.began, c.last, c.until = room(c.next, jobs), room(c.began, jobs), room(c.last, jobs), room(c.until, jobs)
	c.took, c.run = room(c.took, jobs), room(c.run, jobs)
}

func room[T any](s []T, n int) []T { return slices.Grow(s, max(n-len(s), 0)) }

// setText keeps the texts that a row has for itself, unless they are as before.
func (b *Board) setText(slot Slot, row *api.Row, known bool) {
	c := &b.cols
	command := row.Command[:min(len(row.Command), math.MaxUint16)]
	name := string(row.Job)[:min(len(row.Job), math.MaxUint16)]
	if known && string(b.commandOf(slot)) == command {
		return
	}
	if known {
		b.waste(slot)
	}
	c.at[slot], c.name[slot], c.command[slot] = uint32(len(b.text)), uint16(len(name)), uint16(len(command))
	b.text = append(append(b.text, name...), command...)
	b.addText(slot)
}

// waste releases the texts of a slot.
func (b *Board) waste(slot Slot) {
	b.wasted += int(b.cols.name[slot]) + int(b.cols.command[slot])
	b.hays[b.cols.hay[slot]].slot = nobody
}

func (b *Board) set(slot Slot, row *api.Row) {
	c := &b.cols
	c.state[slot], c.flags[slot], c.seen[slot] = uint8(row.State.Severity()), c.flags[slot]&unsorted, b.stream
	if row.Protected {
		c.flags[slot] |= protected
	}
	if row.Acked {
		c.flags[slot] |= acked
	}
	if row.Fixed {
		c.flags[slot] |= fixed
	}
	c.user[slot], c.table[slot], c.schedule[slot] = b.words.of(row.User), b.words.of(row.Crontab), b.words.of(row.Schedule)
	c.line[slot], c.streak[slot], c.live[slot] = int32(row.Line), int32(row.Streak), int32(row.Live)
	c.zone[slot], c.ending[slot], c.why[slot] = b.words.of(row.Zone), b.words.of(row.Ending), b.words.of(row.Why)
	c.node[slot], c.away[slot] = b.words.of(row.Node), b.words.of(row.Elsewhere)
	c.next[slot], c.began[slot], c.last[slot], c.until[slot] = nanos(row.Next), nanos(row.Began), nanos(row.Last), nanos(row.HeldUntil)
	c.took[slot], c.run[slot] = int64(row.Took), int64(row.LastRun)
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
	b.cols.state[slot] = gone
	b.free = append(b.free, slot)
}

// Len returns the number of jobs.
func (b *Board) Len() int { return len(b.slots) }

// Count returns the number of jobs in a state.
func (b *Board) Count(s job.State) int { return b.counts[s.Severity()] }

// Owned returns the number of ring jobs that have an owner.
func (b *Board) Owned() int { return b.owned }

// Complete reports that the daemon has sent every job.
func (b *Board) Complete() bool { return b.complete }

// Version changes with what is on the board.
func (b *Board) Version() uint64 { return b.version }

// Row is all that is known of a job.
func (b *Board) Row(s Slot) api.Row {
	c := &b.cols
	if c.state[s] == gone {
		return api.Row{}
	}
	return api.Row{
		Job: job.ID(b.nameOf(s)), Command: string(b.commandOf(s)), Line: int(c.line[s]),
		User: b.words.text(c.user[s]), Crontab: b.words.text(c.table[s]), Schedule: b.words.text(c.schedule[s]), Zone: b.words.text(c.zone[s]),
		State: job.States[c.state[s]], Protected: c.flags[s]&protected != 0, Acked: c.flags[s]&acked != 0, Fixed: c.flags[s]&fixed != 0,
		Next: instant(c.next[s]), Began: instant(c.began[s]), Last: instant(c.last[s]), HeldUntil: instant(c.until[s]),
		Live: int(c.live[s]), LastRun: job.RunID(c.run[s]), Took: time.Duration(c.took[s]), Streak: int(c.streak[s]),
		Ending: b.words.text(c.ending[s]), Why: b.words.text(c.why[s]),
		Node: b.words.text(c.node[s]), Elsewhere: b.words.text(c.away[s]),
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
	for s := range Slot(len(b.cols.at)) {
		if c := &b.cols; c.state[s] != gone && c.line[s] == int32(line) && b.words.text(c.table[s]) == file {
			return b.Row(s), true
		}
	}
	return api.Row{}, false
}

// key returns a seeded hash of a name. Its value cannot be predicted, so collisions are practically
// impossible.
func (b *Board) key(id job.ID) uint64 { return maphash.String(b.seed, string(id)) }

func (b *Board) nameOf(s Slot) []byte { return b.text[b.cols.at[s]:][:b.cols.name[s]] }

func (b *Board) commandOf(s Slot) []byte {
	return b.text[int(b.cols.at[s])+int(b.cols.name[s]):][:b.cols.command[s]]
}

// tidy rebuilds the board if too much of its text is no longer in use.
func (b *Board) tidy() {
	const some = 1 << 16
	if b.wasted < len(b.text)/2+some && b.words.len() < 4*len(b.slots)+some {
		return
	}
	text, words, c := b.text, b.words, &b.cols
	b.text, b.words, b.hay, b.hays, b.wasted = nil, newWords(), nil, nil, 0
	for s := range Slot(len(c.at)) {
		if c.state[s] == gone {
			c.hay[s] = -1
			continue
		}
		own := text[c.at[s]:][:int(c.name[s])+int(c.command[s])]
		c.at[s] = uint32(len(b.text))
		b.text = append(b.text, own...)
		for _, col := range []*word{&c.user[s], &c.table[s], &c.schedule[s], &c.zone[s], &c.ending[s], &c.why[s], &c.node[s], &c.away[s]} {
			*col = b.words.of(words.text(*col))
		}
		b.addText(s)
	}
}

// inOrder brings byName up to date: what is new is put between what is there.
func (b *Board) inOrder() []Slot {
	byName := func(x, y Slot) int { return bytes.Compare(b.nameOf(x), b.nameOf(y)) }
	left := slices.DeleteFunc(b.byName, func(s Slot) bool { return b.cols.state[s] == gone || b.cols.flags[s]&unsorted != 0 })
	b.byName = left
	if len(b.fresh) == 0 {
		return b.byName
	}
	slices.Sort(b.fresh)
	fresh := slices.DeleteFunc(slices.Compact(b.fresh), func(s Slot) bool { return b.cols.state[s] == gone })
	for _, s := range fresh {
		b.cols.flags[s] &^= unsorted
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
