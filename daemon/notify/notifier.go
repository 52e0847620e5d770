package notify

import (
	"cmp"
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
	"github.com/cronring/cronring/daemon/job"
	"github.com/cronring/cronring/daemon/outbox"
)

// Options set up a Notifier.
type Options struct {
	Dir     string // of the queue; made if it is missing
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
	fewestTries = 5
	stopTime    = time.Second // while the daemon replaces itself by exec, it starts no job
)

// Notifier sends notifications to channels. Its methods may be called from any goroutine.
type Notifier struct {
	*outbox.Outbox
	options Options
	client  *http.Client

	mu       sync.Mutex
	channels map[string]Channel
	unknown  map[string]int // notices for channels that do not exist
}

// Open reads the queue that an earlier daemon left. Before Configure, only the built-in channel
// exists.
func Open(o Options) *Notifier {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	n := &Notifier{options: o, client: newClient(o.Roots), unknown: map[string]int{}}
	n.Outbox = outbox.Open(outbox.Options{
		Dir: o.Dir, Noun: "notice", Lane: "channel", Identify: identify, Deliver: n.deliver,
		FirstWait: firstWait, Lifetime: n.lifetime, Attempts: fewestTries, Messages: maxWaiting, Log: o.Log,
	})
	return n
}

func (n *Notifier) lifetime(channel string) time.Duration {
	c, _ := n.find(channel)
	if c.Type == Ping || isPingLane(channel) {
		return cmp.Or(c.Retry, pingRetry)
	}
	return cmp.Or(c.Retry, defaultRetry)
}

// envelope is a file of the queue.
type envelope struct {
	Born    time.Time `json:"born"`
	Message Message   `json:"message"`
}

// longestFile bounds a file of the queue.
const longestFile = 256 << 10

func readEnvelope(content io.Reader) (e envelope, err error) {
	text, err := io.ReadAll(io.LimitReader(content, longestFile))
	if err != nil {
		return e, err
	}
	if err := json.Unmarshal(text, &e); err != nil {
		return e, &outbox.DamagedError{Why: err.Error()}
	}
	if e.Message.Channel == "" {
		return e, &outbox.DamagedError{Why: "it names no channel"}
	}
	return e, nil
}

func identify(content io.Reader) (outbox.Key, error) {
	e, err := readEnvelope(content)
	return e.key(), err
}

// key has a group, so that the messages about a job stay in order: its recovery must not be reported
// before its failure.
func (e *envelope) key() outbox.Key {
	m := &e.Message
	return outbox.Key{User: m.User, Lane: m.Channel, Group: m.User + " " + string(m.Job), Born: e.Born}
}

// Configure replaces the channels, which must have been checked. Messages that wait for a changed
// channel are tried immediately.
func (n *Notifier) Configure(channels []Channel) {
	now := map[string]Channel{}
	for _, c := range channels {
		now[c.Name] = c
	}
	n.mu.Lock()
	before := n.channels
	n.channels = now
	maps.DeleteFunc(n.unknown, func(name string, _ int) bool { _, ok := now[name]; return ok })
	n.mu.Unlock() // the queue asks for the lifetime of a channel while it is locked
	for _, l := range n.Lanes() {
		if !reflect.DeepEqual(before[l.Name], now[l.Name]) {
			n.Retry(l.Name)
		}
	}
}

// Enqueue takes a notice for the channels that it names, with the end of its run's output. It never
// blocks: Run's goroutine writes what must wait.
func (n *Notifier) Enqueue(notice job.Notice, output string) {
	if notice.Ping != "" {
		n.file(newMessage(notice, output, newID(), n.options.Host, pingLane(&notice)))
	}
	for _, name := range notice.Channels {
		m := newMessage(notice, output, newID(), n.options.Host, name)
		if _, ok := n.find(name); !ok {
			n.lose(&m)
			continue
		}
		n.file(m)
	}
}

func (n *Notifier) file(m Message) {
	e := envelope{time.Now().UTC().Round(0), m}
	n.Outbox.Enqueue(outbox.Draft{Key: e.key(), Write: func() [][]byte {
		text, _ := json.Marshal(e) // as for Message.json
		return [][]byte{text}
	}})
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
	if _, known := n.unknown[m.Channel]; known || len(n.unknown) < maxUnknown {
		n.unknown[m.Channel]++
	}
}

// Run writes down what Give takes and sends it, until ctx ends. It is called once. What was given
// until then is in the queue when it returns.
func (n *Notifier) Run(ctx context.Context) error {
	defer n.client.CloseIdleConnections()
	return n.Outbox.Run(ctx)
}

// deliver sends a message of the queue once.
func (n *Notifier) deliver(ctx context.Context, t outbox.Try) *outbox.Failure {
	e, err := readEnvelope(t.Content)
	if err != nil {
		_, damaged := errors.AsType[*outbox.DamagedError](err)
		return &outbox.Failure{Why: err.Error(), Final: damaged}
	}
	m := &e.Message
	f := &outbox.Failure{Why: "the channel was removed from the configuration"}
	c, ok := n.find(m.Channel)
	if m.Ping != "" {
		c, ok = Channel{Type: Ping, URL: m.Ping, Timeout: pingTimeout}, true
	}
	if ok {
		f = n.send(ctx, &c, m)
	}
	if f != nil {
		f.Drop = m.Ping != "" // a user's wrong URL is not a problem of the host
		f.Attrs = []any{"job", m.Job, "on", m.On, "text", oneLine(m.Text)}
	}
	return f
}

// send tries a message once.
func (n *Notifier) send(ctx context.Context, c *Channel, m *Message) *outbox.Failure {
	timed, cancel := outbox.Patient(ctx, cmp.Or(c.Timeout, defaultTimeout), stopTime)
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
func failed(err error) *outbox.Failure {
	if err == nil {
		return nil
	}
	_, final := errors.AsType[*FinalError](err)
	return &outbox.Failure{Why: oneLine(err.Error()), Untried: errors.Is(err, ErrNotNow), Final: final}
}

// Try sends a message through a channel once, at once and past the queue, so
// that a person sees whether it works.
func (n *Notifier) Try(ctx context.Context, name string, notice job.Notice) error {
	c, ok := n.find(name)
	if !ok {
		return &UnknownError{name}
	}
	m := newMessage(notice, "", newID(), n.options.Host, name)
	m.Test = true
	if f := n.send(ctx, &c, &m); f != nil {
		return fmt.Errorf("send through channel %s: %s", name, f.Full())
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
