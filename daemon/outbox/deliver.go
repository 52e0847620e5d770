package outbox

import (
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"time"

	"github.com/cronring/cronring/daemon/atomicfile"
	"github.com/cronring/cronring/daemon/wake"
)

// waitUntil waits for something new, for the time, or for the end.
func (b *Outbox) waitUntil(ctx context.Context, until time.Time) {
	var due <-chan time.Time
	if !until.IsZero() {
		timer := time.NewTimer(time.Until(until))
		defer timer.Stop()
		due = timer.C
	}
	select {
	case <-b.wake:
	case <-due:
	case <-ctx.Done():
	}
}

func (b *Outbox) deliver(ctx context.Context, it *item) {
	f := b.try(ctx, it)
	switch {
	case f == nil && it.held == nil:
		if err := b.dir.Remove(it.number); err != nil {
			b.options.Log.Error("a message was sent and cannot be removed from the queue: it will be sent again", "file", Name(it.number), "error", err)
		}
	case f == nil || f.Final:
	case ctx.Err() != nil && f.Silent:
		f.Untried = true // the daemon stops; the message stays as it is
	case !f.Untried:
		f.Final = b.tooOld(it)
	}
	switch {
	case f == nil || !f.Final || it.held != nil:
	case f.Drop:
		_ = b.dir.Remove(it.number) // or it is tried again after a restart
	default:
		b.dir.Bury(it.number, it.User)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.settle(b.lanes[it.Lane], it, f)
	wake.Up(b.wake)
}

func (b *Outbox) try(ctx context.Context, it *item) *Failure {
	content, err := b.open(it)
	if err != nil {
		return &Failure{Why: err.Error(), Final: errors.Is(err, fs.ErrNotExist)}
	}
	defer content.Close()
	return b.options.Deliver(ctx, Try{Key: it.Key, Tries: it.tries, Content: content})
}

func (b *Outbox) open(it *item) (*os.File, error) {
	if it.held == nil {
		return b.dir.Open(it.number)
	}
	fd, err := atomicfile.Sealed("message", it.held)
	if err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(fd), "message"), nil
}

// tooOld also requires some attempts, because the clock may have been set forward by years since the
// message was created.
func (b *Outbox) tooOld(it *item) bool {
	return it.tries+1 >= b.options.Attempts && !time.Now().Before(b.end(it))
}

// end returns the time of a message's last attempt.
func (b *Outbox) end(it *item) time.Time { return it.Born.Add(b.options.Lifetime(it.Lane)) }

func (b *Outbox) wait(fails int) time.Duration {
	return min(b.options.FirstWait<<min(fails, 10), longestWait)
}

// settle ends the turn of a message; f is nil if it was delivered. The lock is held.
func (b *Outbox) settle(l *lane, it *item, f *Failure) {
	b.running--
	l.began = time.Time{}
	switch {
	case f == nil:
		if l.why != "" {
			b.options.Log.Info("messages are accepted again", b.options.Lane, it.Lane)
		}
		l.until, l.fails, l.why = time.Time{}, 0, ""
		b.remove(l, it)
	case f.Final:
		b.remove(l, it)
		b.giveUp(it, f)
	case f.Untried:
		l.until = time.Now().Add(b.options.FirstWait)
	default:
		if l.why == "" {
			b.log(slog.LevelWarn, "a message was not accepted; it is tried again", it, f)
		}
		l.why = f.Why
		b.delay(l, it, f)
	}
}

// giveUp notes an undeliverable message. One that is only in memory is lost.
func (b *Outbox) giveUp(it *item, f *Failure) {
	if f.Drop {
		b.log(slog.LevelWarn, "a message could not be sent and is given up", it, f)
		return
	}
	b.log(slog.LevelError, "a message could not be sent and is given up", it, f)
	if it.held != nil {
		b.state.lost++
		return
	}
	b.state.gaveUp = it.Lane + ": " + f.Why
	b.state.dead = min(b.state.dead+1, MaxDead)
}

func (b *Outbox) log(level slog.Level, text string, it *item, f *Failure) {
	attrs := append([]any{b.options.Lane, it.Lane}, f.Attrs...)
	b.options.Log.Log(context.Background(), level, text, append(attrs, "error", f.Full())...)
}

// delay sets the time of a message's next attempt. If the lane failed for all messages, or a delay
// was requested, all others wait with it.
func (b *Outbox) delay(l *lane, it *item, f *Failure) {
	now := time.Now()
	it.next = now.Add(max(b.wait(it.tries), f.After))
	if end := b.end(it); it.next.After(end) && end.After(now) {
		it.next = end
	}
	it.tries++
	if f.Silent || f.After > 0 {
		l.until = now.Add(max(b.wait(l.fails), f.After))
		l.fails++
		if it.next.Before(l.until) {
			l.until = it.next // it ends earlier
		}
	}
}
