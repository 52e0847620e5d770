package ledger

import (
	"bufio"
	"compress/flate"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"time"

	"github.com/hashicorp/raft"

	"github.com/cronring/cronring/gossip/ledger/disk"
	"github.com/cronring/cronring/gossip/link"
)

// server returns raft's ID of a voter: the member, and the name of its log. A member that lost
// its log becomes another voter, which must be added, because it has forgotten its votes.
func server(member, incarnation string) raft.ServerID {
	return raft.ServerID(member + "." + incarnation)
}

// splitServer splits what server returned.
func splitServer(id raft.ServerID) (member, incarnation string) {
	member, incarnation, _ = strings.Cut(string(id), ".")
	return member, incarnation
}

func memberOf(id raft.ServerID) string {
	member, _ := splitServer(id)
	return member
}

// streams are raft's connections over the link. Only voters may connect, because raft trusts
// its peers.
type streams struct {
	net.Listener
	ctx   context.Context // of Dial
	stop  context.CancelFunc
	own   raft.ServerID
	link  *link.Link
	addr  func(member string) (addr string, ok bool)
	votes func(member string) bool
	greet func(ctx context.Context, member string) error // before this voter connects to another one

	mu     sync.Mutex
	closed bool
	open   map[*stream]bool
	served sync.WaitGroup // accepted connections, until raft has closed them
}

func newStreams(l *Ledger, own raft.ServerID, listener net.Listener, votes func(string) bool, greet func(context.Context, string) error) *streams {
	s := &streams{Listener: listener, own: own, link: l.o.Link, addr: l.o.Addr, votes: votes, greet: greet, open: map[*stream]bool{}}
	s.ctx, s.stop = context.WithCancel(context.Background())
	return s
}

// Addr returns this voter's raft ID, which is its address too.
func (s *streams) Addr() net.Addr { return serverAddr(s.own) }

type serverAddr raft.ServerID

func (serverAddr) Network() string  { return "ring" }
func (a serverAddr) String() string { return string(a) }

// Accept returns the next connection of a voter.
func (s *streams) Accept() (net.Conn, error) {
	for {
		c, err := s.Listener.Accept()
		if err != nil {
			return nil, err
		}
		if !s.votes(c.(*link.Conn).Peer()) {
			c.Close()
			continue
		}
		in := s.stream(c.(*link.Conn))
		in.accepted = true
		if s.keep(in) {
			return in, nil
		}
		c.Close()
	}
}

// Dial connects to a voter by its raft ID.
func (s *streams) Dial(to raft.ServerAddress, timeout time.Duration) (net.Conn, error) {
	member, incarnation := splitServer(raft.ServerID(to))
	addr, ok := s.addr(member)
	if !ok {
		return nil, fmt.Errorf("voter %s is not in the ring now", member)
	}
	ctx, cancel := context.WithTimeout(s.ctx, timeout)
	defer cancel()
	if err := s.greet(ctx, member); err != nil {
		return nil, err
	}
	c, err := s.link.Dial(ctx, link.Peer{ID: member, Addr: addr}, link.Raft, link.OldRaft)
	if err != nil {
		return nil, err
	}
	out := s.stream(c)
	if !s.keep(out) {
		c.Close()
		return nil, net.ErrClosed
	}
	if err := out.introduce(timeout, incarnation); err != nil {
		out.Close()
		return nil, err
	}
	return out, nil
}

// transport delays heartbeats, so that there are fewer, and sends those to all voters together: a wakeup
// of the daemon costs more than a message. The interval of raft is a tenth to a fifth of the heartbeat
// timeout, and cannot be set. transport also remembers the progress of the other voters.
type transport struct {
	*raft.NetworkTransport
	interval time.Duration // heartbeats begin at its multiples after begun
	begun    time.Time
	over     <-chan struct{} // ends a delay
	disk     *disk.Disk
}

// AppendEntries is part of raft.Transport. Without entries and positions in the log it is a heartbeat.
func (t transport) AppendEntries(id raft.ServerID, to raft.ServerAddress, q *raft.AppendEntriesRequest, a *raft.AppendEntriesResponse) error {
	if len(q.Entries) == 0 && q.PrevLogEntry == 0 && q.LeaderCommitIndex == 0 {
		select {
		case <-time.After(t.interval - time.Since(t.begun)%t.interval):
		case <-t.over:
		}
	}
	err := t.NetworkTransport.AppendEntries(id, to, q, a)
	if n := len(q.Entries); err == nil && a.Success && n > 0 && q.Entries[n-1].Term == q.Term {
		t.remember(id, q.Term, q.Entries[n-1].Index)
	}
	return err
}

// RequestVote is part of raft.Transport.
func (t transport) RequestVote(id raft.ServerID, to raft.ServerAddress, q *raft.RequestVoteRequest, a *raft.RequestVoteResponse) error {
	err := t.NetworkTransport.RequestVote(id, to, q, a)
	if err == nil && a.Granted {
		t.remember(id, q.Term, 0)
	}
	return err
}

func (t transport) remember(id raft.ServerID, term, index uint64) {
	member, incarnation := splitServer(id)
	t.disk.Remember(member, disk.Progress{Incarnation: incarnation, Term: term, Index: index})
}

func (s *streams) keep(c *stream) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return false
	}
	s.open[c] = true
	if c.accepted {
		s.served.Add(1)
	}
	return true
}

// closeAll closes all connections, including connections that are being dialled.
func (s *streams) closeAll() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	s.stop()
	for c := range s.open {
		c.Conn.Close()
	}
}

// stream is one connection. It begins with the name of the log that the dialling voter expects. The
// rest is compressed, unless the peer is of an older version: the messages of raft repeat names, and
// jobs are claimed again and again.
type stream struct {
	net.Conn
	of         *streams
	accepted   bool
	introduced bool
	compressed bool
	in         io.Reader     // of Conn
	out        *flate.Writer // to buffer; nil before the first message, because it is large, or not compressed
	buffer     *bufio.Writer // to Conn, so that a message is one packet
}

func (s *streams) stream(c *link.Conn) *stream {
	n := &stream{Conn: c, of: s, in: c, compressed: c.Service() == link.Raft}
	if n.compressed {
		n.in = flate.NewReader(c)
	}
	return n
}

func (c *stream) introduce(timeout time.Duration, incarnation string) error {
	if err := c.SetWriteDeadline(time.Now().Add(timeout)); err != nil {
		return err
	}
	if _, err := io.WriteString(c.Conn, incarnation); err != nil {
		return err
	}
	return c.SetWriteDeadline(time.Time{})
}

// Read is called by only one goroutine of raft.
func (c *stream) Read(p []byte) (int, error) {
	if c.accepted && !c.introduced {
		name := make([]byte, disk.IncarnationBytes)
		if _, err := io.ReadFull(c.Conn, name); err != nil {
			return 0, err
		}
		if _, own, _ := strings.Cut(string(c.of.own), "."); string(name) != own {
			return 0, io.EOF
		}
		c.introduced = true
	}
	n, err := c.in.Read(p)
	if err == io.ErrUnexpectedEOF { // of flate; raft reports all errors except io.EOF
		err = io.EOF
	}
	return n, err
}

// Write is called with a whole message of raft, or with a part of a long one.
func (c *stream) Write(p []byte) (int, error) {
	if !c.compressed {
		return c.Conn.Write(p)
	}
	if c.out == nil {
		c.buffer = bufio.NewWriter(c.Conn)
		c.out, _ = flate.NewWriter(c.buffer, flate.DefaultCompression) // an error is impossible at this level
	}
	n, err := c.out.Write(p)
	return n, errors.Join(err, c.out.Flush(), c.buffer.Flush())
}

func (c *stream) Close() error {
	c.of.mu.Lock()
	had := c.of.open[c]
	delete(c.of.open, c)
	c.of.mu.Unlock()
	err := c.Conn.Close()
	if had && c.accepted {
		c.of.served.Done()
	}
	return err
}
