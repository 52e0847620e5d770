package notify

import (
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/cronring/cronring/daemon/queue"
)

// serve starts a goroutine that works off a lane, unless it has one. The lock is held.
func (n *Notifier) serve(ctx context.Context, name string, l *lane) {
	if l.served || len(l.items) == 0 || ctx.Err() != nil {
		return
	}
	l.served = true
	n.serving.Go(func() { n.work(ctx, name, l) })
}

// work sends what waits in a lane, one message at a time, until it is empty or
// ctx ends.
func (n *Notifier) work(ctx context.Context, name string, l *lane) {
	for ctx.Err() == nil {
		it, at := n.pick(name, l)
		switch {
		case it != nil:
			n.deliver(ctx, l, it)
		case at.IsZero():
			return
		default:
			rest(ctx, l.wake, at)
		}
	}
}

// pick is lane.pick with the lock. It deletes an empty lane, except for its last error.
func (n *Notifier) pick(name string, l *lane) (*item, time.Time) {
	n.mu.Lock()
	defer n.mu.Unlock()
	it, at := l.pick(time.Now())
	if it == nil && at.IsZero() {
		l.served = false
		delete(n.lanes, name)
	}
	return it, at
}

// rest waits for the time, for news or for the end.
func rest(ctx context.Context, wake <-chan struct{}, until time.Time) {
	timer := time.NewTimer(time.Until(until))
	defer timer.Stop()
	select {
	case <-wake:
	case <-timer.C:
	case <-ctx.Done():
	}
}

func (n *Notifier) deliver(ctx context.Context, l *lane, it *item) {
	c, ok := n.find(it.message.Channel)
	f := &failure{why: "the channel was removed from the configuration"}
	if ok {
		f = n.send(ctx, &c, &it.message)
	}
	switch {
	case f == nil:
		n.done(l, it)
	case ctx.Err() != nil:
		return // the daemon stops; the message stays as it is
	case f.untried:
		n.leave(it)
	case f.final || it.tooOld(&c):
		n.giveUp(l, it, f)
	default:
		n.later(l, it, &c, f)
	}
}

// send tries a message once.
func (n *Notifier) send(ctx context.Context, c *Channel, m *Message) *failure {
	timed, cancel := queue.Patient(ctx, cmp.Or(c.Timeout, defaultTimeout), stopTime)
	defer cancel()
	switch c.Type {
	case Mail:
		return failed(n.options.Mail(timed, c, m))
	case Command:
		return n.run(timed, c, m)
	}
	return n.post(timed, c, m)
}

// failed converts an error of Mail or Run to a failure.
func failed(err error) *failure {
	if err == nil {
		return nil
	}
	f := &failure{why: oneLine(err.Error()), untried: errors.Is(err, ErrNotNow)}
	_, f.final = errors.AsType[*FinalError](err)
	return f
}

func (n *Notifier) done(l *lane, it *item) {
	if it.kept {
		if err := n.dir.Remove(it.number); err != nil {
			n.options.Log.Error("a notice was sent and cannot be taken out of the queue: it will be sent again", "channel", it.message.Channel, "error", err)
		}
	}
	n.mu.Lock()
	n.drop(l, it)
	again := l.why != ""
	l.until, l.fails, l.why = time.Time{}, 0, ""
	n.mu.Unlock()
	if again {
		n.options.Log.Info("a channel takes notices again", "channel", it.message.Channel)
	}
}

// drop takes a message out. The lock is held.
func (n *Notifier) drop(l *lane, it *item) {
	l.remove(it)
	n.count(it, -1)
}

// tooOld also requires some tries, because the clock may have been set forward by years since the
// message was created.
func (it *item) tooOld(c *Channel) bool {
	return it.tries+1 >= fewestTries && !time.Now().Before(it.end(c))
}

// end returns the time of a message's last try.
func (it *item) end(c *Channel) time.Time { return it.born.Add(cmp.Or(c.Retry, defaultRetry)) }

func wait(tries int) time.Duration { return min(firstWait<<min(tries, 10), longestWait) }

// leave has a message wait as if nothing had happened.
func (n *Notifier) leave(it *item) {
	n.mu.Lock()
	defer n.mu.Unlock()
	it.next = time.Now().Add(firstWait)
}

// later delays a message until another try. If the channel failed for all messages, or requested a
// delay, all others wait with it.
func (n *Notifier) later(l *lane, it *item, c *Channel, f *failure) {
	n.mu.Lock()
	first := l.why == ""
	l.why = f.why
	l.delay(it, c, f)
	n.mu.Unlock()
	if first {
		n.options.Log.Warn("a channel did not take a notice; it is tried again", "channel", it.message.Channel, "job", it.message.Job, "error", f.full())
	}
}

// delay sets the time of a message's next try, and perhaps its channel's.
func (l *lane) delay(it *item, c *Channel, f *failure) {
	now := time.Now()
	it.next = now.Add(max(wait(it.tries), f.after))
	if end := it.end(c); it.next.After(end) && end.After(now) {
		it.next = end
	}
	it.tries++
	if f.silent || f.after > 0 {
		l.until = now.Add(max(wait(l.fails), f.after))
		l.fails++
		if it.next.Before(l.until) {
			l.until = it.next // it ends earlier
		}
	}
}

// giveUp puts a message with the dead.
func (n *Notifier) giveUp(l *lane, it *item, f *failure) {
	n.options.Log.Error("a notice could not be sent and is given up", "channel", it.message.Channel, "job", it.message.Job,
		"on", it.message.On, "text", oneLine(it.message.Text), "error", f.full())
	if it.kept {
		n.dir.Bury(it.number, it.message.User)
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.drop(l, it)
	n.state.gaveUp = it.message.Channel + ": " + f.why
	if it.kept {
		n.state.dead = min(n.state.dead+1, queue.MaxDead)
	} else {
		n.state.lost++
	}
}
