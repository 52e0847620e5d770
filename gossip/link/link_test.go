package link

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cronring/cronring/gossip/link/linktest"
)

func key(b byte) []byte { return bytes.Repeat([]byte{b}, 32) }

// member is a link that runs, until the test's end.
type member struct {
	*Link
	stop func()
}

func start(t *testing.T, network *linktest.Network, id string, keys ...[]byte) member {
	t.Helper()
	return startIn(t, network, id, "ring", keys...)
}

func startIn(t *testing.T, network *linktest.Network, id, ring string, keys ...[]byte) member {
	t.Helper()
	listener, err := network.Listen(id)
	if err != nil {
		t.Fatal(err)
	}
	l, err := New(Options{ID: id, Ring: ring, Keys: keys, Listener: listener, Dial: network.Dialer(id), Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	over := make(chan struct{})
	go func() {
		defer close(over)
		if err := l.Run(ctx); err != nil {
			t.Errorf("run of %s: %v", id, err)
		}
	}()
	stop := func() { cancel(); <-over }
	t.Cleanup(stop)
	return member{l, stop}
}

// open returns how many connections a member has.
func (m member) open() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return len(m.conns)
}

func at(id string) Peer { return Peer{id, id} }

func echo(_ context.Context, peer string, body []byte) ([]byte, error) {
	return append([]byte(peer+" says "), body...), nil
}

// mustAsk requests an echo and checks the answer.
func mustAsk(t *testing.T, from member, to Peer) {
	t.Helper()
	got, err := from.Ask(t.Context(), to, "echo", []byte("hello"))
	if want := from.id + " says hello"; string(got) != want || err != nil {
		t.Fatalf("ask %s: got %q, %v, want %q", to, got, err, want)
	}
}

func TestAskAnswersAsWhomTheCertificateSays(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		network := linktest.New()
		a, b := start(t, network, "a", key(1)), start(t, network, "b", key(1))
		b.Handle("echo", echo)
		b.Handle("no", func(context.Context, string, []byte) ([]byte, error) { return nil, errors.New("not\x1b[31m now") })
		for range 3 {
			mustAsk(t, a, at("b"))
		}
		if open := b.open(); open != 1 {
			t.Errorf("after three requests: got %d connections, want one", open)
		}
		_, err := a.Ask(t.Context(), at("b"), "no", nil)
		if want := (&Refusal{"b", "not [31m now"}).Error(); err == nil || err.Error() != want {
			t.Errorf("refusal: got %v, want %s", err, want)
		}
		if _, err := a.Ask(t.Context(), at("b"), "unheard", nil); !errors.As(err, new(*Refusal)) {
			t.Errorf("unknown verb: got %v, want a refusal", err)
		}
		if _, err := a.Ask(t.Context(), Peer{"c", "b"}, "echo", nil); err == nil || !strings.Contains(err.Error(), "member b answers there") {
			t.Errorf("ask c where b is: got %v, want it told", err)
		}
		if _, err := a.Ask(t.Context(), at("nowhere"), "echo", nil); err == nil {
			t.Error("ask nowhere: got no error")
		}
		mustAsk(t, a, Peer{Addr: "b"})
	})
}

func TestAskCarriesBodiesUpToTheBound(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		network := linktest.New()
		a, b := start(t, network, "a", key(1)), start(t, network, "b", key(1))
		b.Handle("back", func(_ context.Context, _ string, body []byte) ([]byte, error) { return body, nil })
		b.Handle("more", func(_ context.Context, _ string, body []byte) ([]byte, error) { return append(body, 0), nil })
		body := bytes.Repeat([]byte("x"), MaxBody)
		if got, err := a.Ask(t.Context(), at("b"), "back", body); !bytes.Equal(got, body) || err != nil {
			t.Errorf("largest body: got %d bytes, %v, want it back", len(got), err)
		}
		if _, err := a.Ask(t.Context(), at("b"), "more", body); !errors.As(err, new(*Refusal)) {
			t.Errorf("too large answer: got %v, want a refusal", err)
		}
		if _, err := a.Ask(t.Context(), at("b"), "back", append(body, 0)); err == nil {
			t.Error("too large body: got no error")
		}
		// A member that does not check the size of its requests is refused.
		response, err := a.client.RoundTrip(httptest.NewRequest("POST", "http://"+at("b").host()+"/back", bytes.NewReader(append(body, 0))))
		if err != nil {
			t.Fatal(err)
		}
		defer response.Body.Close()
		if reason, err := io.ReadAll(response.Body); string(reason) != "the request is too long" || err != nil {
			t.Errorf("too large body: got %d with %d bytes, %v, want it refused", response.StatusCode, len(reason), err)
		}
	})
}

func TestAskBoundsRequestsInFlight(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		network := linktest.New()
		a, b := start(t, network, "a", key(1)), start(t, network, "b", key(1))
		var now, most atomic.Int64
		b.Handle("slow", func(ctx context.Context, _ string, _ []byte) ([]byte, error) {
			defer now.Add(-1)
			for n := now.Add(1); ; {
				if m := most.Load(); n <= m || most.CompareAndSwap(m, n) {
					break
				}
			}
			time.Sleep(time.Second)
			return nil, nil
		})
		var all sync.WaitGroup
		for range 20 * maxRequests {
			all.Go(func() {
				if _, err := a.Ask(t.Context(), at("b"), "slow", nil); err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
		if got := most.Load(); got != maxRequests {
			t.Errorf("requests at a time: got %d, want %d", got, maxRequests)
		}
	})
}

func TestAskHandlersStopWithTheAsker(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		network := linktest.New()
		a, b := start(t, network, "a", key(1)), start(t, network, "b", key(1))
		begun := time.Now()
		b.Handle("wait", func(ctx context.Context, _ string, _ []byte) ([]byte, error) {
			<-ctx.Done()
			if took := time.Since(begun); took != time.Second {
				t.Errorf("the handler stopped after %s, want a second", took)
			}
			return nil, ctx.Err()
		})
		b.Handle("echo", echo)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := a.Ask(ctx, at("b"), "wait", nil); err == nil {
			t.Error("got an answer, want the deadline's error")
		}
		mustAsk(t, a, at("b"))
		if got := time.Since(begun); got != time.Second {
			t.Errorf("took %s, want a second", got)
		}
	})
}

func TestAskDeadPeersHoldUpNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		network := linktest.New()
		a, b, c := start(t, network, "a", key(1)), start(t, network, "b", key(1)), start(t, network, "c", key(1))
		b.Handle("echo", echo)
		c.Handle("echo", echo)
		mustAsk(t, a, at("b"))
		network.Partition([]string{"a"}, []string{"b"})
		var all sync.WaitGroup
		for range 2 * maxRequests {
			all.Go(func() {
				ctx, cancel := context.WithTimeout(t.Context(), time.Second)
				defer cancel()
				if _, err := a.Ask(ctx, at("b"), "echo", nil); !errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("ask of a dead peer: got %v, want the deadline's error", err)
				}
			})
		}
		synctest.Wait()
		begun := time.Now()
		mustAsk(t, a, at("c"))
		if took := time.Since(begun); took != 0 {
			t.Errorf("ask of the peer that lives took %s", took)
		}
		all.Wait()
		time.Sleep(silentTime + pingTime)
		synctest.Wait()
		if got := a.open(); got != 1 {
			t.Errorf("after a ping: got %d connections, want that of c alone", got)
		}
		network.Heal()
		mustAsk(t, a, at("b"))
	})
}

func TestAskSlowPeersKeepTheirConnection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		network := linktest.New()
		a, b := start(t, network, "a", key(1)), start(t, network, "b", key(1))
		b.Handle("slow", func(context.Context, string, []byte) ([]byte, error) { time.Sleep(10 * time.Second); return nil, nil })
		var all sync.WaitGroup
		all.Go(func() {
			if _, err := a.Ask(t.Context(), at("b"), "slow", nil); err != nil {
				t.Errorf("patient request: %v", err)
			}
		})
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := a.Ask(ctx, at("b"), "slow", nil); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("impatient request: got %v, want the deadline's error", err)
		}
		all.Wait()
	})
}

func TestAskHangsUpWhenIdle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		network := linktest.New()
		a, b := start(t, network, "a", key(1)), start(t, network, "b", key(1))
		b.Handle("echo", echo)
		mustAsk(t, a, at("b"))
		time.Sleep(idleTime)
		synctest.Wait()
		if got := a.open() + b.open(); got != 0 {
			t.Errorf("after %s: got %d connections, want none", idleTime, got)
		}
		mustAsk(t, a, at("b"))
	})
}

func TestAskFindsARestartedPeer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		network := linktest.New()
		a, b := start(t, network, "a", key(1)), start(t, network, "b", key(1))
		b.Handle("echo", echo)
		mustAsk(t, a, at("b"))
		b.stop()
		if _, err := a.Ask(t.Context(), at("b"), "echo", nil); err == nil {
			t.Error("ask of a peer that ended: got no error")
		}
		start(t, network, "b", key(1)).Handle("echo", echo)
		mustAsk(t, a, at("b"))
	})
}

func TestLinkHasNoDates(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		network := linktest.New()
		a, b := start(t, network, "a", key(1)), start(t, network, "b", key(1))
		b.Handle("echo", echo)
		mustAsk(t, a, at("b"))
		time.Sleep(100 * 365 * 24 * time.Hour)
		mustAsk(t, a, at("b"))
	})
}

func TestLinkRekeysWithoutRestart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		network := linktest.New()
		a, b := start(t, network, "a", key(1)), start(t, network, "b", key(1))
		b.Handle("echo", echo)
		mustAsk(t, a, at("b"))
		steps := [][][]byte{{key(1), key(2)}, {key(2), key(1)}, {key(2)}}
		for n, keys := range steps {
			for _, m := range []member{b, a} {
				if err := m.Rekey(keys); err != nil {
					t.Fatal(err)
				}
				synctest.Wait()
				mustAsk(t, a, at("b"))
				if t.Failed() {
					t.Fatalf("at step %d of %s", n, m.id)
				}
			}
		}
		if err := b.Rekey([][]byte{key(3)}); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if got := b.open(); got != 0 {
			t.Errorf("connections with a key that is gone: got %d, want none", got)
		}
		if _, err := a.Ask(t.Context(), at("b"), "echo", nil); err == nil {
			t.Error("ask with a key that is gone: got an answer")
		}
		if err := b.Rekey(nil); err == nil {
			t.Error("rekey with nothing: got no error")
		}
	})
}

func TestLinkRefusesOtherRings(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		network := linktest.New()
		a := start(t, network, "a", key(1))
		a.Handle("echo", func(context.Context, string, []byte) ([]byte, error) {
			t.Error("a stranger was heard")
			return nil, nil
		})
		for _, stranger := range []member{startIn(t, network, "b", "ring", key(2)), startIn(t, network, "c", "other", key(1))} {
			stranger.Handle("echo", echo)
			if _, err := stranger.Ask(t.Context(), at("a"), "echo", []byte("secret")); err == nil || errors.As(err, new(*Refusal)) {
				t.Errorf("%s asked: got %v, want it not to be heard", stranger.id, err)
			}
			if _, err := a.Ask(t.Context(), at(stranger.id), "echo", []byte("secret")); err == nil {
				t.Errorf("%s answered, want it refused", stranger.id)
			}
		}
	})
}

// strangers say what they like in the place of a member's handshake.
var strangers = map[string]func(t *testing.T, raw net.Conn){
	"garbage": func(t *testing.T, raw net.Conn) { raw.Write(bytes.Repeat([]byte("GET / HTTP/1.1\r\n"), 4096)) },
	"long record": func(t *testing.T, raw net.Conn) {
		raw.Write(append([]byte{22, 3, 1, 0xff, 0xff}, make([]byte, 0xffff)...))
	},
	"nothing": func(t *testing.T, raw net.Conn) {},
	"no certificate": func(t *testing.T, raw net.Conn) {
		greetAs(t, raw, &tls.Config{NextProtos: []string{asking}})
	},
	"no service": func(t *testing.T, raw net.Conn) { greetAs(t, raw, &tls.Config{}) },
	"own certificate": func(t *testing.T, raw net.Conn) {
		_, private, _ := ed25519.GenerateKey(rand.Reader)
		_, seal, err := derive(key(9), "ring")
		if err != nil {
			t.Error(err)
			return
		}
		leaf, err := issue("a", private, seal)
		if err != nil {
			t.Error(err)
			return
		}
		greetAs(t, raw, &tls.Config{NextProtos: []string{asking}, Certificates: []tls.Certificate{leaf}})
	},
}

// preface is the first message of an HTTP/2 client: its preface and empty settings.
const preface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\x00\x00\x00\x04\x00\x00\x00\x00\x00"

// greetAs does a stranger's handshake, which must end without an answer, and
// looks at what was shown to it.
func greetAs(t *testing.T, raw net.Conn, config *tls.Config) {
	config.InsecureSkipVerify = true
	config.VerifyConnection = func(s tls.ConnectionState) error {
		if shown := s.PeerCertificates[0].Raw; bytes.Contains(shown, []byte("the-member")) {
			t.Errorf("a stranger is shown the member's ID")
		}
		return nil
	}
	c := tls.Client(raw, config)
	c.Write([]byte(preface))
	if n, err := c.Read(make([]byte, 1)); n > 0 || err == nil {
		t.Errorf("a stranger was answered")
	}
}

func TestStrangersLearnAndChangeNothing(t *testing.T) {
	for name, act := range strangers {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				network := linktest.New()
				a, b := start(t, network, "the-member", key(1)), start(t, network, "b", key(1))
				var served atomic.Int64
				a.Handle("echo", func(ctx context.Context, peer string, body []byte) ([]byte, error) {
					served.Add(1)
					return echo(ctx, peer, body)
				})
				raw, err := network.Dialer("stranger")(t.Context(), "the-member")
				if err != nil {
					t.Fatal(err)
				}
				act(t, raw)
				time.Sleep(handshakeTime)
				synctest.Wait()
				io.Copy(io.Discard, raw) // ends when the member has hung up
				raw.Close()
				if open := a.open(); open != 0 || served.Load() != 0 {
					t.Errorf("got %d connections and %d answers, want none", open, served.Load())
				}
				mustAsk(t, b, at("the-member"))
			})
		})
	}
}

// Members share one port with gossip, which does not speak TLS.
func TestConnectionsWithoutTLSAreGossip(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		network := linktest.New()
		a, b := start(t, network, "a", key(1)), start(t, network, "b", key(1))
		a.Handle("echo", echo)
		for range 2 { // a member that left can join again
			gossip, err := a.Listen(Gossip)
			if err != nil {
				t.Fatal(err)
			}
			raw, err := network.Dialer("b")(t.Context(), "a")
			if err != nil {
				t.Fatal(err)
			}
			if _, err := raw.Write([]byte("\xf4hello")); err != nil {
				t.Fatal(err)
			}
			c, err := gossip.Accept()
			if err != nil {
				t.Fatal(err)
			}
			got := make([]byte, 6)
			if _, err := io.ReadFull(c, got); err != nil || string(got) != "\xf4hello" {
				t.Errorf("got %q, %v, want all that was sent", got, err)
			}
			mustAsk(t, b, at("a"))
			time.Sleep(2 * handshakeTime) // no deadline of the handshake is left
			if _, err := c.Write([]byte("x")); err != nil {
				t.Errorf("write after %s: %v", 2*handshakeTime, err)
			}
			c.Close()
			raw.Close()
			gossip.Close()
		}
		if _, err := b.Dial(t.Context(), at("a"), Gossip); err == nil {
			t.Error("gossip is offered over TLS")
		}
	})
}

func TestStrangersCannotCrowdOutMembers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		network := linktest.New()
		a, b := start(t, network, "a", key(1)), start(t, network, "b", key(1))
		a.Handle("echo", echo)
		for range 3 * maxHandshakes {
			raw, err := network.Dialer("stranger")(t.Context(), "a")
			if err != nil {
				t.Fatal(err)
			}
			defer raw.Close()
		}
		synctest.Wait()
		if got := len(a.handshakes.list); got != maxHandshakes {
			t.Errorf("handshakes under way: got %d, want %d", got, maxHandshakes)
		}
		begun := time.Now()
		mustAsk(t, b, at("a"))
		if took := time.Since(begun); took != 0 {
			t.Errorf("a member waited %s for strangers", took)
		}
		time.Sleep(handshakeTime)
		synctest.Wait()
		if got := len(a.handshakes.list); got != 0 {
			t.Errorf("handshakes after %s: got %d, want none", handshakeTime, got)
		}
	})
}

func TestMembersHaveABoundOfConnections(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		network := linktest.New()
		a, b := start(t, network, "a", key(1)), start(t, network, "b", key(1))
		streams, err := a.Listen(Raft)
		if err != nil {
			t.Fatal(err)
		}
		for n := range maxConnsPeer {
			c, err := b.Dial(t.Context(), at("a"), Raft)
			if err != nil {
				t.Fatalf("connection %d: %v", n, err)
			}
			defer c.Close()
			if got, err := streams.Accept(); err != nil || got.(*Conn).Peer() != "b" {
				t.Fatalf("accept: got %v, %v, want b", got, err)
			}
		}
		c, err := b.Dial(t.Context(), at("a"), Raft)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		if _, err := c.Read(make([]byte, 1)); err == nil {
			t.Error("one more than the bound was accepted")
		}
	})
}

func TestDialWantsAServiceThatIsThere(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		network := linktest.New()
		_, b := start(t, network, "a", key(1)), start(t, network, "b", key(1))
		if _, err := b.Dial(t.Context(), at("a"), Raft); err == nil {
			t.Error("dial of a service without listener: got no error")
		}
	})
}

func TestTransportAsksTheDaemonOfAMember(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		network := linktest.New()
		a, b := start(t, network, "a", key(1)), start(t, network, "b", key(1))
		listener, err := a.Listen(HTTP)
		if err != nil {
			t.Fatal(err)
		}
		server := http.Server{ConnContext: b.server.ConnContext, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			fmt.Fprintf(w, "%s of %s", r.URL.Path, r.Context().Value(connKey{}).(*Conn).peer)
		})}
		go server.Serve(listener)
		defer server.Close()
		transport := b.Transport(func(id string) (string, bool) { return id, id == "a" })
		defer transport.CloseIdleConnections()
		client := http.Client{Transport: transport}
		response, err := client.Get("http://a/history")
		if err != nil {
			t.Fatal(err)
		}
		got, err := io.ReadAll(response.Body)
		response.Body.Close()
		if want := "/history of b"; string(got) != want || err != nil {
			t.Errorf("got %q, %v, want %q", got, err, want)
		}
		if _, err := client.Get("http://nobody/history"); err == nil {
			t.Error("ask of an unknown member: got no error")
		}
	})
}

func TestRunEndsAllThatWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		network := linktest.New()
		a, b := start(t, network, "a", key(1)), start(t, network, "b", key(1))
		b.Handle("wait", func(ctx context.Context, _ string, _ []byte) ([]byte, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		})
		errs := make(chan error)
		go func() {
			_, err := a.Ask(t.Context(), at("b"), "wait", nil)
			errs <- err
		}()
		synctest.Wait()
		b.stop()
		if err := <-errs; err == nil {
			t.Error("ask of a peer that ends: got no error")
		}
		a.stop()
		if _, err := a.Ask(t.Context(), at("b"), "wait", nil); !errors.Is(err, ErrClosed) {
			t.Errorf("ask after the end: got %v, want %v", err, ErrClosed)
		}
	})
}
