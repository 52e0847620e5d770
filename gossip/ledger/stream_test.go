package ledger

import (
	"context"
	"io"
	"log/slog"
	"net"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hashicorp/raft"

	"github.com/cronring/cronring/gossip/link"
	"github.com/cronring/cronring/gossip/link/linktest"
)

// TestStreamsOfTwoVersions: a voter understands older voters, which do not compress. What
// repeats itself takes few bytes otherwise.
func TestStreamsOfTwoVersions(t *testing.T) {
	const messages = 1000
	message := strings.Repeat("a message of raft", 10)
	for _, c := range []struct {
		what string
		old  bool // the caller
		have []string
		most int // bytes that the network carries for a message
	}{
		{"both compress", false, []string{link.Raft, link.OldRaft}, 60},
		{"the peer does not", false, []string{link.OldRaft}, 200},
		{"the caller does not", true, []string{link.Raft, link.OldRaft}, 200},
	} {
		synctest.Test(t, func(t *testing.T) {
			network := linktest.New()
			a, _ := startStreams(t, network, "a", c.have)
			b, listener := startStreams(t, network, "b", c.have)
			accepted := newStreams(&Ledger{o: Options{Link: b, Addr: here}}, server("b", log16), listener, func(string) bool { return true }, nil)
			got, end := make(chan error, 1), make(chan error, 1)
			go func() {
				conn, err := accepted.Accept()
				text := make([]byte, messages*len(message))
				if err == nil {
					_, err = io.ReadFull(conn, text)
				}
				if err == nil && string(text) != strings.Repeat(message, messages) {
					err = io.ErrUnexpectedEOF
				}
				got <- err
				if err == nil {
					_, err = conn.Read(text)
				}
				end <- err
			}()
			calling := newStreams(&Ledger{o: Options{Link: a, Addr: here}}, server("a", log16), nil, nil, func(context.Context, string) error { return nil })
			var conn net.Conn
			var err error
			if c.old {
				var old *link.Conn
				if old, err = a.Dial(t.Context(), link.Peer{ID: "b", Addr: "b"}, link.OldRaft); err == nil {
					conn = old
					_, err = io.WriteString(conn, log16)
				}
			} else {
				conn, err = calling.Dial(raft.ServerAddress(server("b", log16)), time.Second)
			}
			if err != nil {
				t.Fatal(c.what, err)
			}
			before := network.Sent()
			for range messages {
				io.WriteString(conn, message)
			}
			if err := <-got; err != nil {
				t.Errorf("%s: %v", c.what, err)
			}
			if each := (network.Sent() - before) / messages; each > c.most {
				t.Errorf("%s: %d bytes for a message of %d, want at most %d", c.what, each, len(message), c.most)
			}
			conn.Close()
			if err := <-end; err != io.EOF {
				t.Errorf("%s: %v when the peer closed the stream, want EOF", c.what, err)
			}
			accepted.closeAll()
			calling.closeAll()
		})
	}
}

// TestHeartbeatsAreSentTogether: heartbeats to several voters are sent at the same time, but later than
// raft wants to.
func TestHeartbeatsAreSentTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		network := linktest.New()
		port, err := network.Listen("a")
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(300 * time.Millisecond) // the bubble begins with a whole second, and wall time does not count
		begun := time.Now()
		streams := sentTimes{port, make(chan time.Time, 3)}
		sender := transport{raft.NewNetworkTransport(streams, 1, time.Second, io.Discard), time.Second, begun, nil, nil}
		for _, id := range []raft.ServerID{"b", "c", "d"} {
			go sender.AppendEntries(id, raft.ServerAddress(id), &raft.AppendEntriesRequest{}, &raft.AppendEntriesResponse{})
			time.Sleep(100 * time.Millisecond) // of the bubble
		}
		synctest.Wait()
		if len(streams.sent) > 0 {
			t.Error("a heartbeat was not delayed")
		}
		if b, c, d := <-streams.sent, <-streams.sent, <-streams.sent; !b.Equal(c) || !c.Equal(d) {
			t.Errorf("heartbeats were sent at %v, %v and %v, want them together", b, c, d)
		}
		if after := time.Since(begun); after != time.Second {
			t.Errorf("heartbeats were sent after %v, want a second", after)
		}
		sender.Close()
	})
}

// sentTimes are connections that only record when they are dialled.
type sentTimes struct {
	net.Listener
	sent chan time.Time
}

func (s sentTimes) Dial(raft.ServerAddress, time.Duration) (net.Conn, error) {
	s.sent <- time.Now()
	return nil, net.ErrClosed
}

const log16 = "0123456789abcdef"

func here(member string) (string, bool) { return member, true }

// startStreams runs a link with a listener for some services.
func startStreams(t *testing.T, network *linktest.Network, id string, services []string) (*link.Link, net.Listener) {
	t.Helper()
	port, err := network.Listen(id)
	if err != nil {
		t.Fatal(err)
	}
	l, err := link.New(link.Options{ID: id, Ring: "ring", Keys: [][]byte{make([]byte, 32)}, Listener: port, Dial: network.Dialer(id), Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	listener, err := l.Listen(services...)
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	over := make(chan struct{})
	go func() { l.Run(ctx); close(over) }()
	t.Cleanup(func() { stop(); <-over })
	return l, listener
}
