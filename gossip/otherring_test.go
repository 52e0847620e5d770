package gossip

import (
	"context"
	"io"
	"net"
	"net/netip"
	"slices"
	"testing"

	"github.com/cronring/cronring/gossip/link"
)

// A host with the key of the ring and another ring.name is not a member. It is reported, and does not
// bar this member. Strangers without the key are not reported.
func TestHostOfAnotherRingIsReported(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	board := &switchboard{handlers: make(map[string]map[string]link.Handler)}
	a := startOverSockets(t, board, "test", "a", key(1))
	addr := a.Snapshot().Members[0].Address
	reports := func() (all []string) {
		s := a.Snapshot()
		if len(s.Members) != 1 || s.Barred != "" {
			t.Errorf("got members %+v, barred: %q, want only itself", s.Members, s.Barred)
		}
		for _, o := range s.Others {
			all = append(all, o.Name+" at "+o.Address+" of "+o.Ring)
		}
		return all
	}
	join := func(r *Ring) {
		t.Helper()
		var contact func([]netip.AddrPort) error
		if err := r.do(ctx, func() error { contact = r.contact(); return nil }); err != nil {
			t.Fatal(err)
		}
		if err := contact([]netip.AddrPort{netip.MustParseAddrPort(addr)}); err == nil {
			t.Error("a host of another ring has joined")
		}
	}
	join(startOverSockets(t, board, "other", "b", key(2)))
	for _, message := range []string{"", "\x06", "\x0a\x00", "\x0a\x00\x00\x00\x00", "\x0a\x00\x00\x00\x1d\x01 an attacker's 29 bytes here", "\x0a\xff\xff\xff\xff\x01"} {
		for _, ring := range []string{"test", "other"} {
			conn, err := net.Dial("tcp", addr)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := conn.Write(labelled(ring, []byte(message))); err != nil {
				t.Fatal(err)
			}
			conn.(*net.TCPConn).CloseWrite()
			_, _ = io.Copy(io.Discard, conn) // until the member has closed it
			conn.Close()
		}
	}
	if got := reports(); len(got) > 0 {
		t.Errorf("strangers: got %v, want no report", got)
	}
	b := startOverSockets(t, board, "other", "b", key(1))
	join(b)
	want := []string{"host-b at " + b.Snapshot().Members[0].Address + " of other"}
	if got := reports(); !slices.Equal(got, want) {
		t.Errorf("a host with the key: got %v, want %v", got, want)
	}
}
