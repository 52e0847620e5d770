// Package outbox owns the queues on disk of email and notifications that wait for delivery: their
// files, the share of each user, the time of the next attempt, and the undeliverable messages.
//
// A restart, a kill, or a recipient that fails for days does not lose a message. If the daemon is
// killed between a delivery and the removal of the file, the message is delivered twice.
package outbox

import (
	"cmp"
	"context"
	"io"
	"log/slog"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/cronring/cronring/daemon/budget"
	"github.com/cronring/cronring/daemon/wake"
)

// Options set up an Outbox.
type Options struct {
	Dir  string // of the queue; made if it is missing
	Noun string // what a message is called, in the singular
	Lane string // what a lane is called in the log

	// Identify reads what the queue needs to know about a message in a file. A *DamagedError means that the
	// file is invalid.
	Identify func(content io.Reader) (Key, error)

	// Deliver tries a message once; nil means that it is delivered. The deliveries of a lane follow
	// each other, those of different lanes overlap.
	Deliver func(ctx context.Context, t Try) *Failure

	Parallel  int                             // most deliveries at once; 0 is one in each lane
	FirstWait time.Duration                   // before the second attempt; it doubles up to an hour
	Lifetime  func(lane string) time.Duration // how long a message is tried
	Attempts  int                             // minimum number of attempts, even if a clock change makes a message look old
	Messages  int                             // most messages of root, and of all other users
	Bytes     int64                           // likewise; 0 is 256 MiB
	Log       *slog.Logger                    // nil is silent
}

// Key contains the properties of a message that the queue uses.
type Key struct {
	User  string    // whose share of the queue the message uses
	Lane  string    // has one delivery at a time, and fails as a whole
	Group string    // whose messages keep their order; "" means without a group
	Born  time.Time // without a monotonic reading: it is compared with the times of files
}

// Draft is a message on its way into the queue.
type Draft struct {
	Key
	Write func() [][]byte // returns the content of the file; nil means that there is no message
	Close func()          // releases what Write needs; it is called once. May be nil
}

// Try is one attempt to deliver a message. The Outbox closes Content.
type Try struct {
	Key
	Tries   int // earlier attempts, all of which failed
	Content *os.File
}

// Failure describes why a message was not delivered.
type Failure struct {
	Why      string        // any user may read it in the status: it contains no secret
	Response string        // the other side's error text, for root and the log
	Final    bool          // another attempt would fail in the same way
	Untried  bool          // no attempt was made
	Drop     bool          // if delivery is given up, the message is deleted and not kept for inspection
	Silent   bool          // the other side did not answer at all, so it would not answer for other messages of the lane
	After    time.Duration // the delay that the other side requested
	Attrs    []any         // for the log
}

// Full returns the reason with the other side's error text.
func (f *Failure) Full() string {
	if f.Response == "" {
		return f.Why
	}
	return f.Why + ": " + f.Response
}

// Limits on what waits in memory: drafts that are not written yet, and messages that the disk has
// no room for; of all users other than root, and as much of root.
const (
	maxDrafts    = 4096
	maxHeldBytes = 32 << 20
)

const longestWait = time.Hour

// diskRetry is the interval at which a disk that accepts no messages is tried, so that the problem ends without
// another message.
const diskRetry = time.Minute

// Outbox is the queue. Its methods may be called from any goroutine.
type Outbox struct {
	options Options
	dir     Dir
	taken   chan struct{} // intake is not empty
	wake    chan struct{} // the lanes have something new

	mu      sync.Mutex
	intake  budget.Queue[Draft]
	drafts  *budget.Budget // in intake
	waiting *budget.Budget // messages in lanes
	bytes   *budget.Budget // of these messages
	held    *budget.Budget // bytes of messages that are only in memory
	lanes   map[string]*lane
	count   int    // messages in lanes
	running int    // deliveries
	picks   uint64 // of the last delivery
	number  uint64 // of the last message
	state   state
}

// Open reads the queue that an earlier daemon left in the directory. An unusable directory is not
// an error: messages are then delivered without being stored, and Problems reports it.
func Open(o Options) *Outbox {
	o.Bytes = cmp.Or(o.Bytes, 256<<20)
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	o.Log = o.Log.With("queue", o.Noun)
	share := func(n int64) *budget.Budget { return budget.New(n, n) }
	b := &Outbox{
		options: o, dir: Dir(o.Dir), taken: make(chan struct{}, 1), wake: make(chan struct{}, 1), lanes: map[string]*lane{},
		drafts: share(maxDrafts), waiting: share(int64(o.Messages)), bytes: share(o.Bytes), held: share(maxHeldBytes),
	}
	newest, err := b.dir.Scan(b.restore)
	if err != nil {
		b.state.note(err)
		o.Log.Error("cannot read the queue; messages are sent without being stored", "dir", o.Dir, "error", err)
	}
	b.number, b.state.dead = newest, b.dir.Dead()
	if b.count > 0 {
		o.Log.Info("messages wait in the queue", "count", b.count)
	}
	return b
}

// restore puts a message of an earlier daemon into its lane, even if it exceeds a share.
func (b *Outbox) restore(number uint64) error {
	f, err := b.dir.Open(number)
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	key, err := b.options.Identify(f)
	if err != nil {
		return err
	}
	it := &item{Key: key, number: number, size: info.Size()}
	b.waiting.Add(it.User, 1)
	b.bytes.Add(it.User, it.size)
	b.add(it)
	return nil
}

// Enqueue adds a message. It never blocks: the goroutine of Run writes the message to disk.
func (b *Outbox) Enqueue(d Draft) {
	b.mu.Lock()
	taken := b.drafts.Take(d.User, 1)
	if taken {
		b.intake.Put(d.User, d)
	} else {
		b.state.refused++
	}
	b.mu.Unlock()
	if !taken {
		d.close()
	}
	wake.Up(b.taken)
}

func (d *Draft) close() {
	if d.Close != nil {
		d.Close()
	}
}

// Count returns the number of messages in the queue.
func (b *Outbox) Count() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.intake.Len() + b.count
}

// Run stores and delivers the messages of Enqueue until ctx ends. It is called once. When it returns,
// all messages that were enqueued before the end of ctx are in the queue.
func (b *Outbox) Run(ctx context.Context) error {
	var tasks sync.WaitGroup
	tasks.Go(func() { b.fileAll(ctx) })
	for ctx.Err() == nil {
		it, at := b.pick(time.Now())
		if it == nil {
			b.waitUntil(ctx, at)
			continue
		}
		tasks.Go(func() { b.deliver(ctx, it) })
	}
	tasks.Wait()
	return nil
}

func (b *Outbox) fileAll(ctx context.Context) {
	for ctx.Err() == nil {
		b.fileTaken()
		select {
		case <-b.taken:
		case <-b.whenDiskFails():
			err := b.dir.Probe()
			b.mu.Lock()
			b.report(err)
			b.mu.Unlock()
		case <-ctx.Done():
		}
	}
	b.fileTaken()
}

// whenDiskFails returns a channel that receives diskRetry after the last failure of the disk, or never if
// the disk accepts messages.
func (b *Outbox) whenDiskFails() <-chan time.Time {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.state.disk == nil {
		return nil
	}
	return time.After(time.Until(b.state.retry))
}

func (b *Outbox) fileTaken() {
	for d, ok := b.takeOne(); ok; d, ok = b.takeOne() {
		b.file(d)
	}
}

func (b *Outbox) takeOne() (Draft, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	d, ok := b.intake.Take()
	if ok {
		b.drafts.Return(d.User, 1)
	}
	return d, ok
}

// file puts a message into the queue: on disk, or in memory if the disk accepts nothing, so that
// delivery is at least tried.
func (b *Outbox) file(d Draft) {
	defer d.close()
	parts := d.Write()
	if parts == nil {
		return
	}
	it := &item{Key: d.Key}
	for _, part := range parts {
		it.size += int64(len(part))
	}
	if !b.admit(it) {
		return
	}
	err := b.dir.Write(it.number, parts...)
	if err != nil {
		_ = b.dir.Remove(it.number) // the file may exist although the write failed, and would be sent again after a restart
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.report(err)
	switch {
	case err == nil:
	case b.held.Take(it.User, it.size):
		it.held = slices.Concat(parts...)
	default:
		b.release(it)
		b.state.lost++
		b.options.Log.Error("a message is lost", "user", it.User, "bytes", it.size, "error", err)
		return
	}
	b.add(it)
	wake.Up(b.wake)
}

// admit numbers a message and reserves space for it. A user other than root can use a quarter of the
// queue, and never more than the remaining space, so that the next user still finds some. Refusals are
// counted, and logged once an hour.
func (b *Outbox) admit(it *item) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	large := it.User != budget.Root && (b.waiting.Held(it.User) >= max(1, int64(b.options.Messages/4)) ||
		b.bytes.Held(it.User)+it.size > b.options.Bytes/4)
	if large || !b.bytes.Fits(it.User, it.size) || !b.waiting.Take(it.User, 1) {
		b.state.refused++
		if time.Since(b.state.reportedFull) > time.Hour {
			b.state.reportedFull = time.Now()
			b.options.Log.Error("the queue has no room; messages are lost", "user", it.User)
		}
		return false
	}
	b.bytes.Add(it.User, it.size)
	b.number++
	it.number = b.number
	return true
}

// release frees the space of a message.
func (b *Outbox) release(it *item) {
	b.waiting.Return(it.User, 1)
	b.bytes.Return(it.User, it.size)
	b.held.Return(it.User, int64(len(it.held)))
}

// report notes whether the disk accepts messages, and logs a change.
func (b *Outbox) report(err error) {
	switch was := b.state.disk; {
	case err != nil && was == nil:
		b.options.Log.Error("cannot write the queue; messages are sent without being stored", "dir", b.options.Dir, "error", err)
	case err == nil && was != nil:
		b.options.Log.Info("the queue is written again")
	}
	b.state.note(err)
}

// Retry tries the messages of a lane immediately, because the cause of their failure may be
// repaired.
func (b *Outbox) Retry(name string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if l := b.lanes[name]; l != nil {
		l.until, l.fails = time.Time{}, 0
		for _, it := range l.items {
			it.next = time.Time{}
		}
	}
	wake.Up(b.wake)
}
