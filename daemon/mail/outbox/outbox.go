package outbox

import (
	"cmp"
	"context"
	"log/slog"
	"os"
	"sync"
	"time"

	"github.com/cronring/cronring/crontab"
	"github.com/cronring/cronring/daemon/budget"
	"github.com/cronring/cronring/daemon/mail"
	"github.com/cronring/cronring/daemon/queue"
)

// Options set up an Outbox.
type Options struct {
	Dir    string // of the queue; made if it is missing
	Family crontab.Family

	// Send runs the mailer as the account, with the message as its standard
	// input, and waits for its end: the wait status, and what it printed. The
	// error means that it could not be run or did not end before ctx did. There is one call at a
	// time for each user, and maxMailers in all.
	Send func(ctx context.Context, d Delivery) (status int, output string, err error)

	Say      func(mail.Line) // takes cron's own log lines; nil drops them
	Log      *slog.Logger    // nil is silent
	Messages int             // most letters in the queue, of root and of all others; 0 is 10,000
	Bytes    int64           // most bytes in the queue, likewise; 0 is 256 MiB
}

// Delivery is one run of a mailer. Message is positioned at the first header
// and is closed by the Outbox.
type Delivery struct {
	User    string
	Argv    []string
	Env     []string
	Dir     string
	Message *os.File
}

// How long a letter is tried.
const (
	firstWait   = time.Minute
	longestWait = time.Hour
	lifetime    = 4 * 24 * time.Hour
	fewestTries = 8                // also where a clock that was set makes the letter look old
	slowTime    = 30 * time.Second // until a mailer that still runs is reported
	sendTime    = 5 * time.Minute  // for the mailer; it should queue, not deliver
	stopTime    = 5 * time.Second
)

// maxMailers is the number of mailers that run at once. A mailer that hangs delays only the
// messages of its user, unless maxMailers users have one.
const maxMailers = 8

// Limits on what waits in memory: letters not yet written down, and letters that
// the disk has no room for; of all users other than root, and as much of root.
const (
	maxIntake      = 4096
	maxDirect      = 64
	maxDirectBytes = 32 << 20
)

// Outbox is the queue. Its methods may be called from any goroutine.
type Outbox struct {
	options Options
	dir     queue.Dir
	taken   chan struct{} // intake is not empty
	wake    chan struct{} // the lanes have something new

	mu     sync.Mutex
	intake budget.Queue[*mail.Letter]
	room   *budget.Budget // letters in intake
	lanes  lanes
	next   uint64 // number of the next letter
	state  state
}

// Open reads the queue that an earlier daemon left in the directory. An unusable directory is not
// an error: messages are then delivered without being stored, and Problems reports it.
func Open(o Options) *Outbox {
	o.Messages = cmp.Or(o.Messages, 10_000)
	o.Bytes = cmp.Or(o.Bytes, 256<<20)
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Say == nil {
		o.Say = func(mail.Line) {}
	}
	p := &Outbox{options: o, dir: queue.Dir(o.Dir), taken: make(chan struct{}, 1), wake: make(chan struct{}, 1), lanes: newLanes(), room: budget.New(maxIntake, maxIntake)}
	items, newest, err := scan(p.dir)
	if err != nil {
		p.state.disk.note(err)
		o.Log.Error("cannot read the mail queue; mail is sent without being kept", "dir", o.Dir, "error", err)
	}
	for _, it := range items {
		p.lanes.add(it)
	}
	p.next, p.state.dead = newest, p.dir.Dead()
	if n := len(items); n > 0 {
		o.Log.Info("mail waits in the queue", "letters", n)
	}
	return p
}

// Give takes a letter. It never blocks: the letter's body is read and written
// down by Run's goroutine.
func (p *Outbox) Give(l *mail.Letter) {
	p.mu.Lock()
	full := !p.room.Take(l.User, 1)
	if full {
		p.state.refused++
	} else {
		p.intake.Put(l.User, l)
	}
	p.mu.Unlock()
	if full {
		l.Close()
	}
	signal(p.taken)
}

// Count returns the number of messages in the queue.
func (p *Outbox) Count() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.intake.Len() + p.lanes.count
}

// Run writes down what Give takes and hands it to the mailer, until ctx ends.
// It is called once. What was given until then is in the queue when it
// returns.
func (p *Outbox) Run(ctx context.Context) error {
	filed := make(chan struct{})
	go func() {
		defer close(filed)
		p.fileAll(ctx)
	}()
	var mailers sync.WaitGroup
	for range maxMailers {
		mailers.Go(func() { p.deliverAll(ctx) })
	}
	mailers.Wait()
	<-filed
	return nil
}

func (p *Outbox) fileAll(ctx context.Context) {
	for {
		for l := p.takeOne(); l != nil; l = p.takeOne() {
			p.file(l)
		}
		select {
		case <-p.taken:
			continue
		case <-ctx.Done():
		}
		for l := p.takeOne(); l != nil; l = p.takeOne() {
			p.file(l)
		}
		return
	}
}

func (p *Outbox) takeOne() *mail.Letter {
	p.mu.Lock()
	defer p.mu.Unlock()
	l, ok := p.intake.Take()
	if ok {
		p.room.Give(l.User, 1)
	}
	return l
}

// file puts a letter into the queue: on disk, or where the disk takes nothing
// into memory, so that it is at least tried.
func (p *Outbox) file(l *mail.Letter) {
	defer l.Close()
	if !p.available(l.Argv) {
		p.mu.Lock()
		p.state.missing.lost++
		p.mu.Unlock()
		return
	}
	message := l.Text()
	if !p.fits(l.User, int64(len(message))) {
		return
	}
	it, err := p.keep(l, message)
	if err != nil {
		it, err = p.hold(l, message)
	}
	if err != nil {
		p.options.Log.Error("mail is lost", "user", l.User, "bytes", l.Output, "error", err)
		p.mu.Lock()
		p.state.lost++
		p.mu.Unlock()
		return
	}
	p.mu.Lock()
	p.lanes.add(it)
	p.mu.Unlock()
	signal(p.wake)
}

// fits refuses a letter of a queue that is full, or of an account that has
// its share in it. Refusals are counted, and logged once an hour.
func (p *Outbox) fits(user string, size int64) bool {
	p.mu.Lock()
	fits := p.lanes.fits(user, size, p.options.Messages, p.options.Bytes)
	say := !fits && time.Since(p.state.saidFull) > time.Hour
	if say {
		p.state.saidFull = time.Now()
	}
	if !fits {
		p.state.refused++
	}
	p.mu.Unlock()
	if say {
		p.options.Log.Warn("the mail queue has no room; output stays in the history", "user", user)
	}
	return fits
}

// keep writes a letter to the disk.
func (p *Outbox) keep(l *mail.Letter, message []byte) (*item, error) {
	it := p.newItem(l, message)
	err := write(p.dir, it, newEnvelope(l, it.born), message)
	p.mu.Lock()
	was := p.state.disk
	p.state.disk.note(err)
	p.mu.Unlock()
	switch {
	case err != nil && was.err == nil:
		p.options.Log.Error("cannot write the mail queue; mail is sent without being kept", "dir", p.options.Dir, "error", err)
	case err == nil && was.err != nil:
		p.options.Log.Info("the mail queue is written again")
	}
	return it, err
}

// hold keeps a letter in memory for as long as the daemon lives.
func (p *Outbox) hold(l *mail.Letter, message []byte) (*item, error) {
	p.mu.Lock()
	err, fits := p.state.disk.err, p.lanes.takeDirect(l.User, int64(len(message)))
	p.mu.Unlock()
	if !fits {
		return nil, err
	}
	it := p.newItem(l, message)
	it.direct = &direct{envelope: newEnvelope(l, it.born), message: message}
	return it, nil
}

func (p *Outbox) newItem(l *mail.Letter, message []byte) *item {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.next++
	return &item{
		number: p.next, user: l.User, size: int64(len(message)), output: l.Output,
		born: time.Now().UTC().Round(0), // without the monotonic reading: it is compared with files' times
	}
}

// signal makes c readable without waiting.
func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}
