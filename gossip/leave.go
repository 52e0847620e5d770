package gossip

import (
	"context"
	"slices"
	"time"

	"github.com/cronring/cronring/daemon/engine/exchange"
	"github.com/cronring/cronring/gossip/holders"
	"github.com/cronring/cronring/gossip/link"
	"github.com/cronring/cronring/gossip/wire"
)

// Times of a departure.
const (
	finalTime  = 3 * time.Second        // for the engine to give up waiting runs, and for all members to confirm the final state
	aloneTime  = 6 * time.Second        // likewise, for any member to confirm what this one gives up
	retryPause = 200 * time.Millisecond // between two attempts to send a message
	leaveTime  = 2 * time.Second        // for memberlist to announce that this member leaves
	lastAge    = time.Minute            // of ended occurrences in the final state; all members know the older ones
)

// Drain stops this member from taking new occurrences, after Settle. It stays a member, and
// continues its runs.
func (r *Ring) Drain(ctx context.Context) error {
	return r.do(ctx, func() error {
		switch {
		case r.list == nil:
			return ErrNoRing
		case len(r.stage.waiting) > 0: // it is already leaving
		case r.stage.exit < draining:
			r.stage.exit = max(r.stage.exit, draining)
			r.setPart()
		}
		return nil
	})
}

// Leave drains this host, waits until that takes effect, and leaves the ring.
func (r *Ring) Leave(ctx context.Context) error {
	var left chan struct{}
	err := r.do(ctx, func() error {
		if r.list == nil {
			return nil
		}
		left = make(chan struct{})
		r.stage.waiting = append(r.stage.waiting, left)
		if len(r.stage.waiting) == 1 {
			r.leave()
		}
		return nil
	})
	if err != nil || left == nil {
		return err
	}
	select {
	case <-left:
		return nil
	case <-r.running:
		return errOver
	case <-ctx.Done():
		return ctx.Err()
	}
}

// leave drains this member, lets its engine give up waiting occurrences, sends the final state to
// the others, and leaves.
func (r *Ring) leave() {
	r.stage.exit = max(r.stage.exit, draining)
	r.setPart()
	settle := max(0, time.Until(r.stage.idleFrom))
	if len(r.alive()) == 0 {
		settle = 0 // a hand-over is impossible without other members
	}
	r.after(settle, func() {
		r.stage.exit = departing
		r.table.Abandon()
		r.emit(holders.Departing{})
		r.stage.givesUp, r.stage.confirmed = false, false
		r.depart(time.Now())
	})
}

// broadcastFinal sends the final state to each member until it confirms it, because a lost
// packet could lose an occurrence: the occurrences that the engine gave up, and the progress
// of all others that this member took. A member that is cut off receives it from the others.
func (r *Ring) broadcastFinal(u holders.Unstarted) {
	now := r.o.Now()
	for _, x := range u.Occurrences {
		holder := r.table.Holder(x.Occurrence)
		_, gaveUp := r.table.GaveUp(x.Occurrence, holder)
		if m := r.members[holder]; holder == "" || holder == r.o.ID || m == nil || m.state != Alive || gaveUp {
			x.GivenUp = true
			r.table.Progress(x, now)
			r.stage.givesUp = true
		}
	}
	own := slices.DeleteFunc(r.table.Marks(time.Time{}, marksMax), func(m holders.Mark) bool {
		return m.Member != r.o.ID || m.Phase == exchange.Over && m.Due < now.Add(-lastAge).UnixNano()
	})
	messages := confirmations(own)
	copy(messages[len(messages)-1].body, wire.AppendTime(nil, r.own.Since))
	for _, m := range r.alive() {
		sent := 0
		if m.sending {
			sent = 1
		}
		// The final state contains the marks of messages that are not sent yet.
		rest := slices.DeleteFunc(m.unconfirmed[sent:], func(x message) bool { return x.verb == verbConfirm })
		m.unconfirmed = append(m.unconfirmed[:sent+len(rest)], messages...)
	}
	r.stage.exit = final
	r.sendUnconfirmed()
}

// confirmations returns at least one message with marks that its receiver must confirm.
func confirmations(marks []holders.Mark) (all []message) {
	for len(marks) > 0 || len(all) == 0 {
		b, n := holders.AppendMarks(wire.AppendTime(nil, time.Time{}), marks, link.MaxBody-timeLen)
		all, marks = append(all, message{verbConfirm, b}), marks[n:]
	}
	return all
}

// insist sends each member the marks of occurrences that this one gave up, until it confirms them.
func (r *Ring) insist(given []holders.Mark) {
	if len(given) == 0 {
		return
	}
	messages := confirmations(given)
	for _, m := range r.alive() {
		if len(m.unconfirmed) < mostUnconfirmed {
			m.unconfirmed = append(m.unconfirmed, messages...)
		}
	}
	r.sendUnconfirmed()
}

// sendUnconfirmed sends each member the next message that it has to confirm.
func (r *Ring) sendUnconfirmed() {
	for _, m := range r.alive() {
		r.sendNext(m)
	}
}

// sendNext sends a member the next message that it has to confirm.
func (r *Ring) sendNext(m *member) {
	if m.state != Alive || len(m.unconfirmed) == 0 || m.sending || time.Now().Before(m.retryAt) {
		return
	}
	m.sending = true
	next, to, limit := m.unconfirmed[0], m.peer(), r.claimTime(m)
	r.help(func(ctx context.Context) func() {
		ctx, cancel := context.WithTimeout(ctx, limit)
		defer cancel()
		_, err := r.o.Link.Ask(ctx, to, next.verb, next.body)
		return func() {
			m.sending = false
			if err != nil {
				m.retryAt = time.Now().Add(retryPause)
				return
			}
			m.unconfirmed = m.unconfirmed[1:]
			r.stage.confirmed = r.stage.confirmed || r.stage.exit == final && len(m.unconfirmed) == 0
			if r.members[m.id] == m {
				r.sendNext(m)
			}
		}
	})
}

// depart leaves when all members have confirmed the final state. After a time one is enough,
// because the others receive what this member gave up from that one.
func (r *Ring) depart(begun time.Time) {
	others := r.alive()
	var waitingFor []string
	for _, m := range others {
		if r.stage.exit < final || len(m.unconfirmed) > 0 {
			waitingFor = append(waitingFor, m.meta.Name)
		}
	}
	lost, limit := r.stage.givesUp && !r.stage.confirmed, finalTime
	if lost {
		limit = aloneTime
	}
	if (lost || len(waitingFor) > 0) && time.Since(begun) < limit {
		r.sendUnconfirmed()
		r.after(retryPause/4, func() { r.depart(begun) })
		return
	}
	switch {
	case lost:
		r.o.Log.Warn("ring: no member confirmed that this host leaves: what the voters granted to it, and it gave up, may never run", "members", waitingFor)
	case len(waitingFor) > 0:
		r.o.Log.Warn("ring: some members did not confirm that this host leaves, and learn it from the others", "members", waitingFor)
	}
	if len(others) == 0 {
		r.left()
		return
	}
	list := r.list
	r.help(func(context.Context) func() {
		// It also fails if the last other member leaves meanwhile. All members have the final state already.
		_ = list.Leave(leaveTime)
		return r.left
	})
}

// timeLen is the length of what wire.AppendTime appends.
const timeLen = 8

// answerConfirm accepts a member's final state, or marks of occurrences that it gave up. The last
// message of a final state begins with the time at which the member joined; others begin with 0. A
// message can arrive after its sender has joined again, and then it does not end the new membership.
func (r *Ring) answerConfirm(ctx context.Context, from string, body []byte) ([]byte, error) {
	in := wire.NewReader(body)
	since := in.Time()
	marks, err := holders.DecodeMarks(in.Rest())
	if err != nil {
		return nil, err
	}
	return nil, r.do(ctx, func() error {
		r.spread.changed = true
		r.learnMarks(marks)
		if m := r.members[from]; m != nil && !since.IsZero() && !m.left() {
			m.finalSince = since
			r.checkLeft(m)
		}
		return nil
	})
}

// checkLeft treats a member as dead that has sent its final state, and reports whether it has.
func (r *Ring) checkLeft(m *member) bool {
	if !m.left() {
		return false
	}
	if m.state != Left {
		r.setState(m, Left)
		r.search.Forget(m.id)
		r.lose(m)
	}
	return true
}

func (r *Ring) left() {
	r.stop()
	clear(r.members)
	r.viewSum.Store(viewSumOf(r.o.ID))
	r.stage.entry, r.stage.exit = outside, staying
	r.outbox.changed = true
	for _, w := range r.stage.waiting {
		close(w)
	}
	r.stage.waiting = nil
}
