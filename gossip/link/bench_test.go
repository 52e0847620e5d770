package link

import (
	"context"
	"log/slog"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// countedConn counts the bytes that both ends of a connection send.
type countedConn struct {
	net.Conn
	bytes *atomic.Int64
}

func (c countedConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	c.bytes.Add(int64(n))
	return n, err
}

func (c countedConn) Write(p []byte) (int, error) {
	n, err := c.Conn.Write(p)
	c.bytes.Add(int64(n))
	return n, err
}

// BenchmarkAsk measures a request to another member and its answer on loopback: how long
// they take, the processor time of both members, and the bytes on the connection. "busy"
// sends one request after the other, "steady" 30 a second, as a ring with 30 starts a second.
func BenchmarkAsk(b *testing.B) {
	for name, pause := range map[string]time.Duration{"busy": 0, "steady": time.Second / 30} {
		b.Run(name, func(b *testing.B) { benchmarkAsk(b, pause) })
	}
}

func benchmarkAsk(b *testing.B, pause time.Duration) {
	var links []*Link
	var bytes atomic.Int64
	ctx, cancel := context.WithCancel(b.Context())
	var all sync.WaitGroup
	for _, id := range []string{"a", "b"} {
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			b.Fatal(err)
		}
		dial := func(ctx context.Context, addr string) (net.Conn, error) {
			c, err := dialTCP(ctx, addr)
			return countedConn{c, &bytes}, err
		}
		l, err := New(Options{ID: id, Ring: "ring", Keys: [][]byte{key(1)}, Listener: listener, Dial: dial, Log: slog.New(slog.DiscardHandler)})
		if err != nil {
			b.Fatal(err)
		}
		l.Handle("echo", echo)
		all.Go(func() { l.Run(ctx) })
		links = append(links, l)
	}
	to := Peer{"b", links[1].listener.Addr().String()}
	body := make([]byte, 100)
	var took []time.Duration
	ask := func() {
		begun := time.Now()
		if _, err := links[0].Ask(ctx, to, "echo", body); err != nil {
			b.Fatal(err)
		}
		took = append(took, time.Since(begun))
	}
	ask() // connects
	took = nil
	bytes.Store(0)
	before := processorTime()
	for b.Loop() {
		ask()
		time.Sleep(pause)
	}
	used := processorTime() - before
	n := float64(len(took))
	cancel()
	all.Wait()
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)/2].Microseconds()), "p50-µs")
	b.ReportMetric(float64(took[len(took)*99/100].Microseconds()), "p99-µs")
	b.ReportMetric(float64(used.Microseconds())/n, "cpu-µs/op")
	b.ReportMetric(float64(bytes.Load())/n, "sent-B/op")
}

// processorTime returns the processor time that this process has used.
func processorTime() time.Duration {
	var r syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &r); err != nil {
		return 0
	}
	return time.Duration(r.Utime.Nano() + r.Stime.Nano())
}
