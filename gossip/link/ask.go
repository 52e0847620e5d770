package link

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"
	"unicode"
)

// Bounds on requests.
const (
	inFlight       = 32                     // requests of one member to another at a time
	longest        = time.Minute            // that an answer is waited for
	writeTime      = 5 * time.Second        // for one frame
	leastWriteTime = 250 * time.Millisecond // for one, whatever the deadline
	probeTime      = 2 * time.Second        // for a peer that let a deadline pass to say anything
	idleTime       = 90 * time.Second       // after which the asking side hangs up
	deafTime       = 4 * time.Minute        // after which the answering side does
	maxWords       = 512                    // of a refusal
)

// Refusal is the error of a request that the peer's handler answered with one.
// Every other error leaves open whether the peer did what it was asked.
type Refusal struct{ Peer, Words string }

func (r *Refusal) Error() string { return "member " + r.Peer + ": " + r.Words }

// line is the way to one peer: at most one connection, which all requests
// share. Its fields are guarded by the link's mutex, but for the slots.
type line struct {
	to    Peer
	slots chan struct{}
	users int
	call  *call // nil: there is no connection
}

// call is one connection of a line, from before it is dialled.
type call struct {
	ready chan struct{} // closed when it was dialled
	err   error         // if that failed
	wire  *wire
	done  chan struct{} // closed when nothing more is heard

	mu      sync.Mutex
	over    bool
	next    uint32
	pending map[uint32]chan frame
	heard   uint64 // frames
	probing bool
	idle    *time.Timer
}

// errHungUp is that of a request of which nothing was sent, as its connection
// had just ended.
var errHungUp = errors.New("the connection has ended")

// errUnsent is that of a request that was not sent whole, so that the peer cannot
// have done anything of it: the connection that it was to go over was a dead one.
var errUnsent = errors.New("cannot send the request")

// Ask sends a request to a peer and returns its answer. It waits no longer than
// ctx says, nor than a minute. Requests to one peer share a connection, which
// is made when it is needed; a peer that does not answer holds up nobody who
// asks another. Beyond 32 requests at a time to a peer the next ones wait.
func (l *Link) Ask(ctx context.Context, to Peer, verb string, body []byte) ([]byte, error) {
	if len(verb) == 0 || len(verb) > maxVerb || len(body) > MaxBody {
		return nil, fmt.Errorf("ask %s: verb of %d bytes, body of %d", to, len(verb), len(body))
	}
	if err := l.enter(); err != nil {
		return nil, err
	}
	defer l.work.Done()
	ctx, cancel := context.WithTimeout(ctx, longest)
	defer cancel()
	ln := l.pick(to)
	defer l.leave(ln)
	answer, err := l.askOn(ctx, ln, verb, body)
	if err != nil && !errors.As(err, new(*Refusal)) {
		return nil, fmt.Errorf("ask %s: %w", to, err)
	}
	return answer, err
}

func (l *Link) pick(to Peer) *line {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.stats.Asked++
	ln := l.lines[to]
	if ln == nil {
		ln = &line{to: to, slots: make(chan struct{}, inFlight)}
		l.lines[to] = ln
	}
	ln.users++
	return ln
}

func (l *Link) leave(ln *line) {
	l.mu.Lock()
	defer l.mu.Unlock()
	ln.users--
	l.tidy(ln)
}

// tidy forgets a line that is of no use to anybody.
func (l *Link) tidy(ln *line) {
	if ln.users == 0 && ln.call == nil {
		delete(l.lines, ln.to)
	}
}

func (l *Link) askOn(ctx context.Context, ln *line, verb string, body []byte) ([]byte, error) {
	select {
	case ln.slots <- struct{}{}:
		defer func() { <-ln.slots }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	for tried := false; ; tried = true {
		c, err := l.connected(ctx, ln)
		if err != nil {
			return nil, err
		}
		answer, err := c.ask(ctx, l, verb, body)
		if !errors.Is(err, errHungUp) && (tried || !errors.Is(err, errUnsent)) {
			return answer, err
		}
		select {
		case <-c.done: // the line has forgotten it
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// connected returns the connection of a line, and makes it if need be: one
// attempt at a time, which all who wait share and none of them ends.
func (l *Link) connected(ctx context.Context, ln *line) (*call, error) {
	l.mu.Lock()
	c := ln.call
	if c == nil {
		c = &call{ready: make(chan struct{}), done: make(chan struct{}), pending: map[uint32]chan frame{}}
		ln.call = c
		l.work.Go(func() { l.attend(ln, c) })
	}
	l.mu.Unlock()
	select {
	case <-c.ready:
		return c, c.err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// attend makes a connection and reads what is said on it, until it ends.
func (l *Link) attend(ln *line, c *call) {
	defer close(c.done)
	conn, err := l.Dial(l.ctx, ln.to, asking)
	if err != nil {
		c.err = err
		l.hangUp(ln, c)
		close(c.ready)
		return
	}
	c.wire = newWire(conn)
	c.idle = time.AfterFunc(idleTime, c.hangUpIdle)
	close(c.ready)
	c.listen()
	c.end()
	l.hangUp(ln, c)
}

func (l *Link) hangUp(ln *line, c *call) {
	l.mu.Lock()
	defer l.mu.Unlock()
	ln.call = nil
	l.tidy(ln)
}

func (c *call) listen() {
	r := bufio.NewReader(c.wire.conn)
	for {
		f, err := readFrame(r)
		if err != nil || f.Kind == frameAsk || f.Kind == framePing {
			return
		}
		c.mu.Lock()
		c.heard++
		waiting := c.pending[f.ID]
		delete(c.pending, f.ID)
		c.mu.Unlock()
		if waiting != nil {
			waiting <- f // has room for the one answer
		}
	}
}

// end lets no further request begin and cuts the connection.
func (c *call) end() {
	c.mu.Lock()
	c.over = true
	c.idle.Stop()
	c.mu.Unlock()
	c.wire.conn.cut()
}

func (c *call) hangUpIdle() {
	c.mu.Lock()
	idle := len(c.pending) == 0
	c.over = c.over || idle
	c.mu.Unlock()
	if idle {
		c.wire.conn.cut()
	}
}

func (c *call) ask(ctx context.Context, l *Link, verb string, body []byte) ([]byte, error) {
	id, answer, heard, err := c.begin()
	if err != nil {
		return nil, err
	}
	defer c.finish(id)
	deadline, _ := ctx.Deadline()
	f := frame{Kind: frameAsk, ID: id, Wait: max(time.Until(deadline), time.Millisecond), Verb: verb, Body: body}
	if err := c.wire.write(ctx, f); err != nil {
		if ctx.Err() == nil {
			err = fmt.Errorf("%w: %w", errUnsent, err)
		}
		return nil, err
	}
	select {
	case f := <-answer:
		return c.read(f)
	case <-c.done:
		select {
		case f := <-answer:
			return c.read(f)
		default:
			return nil, errors.New("the connection ended before the answer")
		}
	case <-ctx.Done():
		c.doubt(l, heard)
		return nil, ctx.Err()
	}
}

func (c *call) begin() (id uint32, answer chan frame, heard uint64, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.over {
		return 0, nil, 0, errHungUp
	}
	c.idle.Stop()
	c.next++
	answer = make(chan frame, 1)
	c.pending[c.next] = answer
	return c.next, answer, c.heard, nil
}

func (c *call) finish(id uint32) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.pending, id)
	if len(c.pending) == 0 && !c.over {
		c.idle.Reset(idleTime)
	}
}

func (c *call) read(f frame) ([]byte, error) {
	if f.Kind == frameRefusal {
		return nil, &Refusal{c.wire.conn.Peer(), cleanWords(string(f.Body))}
	}
	return f.Body, nil
}

// cleanWords bounds what a peer has to say: it ends in logs and on terminals.
func cleanWords(s string) string {
	s = strings.ToValidUTF8(s[:min(len(s), maxWords)], "?")
	return strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return ' '
	}, s)
}

// doubt tells a slow peer from a dead one: who has said nothing since a request
// that was in vain is pinged, and cut off if it stays silent. TCP would notice
// a peer without power or cable after a quarter of an hour.
func (c *call) doubt(l *Link, heard uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.heard != heard || c.probing || c.over {
		return
	}
	c.probing = true
	l.work.Go(func() { c.probe(l.ctx, heard) })
}

func (c *call) probe(ctx context.Context, heard uint64) {
	ctx, cancel := context.WithTimeout(ctx, probeTime)
	defer cancel()
	if c.wire.write(ctx, frame{Kind: framePing}) == nil {
		select {
		case <-ctx.Done():
		case <-c.done:
		}
	}
	c.mu.Lock()
	silent := c.heard == heard
	c.probing = false
	c.mu.Unlock()
	if silent {
		c.end()
	}
}

// wire writes frames to a connection, one at a time.
type wire struct {
	conn *Conn
	turn chan struct{}
}

func newWire(c *Conn) *wire { return &wire{c, make(chan struct{}, 1)} }

// write sends a frame whole, or cuts the connection: part of a frame, as of a
// TLS record, is of no use to the next.
func (w *wire) write(ctx context.Context, f frame) error {
	select {
	case w.turn <- struct{}{}:
		defer func() { <-w.turn }()
	case <-ctx.Done():
		return ctx.Err()
	}
	err := w.conn.SetWriteDeadline(writeLimit(ctx, time.Now()))
	if err == nil {
		_, err = w.conn.Write(f.append(nil))
	}
	if err != nil {
		w.conn.cut()
	}
	return err
}

// writeLimit is the deadline of ctx within bounds: one that is near must not
// cut the connection of all others.
func writeLimit(ctx context.Context, now time.Time) time.Time {
	limit := now.Add(writeTime)
	d, ok := ctx.Deadline()
	switch least := now.Add(leastWriteTime); {
	case !ok || d.After(limit):
		return limit
	case d.Before(least):
		return least
	}
	return d
}
