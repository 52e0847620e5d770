package gossip

import (
	"context"
	"slices"
	"time"

	"github.com/cronring/cronring/gossip/register"
)

// Times of a departure.
const (
	tellTime  = 3 * time.Second // for members to hear what this one insists on
	leaveTime = 2 * time.Second // for the word that this member left
	lastAge   = time.Minute     // of what last words are about: what is older came around
)

// Drain makes this member take no new occurrences, from Settle on. It stays a member,
// and continues with what it has.
func (r *Ring) Drain(ctx context.Context) error {
	return r.do(ctx, func() error {
		switch {
		case r.list == nil:
			return ErrNoRing
		case len(r.waiting) > 0: // it leaves already
		case !r.draining:
			r.draining = true
			r.setPart()
		}
		return nil
	})
}

// Leave drains this host, waits until that holds, and leaves the ring.
func (r *Ring) Leave(ctx context.Context) error {
	var left chan error
	err := r.do(ctx, func() error {
		if r.list == nil {
			return nil
		}
		left = make(chan error, 1)
		r.waiting = append(r.waiting, left)
		if len(r.waiting) == 1 {
			r.leave()
		}
		return nil
	})
	if err != nil || left == nil {
		return err
	}
	select {
	case err := <-left:
		return err
	case <-r.running:
		return errOver
	case <-ctx.Done():
		return ctx.Err()
	}
}

// leave tells the others from when on this member is gone, and goes then.
func (r *Ring) leave() {
	r.draining = true
	r.setPart()
	settle := max(0, time.Until(r.idleFrom))
	if len(r.alive()) == 0 {
		settle = 0 // nobody is to take over
	}
	latest := time.Now().Add(settle + tellTime)
	r.after(settle, func() {
		r.takeLeave()
		r.depart(latest)
	})
}

// takeLeave has the others hear for sure that this member leaves, and how far it is
// with what it took of late. Packets said so before, but may have been lost; and who
// knows nothing of a run, or that it was taken only, has nobody left to ask. From now
// on it gives nothing away: what fails yet is tried again here.
func (r *Ring) takeLeave() {
	own := slices.DeleteFunc(r.register.Marks(r.o.Now().Add(-lastAge), marksMax), func(m register.Mark) bool {
		return m.Member != r.o.ID
	})
	r.departing = true
	for _, p := range r.alive() {
		p.owed, p.owedLast = slices.Concat(p.owed, own), true
	}
	r.insist()
}

// depart leaves when the others have heard this member's last words, but not much
// later than it said.
func (r *Ring) depart(latest time.Time) {
	if r.owes() && time.Now().Before(latest) {
		r.insist()
		r.after(retellPause/4, func() { r.depart(latest) })
		return
	}
	list := r.list
	r.help(func(context.Context) func() {
		err := list.Leave(leaveTime)
		return func() { r.left(err) }
	})
}

func (r *Ring) left(err error) {
	r.stop()
	clear(r.members)
	r.sight.Store(sightOf(r.o.ID))
	r.joined, r.draining, r.joining, r.departing = false, false, false, false
	r.changed = true
	for _, w := range r.waiting {
		w <- err
	}
	r.waiting = nil
}
