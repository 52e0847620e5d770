package overview

import (
	"context"
	"hash/maphash"
	"math"
	"net/http"
	"reflect"
	"slices"
	"strconv"
	"time"

	"github.com/cronring/cronring/daemon/api"
	"github.com/cronring/cronring/daemon/engine/view"
	"github.com/cronring/cronring/daemon/job"
	"github.com/cronring/cronring/daemon/server/call"
	"github.com/cronring/cronring/daemon/server/jobstate"
)

// How a board is sent.
const (
	FirstPage  = 64                     // rows of the first piece: what a screen shows
	otherPages = 2048                   // of the others, unless their commands are long
	longPage   = 1 << 20                // bytes of commands after which a piece gets few more rows
	step       = 256                    // rows that are compared before the size of a piece is
	foldTime   = 100 * time.Millisecond // events within it are sent together
	shortIdle  = time.Second            // minimum time until it looks again by itself
	LongIdle   = 10 * time.Second       // maximum time: some changes cause no event
)

// Board answers with all jobs that the caller sees, and then with their changes.
func (o *Overview) Board(ctx context.Context, c *call.Call) error {
	w := o.states.Watch(c.Peer)
	if w == nil {
		return &api.Error{
			Kind: api.Conflict, What: "cannot show another board",
			Why: "this user, or all users together, have reached the maximum", Fix: "close some: each cronring top is one",
		}
	}
	defer o.states.Unwatch(w)
	if _, err := o.states.Follow(ctx); err != nil {
		return err
	}
	c.Patient()
	encoder, contentType := api.NewBoardEncoder(c.Writer)
	c.Writer.Header().Set("Content-Type", contentType)
	c.Writer.WriteHeader(http.StatusOK)
	control := http.NewResponseController(c.Writer)
	control.SetWriteDeadline(time.Time{})
	b := NewBoard(o, c.Peer, w, func(u *api.BoardUpdate) error {
		if err := encoder.Encode(u); err != nil {
			return err
		}
		return control.Flush()
	})
	if err := b.run(ctx); err != nil && ctx.Err() == nil {
		encoder.EncodeError(call.AsError(err)) // the last item; a reader that left misses nothing
	}
	return nil
}

// Board is the state that one reader has received, by the number of each job.
type Board struct {
	o     *Overview
	peer  call.Peer
	watch *jobstate.Watcher
	send  func(*api.BoardUpdate) error
	seed  maphash.Seed
	own   string // path of the peer's own crontab

	numbering   *jobstate.Numbering
	view        *view.View
	now         time.Time
	sums        []uint64 // of the row that was sent; 0: none was
	due         []int64  // when the row will be another though nothing happens, Unix nanoseconds
	next        []int64  // the job's next start, likewise
	state       []uint8  // index in job.States, or unseen
	head        api.Status
	diagnostics struct{ errors, warnings int }
	totals      *totals
	commands    int // bytes of commands in the rows that were collected
	denied      api.Denied
	asked       time.Time // when that was found out
}

// unseen is the state of a job that the reader does not see.
const unseen = 255

// NewBoard returns the board of a reader who has received nothing. send sends an update; the next
// call of it reuses the update's rows.
func NewBoard(o *Overview, p call.Peer, w *jobstate.Watcher, send func(*api.BoardUpdate) error) *Board {
	return &Board{o: o, peer: p, watch: w, send: send, seed: maphash.MakeSeed(), own: o.crontabs.Own(p), totals: &totals{changed: make(chan struct{}, 1)}}
}

// run sends until ctx ends.
func (b *Board) run(ctx context.Context) error {
	defer b.Wait()
	for {
		if err := b.Round(ctx); err != nil {
			return err
		}
		if err := b.waitForChange(ctx); err != nil {
			return err
		}
	}
}

// Wait waits until the totals that are being computed in the background are there.
func (b *Board) Wait() { b.totals.work.Wait() }

// waitForChange waits until something can have changed, and at least for foldTime, so that changes are sent
// together.
func (b *Board) waitForChange(ctx context.Context) error {
	idle := time.NewTimer(min(max(b.Soonest().Sub(b.o.now()), shortIdle), LongIdle))
	defer idle.Stop()
	fold := time.NewTimer(foldTime)
	defer fold.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-fold.C:
	}
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-b.watch.Wake:
	case <-b.totals.changed:
	case <-idle.C:
	}
	return nil
}

// Soonest returns when a row will next change by itself.
func (b *Board) Soonest() time.Time {
	if len(b.due) == 0 {
		return b.now.Add(LongIdle)
	}
	return time.Unix(0, slices.Min(b.due))
}

// Round sends what has changed since the last one; the first sends all.
func (b *Board) Round(ctx context.Context) error {
	numbering, err := b.o.states.Follow(ctx)
	if err != nil {
		return err
	}
	slots, all := b.o.states.Changed(b.watch, numbering)
	view := b.o.view() // only now: it includes all these changes, and later ones wake the watcher again
	if !view.SameJobs(numbering.View) {
		b.o.states.Forget(b.watch)
		return nil
	}
	first, before := b.numbering == nil, b.view
	b.view, b.now = view, b.o.now().UTC()
	var gone []job.ID
	if b.numbering != numbering {
		gone = b.renumber(numbering)
	}
	if first || all || b.now.Before(b.head.Now) || !view.SameRules(before) {
		err = b.sendAll(gone, first)
	} else {
		err = b.sendSome(slots)
	}
	if err != nil {
		return err
	}
	if b.peer.Admin {
		b.totals.look(ctx, b.o, b.now)
	}
	return nil
}

// renumber copies the state of remaining jobs to the new numbers, and returns the removed jobs.
func (b *Board) renumber(numbering *jobstate.Numbering) (gone []job.ID) {
	before, n := *b, len(numbering.Order)
	b.numbering = numbering
	b.sums, b.due, b.next, b.state = make([]uint64, n), make([]int64, n), make([]int64, n), make([]uint8, n)
	for i := range n {
		b.due[i], b.next[i], b.state[i] = math.MaxInt64, math.MaxInt64, unseen
	}
	b.diagnostics.errors, b.diagnostics.warnings = b.o.crontabs.CountFor(b.peer)
	if before.numbering == nil {
		return nil
	}
	for from, sum := range before.sums {
		if sum == 0 {
			continue
		}
		id := before.numbering.View.ID(from)
		if to, stays := numbering.View.Find(id); stays && b.sees(to) {
			b.sums[to] = sum
		} else {
			gone = append(gone, id)
		}
	}
	return gone
}

func (b *Board) look(slots []int) *painter {
	return &painter{Look: b.o.states.Look(call.Of(b.peer, b.view, b.now), slots), own: b.own}
}

func (b *Board) sees(i int) bool { return b.peer.May(call.View, b.numbering.View.Entry(i)) }

// sendAll compares all rows with those that were sent, jobs with the worst state first. The first
// piece of a new board is as short as a screen.
func (b *Board) sendAll(gone []job.ID, first bool) error {
	p := b.look(nil)
	u := api.BoardUpdate{Now: b.now, Gone: gone}
	ranks, ok := b.rank(p)
	if !ok {
		return b.again(&u)
	}
	page := otherPages
	if first {
		page = FirstPage
		u.Head = b.newHead()
	}
	for _, slots := range ranks {
		for len(slots) > 0 {
			n := min(len(slots), page-len(u.Rows), step)
			if !b.compare(p, slots[:n], &u) {
				return b.again(&u)
			}
			if slots = slots[n:]; len(u.Rows) < page && b.commands < longPage {
				continue
			}
			if err := b.flush(&u); err != nil {
				return err
			}
			page = otherPages
		}
	}
	u.Complete = true
	return b.finish(&u)
}

// rank sorts all jobs that the reader sees by state, and by name in each.
func (b *Board) rank(p *painter) (ranks [][]int, ok bool) {
	ranks = make([][]int, len(job.States))
	for slots := range slices.Chunk(b.numbering.Order, otherPages) {
		pasts, ok := p.Read(b.numbering, slots)
		if !ok {
			return nil, false
		}
		for k, slot := range slots {
			if !b.sees(slot) {
				continue
			}
			c, _ := p.Condition(slot, &pasts[k])
			state := c.State().Severity()
			b.state[slot] = uint8(state)
			ranks[state] = append(ranks[state], slot)
		}
	}
	return ranks, true
}

// again sends the collected rows and ends a round, because crontabs have changed meanwhile. The next
// round begins immediately.
func (b *Board) again(u *api.BoardUpdate) error {
	b.o.states.Forget(b.watch)
	return b.flush(u)
}

// sendSome compares the rows of some jobs, and of those whose time has come.
func (b *Board) sendSome(slots []int) error {
	now := b.now.UnixNano()
	for slot, due := range b.due {
		if due <= now {
			slots = append(slots, slot)
		}
	}
	slots = slices.DeleteFunc(slots, func(slot int) bool { return !b.sees(slot) })
	slices.Sort(slots)
	slots = slices.Compact(slots)
	u := api.BoardUpdate{Now: b.now}
	if len(slots) > 0 {
		p := b.look(slots)
		for part := range slices.Chunk(slots, step) {
			if !b.compare(p, part, &u) {
				return b.again(&u)
			}
			if len(u.Rows) < otherPages && b.commands < longPage {
				continue
			}
			if err := b.flush(&u); err != nil {
				return err
			}
		}
	}
	return b.finish(&u)
}

// flush sends the collected rows, if any.
func (b *Board) flush(u *api.BoardUpdate) error {
	if len(u.Rows)+len(u.Gone) == 0 && u.Head == nil {
		return nil
	}
	err := b.send(u)
	b.commands = 0
	*u = api.BoardUpdate{Now: b.now, Rows: u.Rows[:0]}
	return err
}

// finish sends the rest of a round, with the head if it is another.
func (b *Board) finish(u *api.BoardUpdate) error {
	if head := b.newHead(); head != nil {
		u.Head = head
	}
	if u.Complete {
		b.commands = 0
		return b.send(u)
	}
	return b.flush(u)
}

// compare adds the rows that differ from those that were sent. It returns false if crontabs have
// changed meanwhile.
func (b *Board) compare(p *painter, slots []int, u *api.BoardUpdate) bool {
	pasts, ok := p.Read(b.numbering, slots)
	if !ok {
		return false
	}
	for k, slot := range slots {
		row, due := p.row(slot, &pasts[k])
		b.due[slot], b.next[slot], b.state[slot] = due, math.MaxInt64, uint8(row.State.Severity())
		if !row.Next.IsZero() {
			b.next[slot] = row.Next.UnixNano()
		}
		sum := maphash.Comparable(b.seed, row) | 1
		if sum != b.sums[slot] {
			b.sums[slot] = sum
			u.Rows = append(u.Rows, row)
			b.commands += len(row.Command)
		}
	}
	return true
}

// newHead is the daemon's state, or nil if it is as it was sent.
func (b *Board) newHead() *api.Status {
	h := b.o.head(b.view, b.now, b.peer)
	h.Problems, h.Notices = someProblems(h.Problems), someProblems(h.Notices)
	if b.now.Sub(b.asked).Abs() >= LongIdle {
		b.denied, b.asked = b.o.crontabs.Denied(b.peer), b.now
	}
	h.Denied = b.denied
	h.Errors, h.Warnings, h.Day = b.diagnostics.errors, b.diagnostics.warnings, b.totals.newest()
	soonest := -1
	for slot, state := range b.state {
		if state == unseen {
			continue
		}
		h.Jobs++
		h.States[job.States[state]]++
		if at := b.next[slot]; at != math.MaxInt64 && (soonest < 0 || at < b.next[soonest]) {
			soonest = slot
		}
	}
	if soonest >= 0 {
		at := jobstate.TimeOf(b.next[soonest])
		h.Next = &api.Upcoming{Job: b.view.ID(soonest), At: at, Node: b.o.states.Whereabouts(b.view).Of(soonest, at)}
	}
	before := b.head
	b.head = h
	before.Now = h.Now
	if reflect.DeepEqual(before, h) {
		return nil
	}
	return &h
}

// someProblems is as many as a screen can show.
func someProblems(all []api.Problem) []api.Problem {
	const enough = 50
	if len(all) <= enough {
		return all
	}
	return append(slices.Clone(all[:enough]), api.Problem{What: strconv.Itoa(len(all)-enough) + " more", Fix: "cronring status"})
}
