// Package board owns the dashboard's copy of the daemon's jobs, and the lists of them by filter and
// order. It has no goroutines and reads no clock.
//
// Texts that many jobs share are stored once, so that a hundred thousand jobs take little memory.
package board

import (
	"cmp"
	"iter"
	"maps"
	"math"
	"slices"
	"strings"
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
	words words

	slots    map[job.ID]Slot
	free     []Slot
	counts   [len(job.States)]int
	byName   []Slot           // in order of name, except fresh; some may be deleted
	fresh    []Slot           // jobs that are not in byName yet
	expected int              // number of jobs according to the daemon; it may be wrong
	stream   uint8            // which of the daemon's streams this is; it begins again after 255
	streams  map[string]uint8 // the same by host, on a board of several hosts
	complete bool
	version  uint64
	texts    uint64         // changes with texts that a search tests
	paused   int            // jobs that are paused
	filled   map[string]int // jobs with a text, by field of optional columns

	keys  []uint64 // memory for sorting, by slot
	spare []Slot   // likewise
}

// cell is a row.
type cell struct {
	texts string // the text, which is the name, a line feed and the command; behind it in lower case, if that differs

	next, began, last, until int64 // instants are Unix nanoseconds; never for none
	took, run                int64

	size, name         int32 // lengths of the text and of the name
	line, streak, live int32

	words [textCount]word

	state             uint8 // index in job.States; gone if the slot is free
	seen              uint8 // stream that last contained it
	protected, paused bool
	acked, fixed      bool
	unsorted          bool // it is in fresh
}

// setText stores a name and a command, in one piece of memory.
func (c *cell) setText(name job.ID, command string) {
	text := string(name) + "\n" + command
	c.texts, c.size, c.name = text, int32(len(text)), int32(len(name))
	if lower := strings.ToLower(text); lower != text {
		c.texts += lower
	}
}

// text returns the name, a line feed and the command, and lower the same in lower case.
func (c *cell) text() string { return c.texts[:c.size] }
func (c *cell) lower() string {
	if len(c.texts) > int(c.size) {
		return c.texts[c.size:]
	}
	return c.texts
}

// sharedText is a text of a row that is often the same in many rows.
type sharedText int

// The shared texts.
const (
	textUser sharedText = iota
	textCrontab
	textSchedule
	textZone
	textLabels
	textContact
	textEnding
	textWhy
	textNode
	textElsewhere

	textCount
)

// textsOf returns the places of the shared texts in a row.
func textsOf(r *api.Row) [textCount]*string {
	return [textCount]*string{
		textUser: &r.User, textCrontab: &r.Crontab, textSchedule: &r.Schedule, textZone: &r.Zone, textLabels: &r.Labels,
		textContact: &r.Contact, textEnding: &r.Ending, textWhy: &r.Why, textNode: &r.Node, textElsewhere: &r.Elsewhere,
	}
}

// sharedFields are the fields of a filter that contain a shared text.
var sharedFields = map[string]sharedText{
	"user": textUser, "file": textCrontab, "schedule": textSchedule, "zone": textZone, "label": textLabels, "owner": textContact,
	"why": textWhy, "host": textNode,
}

// optionalFields are the fields that are shown only if a job has a text there.
var optionalFields = []string{"host", "label", "owner"}

const (
	gone  = math.MaxUint8
	never = int64(math.MinInt64)
)

// New makes an empty board.
func New() *Board {
	return &Board{slots: map[job.ID]Slot{}, words: newWords(), filled: map[string]int{}}
}

// Apply takes in what the daemon sent. It keeps nothing of the update's memory.
func (b *Board) Apply(u api.BoardUpdate) {
	if u.Begin {
		b.stream++
	}
	b.makeRoom()
	b.apply(u)
	if u.Head != nil {
		b.expected = min(u.Head.Jobs, mostExpected)
	}
	if u.Complete {
		b.sweep(func(*cell) bool { return true })
		b.complete = true
	}
	b.tidy()
}

// apply takes in rows, and jobs that are gone.
func (b *Board) apply(u api.BoardUpdate) {
	b.version++
	for i := range u.Rows {
		b.put(&u.Rows[i])
	}
	for _, id := range u.Gone {
		b.remove(id)
	}
}

// mostExpected is for how many jobs room is made before they have come.
const mostExpected = 1 << 17

// makeRoom reserves memory for the jobs to come: slices that grow as they arrive cost more than all
// other work.
func (b *Board) makeRoom() {
	if b.complete || cap(b.cells) >= b.expected {
		return
	}
	b.cells = slices.Grow(b.cells, b.expected-len(b.cells))
	slots := make(map[job.ID]Slot, b.expected)
	maps.Copy(slots, b.slots)
	b.slots = slots
}

// sweep removes the jobs of some that a stream before this one has named last: they are
// no more, or are no longer to be seen.
func (b *Board) sweep(some func(c *cell) bool) {
	for _, slot := range b.slots {
		if c := &b.cells[slot]; c.seen != b.stream && some(c) {
			b.remove(b.nameOf(slot))
		}
	}
}

func (b *Board) put(row *api.Row) {
	slot, known := b.slots[row.Job]
	if known {
		b.count(slot, -1)
	} else {
		slot = b.enter()
	}
	if !known || b.commandOf(slot) != row.Command {
		c := &b.cells[slot]
		c.setText(row.Job, row.Command)
		b.slots[b.nameOf(slot)] = slot
		b.texts++
	}
	shared := b.cells[slot].shared()
	if b.set(slot, row); b.cells[slot].shared() != shared {
		b.texts++
	}
	b.count(slot, 1)
}

// count counts a job in or out.
func (b *Board) count(slot Slot, by int) {
	b.counts[b.cells[slot].state] += by
	for _, field := range optionalFields {
		if b.cells[slot].words[sharedFields[field]] != noWord {
			b.filled[field] += by
		}
	}
	if b.cells[slot].paused {
		b.paused += by
	}
}

// enter assigns a slot to a new job.
func (b *Board) enter() Slot {
	slot := Slot(len(b.cells))
	if n := len(b.free); n > 0 {
		slot, b.free = b.free[n-1], b.free[:n-1]
	} else {
		b.cells = append(b.cells, cell{state: gone})
	}
	b.fresh = append(b.fresh, slot)
	b.cells[slot].unsorted = true
	return slot
}

func (b *Board) set(slot Slot, row *api.Row) {
	c := &b.cells[slot]
	c.state, c.seen = uint8(row.State.Severity()), b.stream
	c.protected, c.paused, c.acked, c.fixed = row.Protected, row.Paused, row.Acked, row.Fixed
	for i, text := range textsOf(row) {
		c.words[i] = b.words.of(*text)
	}
	c.line, c.streak, c.live = int32(row.Line), int32(row.Streak), int32(row.Live)
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
	delete(b.slots, id)
	b.cells[slot] = cell{state: gone, unsorted: b.cells[slot].unsorted}
	b.free = append(b.free, slot)
}

// Len returns the number of jobs.
func (b *Board) Len() int { return len(b.slots) }

// Count returns the number of jobs in a state. All jobs that are paused count as such, also those in a
// worse state.
func (b *Board) Count(s job.State) int {
	if s == job.StatePaused {
		return b.paused
	}
	return b.counts[s.Severity()]
}

// Filled returns the number of jobs with a text in a field that is shown only if a job has one.
func (b *Board) Filled(field string) int { return b.filled[field] }

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
	row := api.Row{
		Job: b.nameOf(s), Command: b.commandOf(s), Line: int(c.line),
		State: job.States[c.state], Protected: c.protected, Paused: c.paused, Acked: c.acked, Fixed: c.fixed,
		Next: instant(c.next), Began: instant(c.began), Last: instant(c.last), HeldUntil: instant(c.until),
		Live: int(c.live), LastRun: job.RunID(c.run), Took: time.Duration(c.took), Streak: int(c.streak),
	}
	for i, text := range textsOf(&row) {
		*text = b.words.text(c.words[i])
	}
	return row
}

// Jobs returns all jobs, in no particular order.
func (b *Board) Jobs() iter.Seq[job.ID] { return maps.Keys(b.slots) }

// Find returns the slot of a job.
func (b *Board) Find(id job.ID) (Slot, bool) {
	slot, ok := b.slots[id]
	return slot, ok
}

// Job returns all that is known of a job by its ID.
func (b *Board) Job(id job.ID) (api.Row, bool) {
	slot, ok := b.slots[id]
	if !ok {
		return api.Row{}, false
	}
	return b.Row(slot), true
}

// At is the job of an entry, by its place.
func (b *Board) At(file string, line int) (api.Row, bool) {
	for s := range Slot(len(b.cells)) {
		if c := &b.cells[s]; c.state != gone && c.line == int32(line) && b.words.text(c.words[textCrontab]) == file {
			return b.Row(s), true
		}
	}
	return api.Row{}, false
}

func (b *Board) nameOf(s Slot) job.ID {
	c := &b.cells[s]
	return job.ID(c.texts[:c.name])
}

func (b *Board) commandOf(s Slot) string {
	c := &b.cells[s]
	return c.text()[c.name+1:]
}

// tidy rebuilds the words if most of them are no longer in use.
func (b *Board) tidy() {
	const some = 1 << 16
	if b.words.len() < 4*len(b.slots)+some {
		return
	}
	before := b.words
	b.words = newWords()
	for s := range b.cells {
		for i, w := range b.cells[s].words {
			b.cells[s].words[i] = b.words.of(before.text(w))
		}
	}
}

// inOrder brings byName up to date: what is new is put between what is there.
func (b *Board) inOrder() []Slot {
	byName := func(x, y Slot) int { return cmp.Compare(b.nameOf(x), b.nameOf(y)) }
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

// Names returns the names of all jobs in their order, each also in lower case.
func (b *Board) Names() iter.Seq2[string, string] {
	return func(yield func(name, lower string) bool) {
		for _, s := range b.inOrder() {
			if c := &b.cells[s]; !yield(c.texts[:c.name], c.lowerName()) {
				return
			}
		}
	}
}

// lowerName returns the name in lower case.
func (c *cell) lowerName() string {
	lower := c.lower()
	if len(lower) != int(c.size) { // a letter of a rare alphabet takes more or fewer bytes
		return strings.ToLower(c.texts[:c.name])
	}
	return lower[:c.name]
}
