package notify

import (
	"context"
	"crypto/rand"
	"crypto/x509"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"reflect"
	"sync"
	"time"

	"github.com/cronring/cronring/crontab/option"
	"github.com/cronring/cronring/daemon/budget"
	"github.com/cronring/cronring/daemon/job"
	"github.com/cronring/cronring/daemon/queue"
)

// Options set up a Notifier.
type Options struct {
	Dir     string // of the queue; made when it is needed. "": nothing outlives the daemon
	Host    string // the host's name
	Version string

	// Mail makes an email of a message, for the channel's addresses, or if it has none for the
	// recipient of the job's mail, and stores it until it is sent.
	Mail func(ctx context.Context, c *Channel, m *Message) error

	// Run runs a channel's program and waits for its end. It returns how the program ended and its
	// error output. The error means that it could not be run, or did not end before ctx did.
	Run func(ctx context.Context, p Program) (outcome job.Outcome, errput []byte, err error)

	// Both are called by several goroutines. Of their errors ErrNotNow and a
	// *FinalError have a meaning of their own.

	Log   *slog.Logger   // nil is silent
	Roots *x509.CertPool // whom webhooks' certificates are verified by; nil: the host's authorities
}

// Bounds on what waits, and on how long it is tried.
const (
	maxWaiting  = 1000 // messages, of root and of all other users
	firstWait   = 15 * time.Second
	longestWait = time.Hour
	fewestTries = 5           // also if a clock change makes a message look old
	stopTime    = time.Second // while the daemon replaces itself by exec, it starts no job
)

// longestFile bounds a file of the queue.
const longestFile = 256 << 10

// Notifier sends notifications to channels. Its methods may be called from any goroutine.
type Notifier struct {
	options Options
	dir     queue.Dir
	client  *http.Client
	taken   chan struct{} // intake is not empty

	mu       sync.Mutex
	channels map[string]Channel
	intake   []*item
	lanes    map[string]*lane
	next     uint64 // number of the next message
	waiting  int    // messages in intake and lanes
	byUser   map[string]int
	state    state

	serving sync.WaitGroup
}

// Open reads the queue that an earlier daemon left. An unusable directory is not an error: messages
// are then sent without being stored, and Problems reports it. Before Configure, only the built-in
// channel exists.
func Open(o Options) *Notifier {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	n := &Notifier{
		options: o, dir: queue.Dir(o.Dir), client: newClient(o.Roots), taken: make(chan struct{}, 1),
		lanes: map[string]*lane{}, byUser: map[string]int{},
	}
	if o.Dir == "" {
		return n
	}
	newest, err := n.dir.Scan(func(number uint64) error {
		it, err := n.read(number)
		if err == nil {
			n.count(it, 1)
			n.lane(it.message.Channel).items = append(n.lane(it.message.Channel).items, it)
		}
		return err
	})
	if err != nil {
		n.state.disk = err
		o.Log.Error("cannot read the queue of notices; notices are sent without being kept", "dir", o.Dir, "error", err)
	}
	n.next, n.state.dead = newest, n.dir.Dead()
	return n
}

// envelope is a file of the queue.
type envelope struct {
	Born    time.Time `json:"born"`
	Message Message   `json:"message"`
}

func (n *Notifier) read(number uint64) (*item, error) {
	f, err := n.dir.Open(number)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, longestFile))
	if err != nil {
		return nil, err
	}
	var e envelope
	if err := json.Unmarshal(text, &e); err != nil {
		return nil, &queue.DamagedError{Why: err.Error()}
	}
	if e.Message.Channel == "" {
		return nil, &queue.DamagedError{Why: "it names no channel"}
	}
	return &item{number: number, kept: true, born: e.Born, message: e.Message}, nil
}

func (n *Notifier) lane(channel string) *lane {
	l := n.lanes[channel]
	if l == nil {
		l = newLane()
		n.lanes[channel] = l
	}
	return l
}

func (n *Notifier) count(it *item, by int) {
	user := it.message.User
	n.waiting += by
	if n.byUser[user] += by; n.byUser[user] == 0 {
		delete(n.byUser, user)
	}
}

// Configure replaces the channels, which must have been checked. Messages that wait for a changed
// channel are tried immediately.
func (n *Notifier) Configure(channels []Channel) {
	n.mu.Lock()
	defer n.mu.Unlock()
	before := n.channels
	n.channels = map[string]Channel{}
	for _, c := range channels {
		n.channels[c.Name] = c
	}
	for name, l := range n.lanes {
		if reflect.DeepEqual(before[name], n.channels[name]) {
			continue
		}
		l.until, l.fails = time.Time{}, 0
		for _, it := range l.items {
			it.next = time.Time{}
		}
		signal(l.wake)
	}
	maps.DeleteFunc(n.state.unknown, func(name string, _ int) bool { _, ok := n.channels[name]; return ok })
}

// Give takes a notice for the channels that it names. It never blocks: what is
// to wait is written down by Run's goroutine.
func (n *Notifier) Give(notice job.Notice) {
	for _, name := range notice.Channels {
		m := newMessage(notice, newID(), n.options.Host, name)
		if _, ok := n.find(name); !ok {
			n.lose(&m)
			continue
		}
		n.take(&item{born: time.Now().UTC().Round(0), message: m})
	}
}

func (n *Notifier) find(name string) (Channel, bool) {
	if name == option.MailChannel {
		return Channel{Name: name, Type: Mail}, true
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	c, ok := n.channels[name]
	return c, ok
}

func newID() string {
	var id [16]byte
	rand.Read(id[:]) // which never fails
	return hex.EncodeToString(id[:])
}

// lose records a notification without a channel.
func (n *Notifier) lose(m *Message) {
	n.options.Log.Error("a notice goes nowhere: there is no such channel", "channel", m.Channel, "job", m.Job, "on", m.On)
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.state.unknown == nil {
		n.state.unknown = map[string]int{}
	}
	if _, known := n.state.unknown[m.Channel]; known || len(n.state.unknown) < maxUnknown {
		n.state.unknown[m.Channel]++
	}
}

// take queues a message, if the queue and the account's share of it have room.
func (n *Notifier) take(it *item) {
	n.mu.Lock()
	fits := n.fits(it.message.User)
	say := !fits && time.Since(n.state.saidFull) > time.Hour
	switch {
	case fits:
		n.count(it, 1)
		n.intake = append(n.intake, it)
	case say:
		n.state.saidFull = time.Now()
		fallthrough
	default:
		n.state.refused++
	}
	n.mu.Unlock()
	if say {
		n.options.Log.Error("the queue of notices has no room; notices are lost", "user", it.message.User)
	}
	signal(n.taken)
}

// fits reports whether another message of a user can wait. A user other than root
// can have a quarter at most, and as many as are left, so that some are left for
// the next one.
func (n *Notifier) fits(user string) bool {
	own, left := n.byUser[user]+1, maxWaiting-(n.waiting-n.byUser[budget.Root])-1
	if user == budget.Root {
		return own <= maxWaiting
	}
	return own <= min(maxWaiting/4, left)
}

// Waiting returns the number of messages in the queue.
func (n *Notifier) Waiting() int {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.waiting
}

// Run writes down what Give takes and sends it, until ctx ends. It is called
// once. What was given until then is in the queue when it returns.
func (n *Notifier) Run(ctx context.Context) error {
	defer n.client.CloseIdleConnections()
	defer n.serving.Wait()
	n.mu.Lock()
	for name, l := range n.lanes {
		n.serve(ctx, name, l)
	}
	n.mu.Unlock()
	for ctx.Err() == nil {
		n.file(ctx)
		select {
		case <-n.taken:
		case <-ctx.Done():
		}
	}
	n.file(ctx)
	return nil
}

// file puts what was taken into the queue: on disk, and into its channel's
// lane.
func (n *Notifier) file(ctx context.Context) {
	for it := n.takeOne(); it != nil; it = n.takeOne() {
		n.keep(it)
		n.mu.Lock()
		l := n.lane(it.message.Channel)
		l.items = append(l.items, it)
		signal(l.wake)
		n.serve(ctx, it.message.Channel, l)
		n.mu.Unlock()
	}
}

func (n *Notifier) takeOne() *item {
	n.mu.Lock()
	defer n.mu.Unlock()
	if len(n.intake) == 0 {
		n.intake = nil
		return nil
	}
	it := n.intake[0]
	n.intake[0] = nil
	n.intake = n.intake[1:]
	n.next++
	it.number = n.next
	return it
}

// keep writes a message to the disk.
func (n *Notifier) keep(it *item) {
	if n.options.Dir == "" {
		return
	}
	text, err := json.Marshal(envelope{it.born, it.message})
	if err == nil {
		err = n.dir.Write(it.number, text)
	}
	it.kept = err == nil
	n.mu.Lock()
	was := n.state.disk
	n.state.disk = err
	n.mu.Unlock()
	switch {
	case err != nil && was == nil:
		n.options.Log.Error("cannot write the queue of notices; notices are sent without being kept", "dir", n.options.Dir, "error", err)
	case err == nil && was != nil:
		n.options.Log.Info("the queue of notices is written again")
	}
}

// Try sends a message through a channel once, at once and past the queue, so
// that a person sees whether it works.
func (n *Notifier) Try(ctx context.Context, name string, notice job.Notice) error {
	c, ok := n.find(name)
	if !ok {
		return &UnknownError{name}
	}
	m := newMessage(notice, newID(), n.options.Host, name)
	m.Test = true
	if f := n.send(ctx, &c, &m); f != nil {
		return fmt.Errorf("send through channel %s: %s", name, f.full())
	}
	return nil
}

// UnknownError reports that a channel does not exist.
type UnknownError struct{ Name string }

func (e *UnknownError) Error() string { return "there is no channel " + e.Name }

// ErrNotNow means that nothing was tried, because the daemon is about to be replaced or has only
// just started: the message waits, and the channel is not at fault.
var ErrNotNow = errors.New("not now")

// FinalError means that another try would fail in the same way.
type FinalError struct{ Why string }

func (e *FinalError) Error() string { return e.Why }

// signal makes c readable without waiting.
func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}
