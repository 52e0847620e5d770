package link

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"time"
)

// Transport returns what makes requests to the daemons of other members, whose
// hosts are their IDs: http://ID/path. It is encrypted as all that a link
// carries. address tells where a member's link is; a connection is refused if
// another member answers there.
func (l *Link) Transport(address func(id string) (addr string, ok bool)) *http.Transport {
	dial := func(ctx context.Context, _, hostport string) (net.Conn, error) {
		id, _, err := net.SplitHostPort(hostport)
		if err != nil {
			return nil, fmt.Errorf("dial member: %w", err)
		}
		addr, ok := address(id)
		if !ok {
			return nil, fmt.Errorf("no member %s is known", id)
		}
		return l.Dial(ctx, Peer{id, addr}, HTTP)
	}
	return &http.Transport{
		DialContext:            dial,
		MaxConnsPerHost:        4,
		MaxIdleConnsPerHost:    1,
		IdleConnTimeout:        30 * time.Second,
		ResponseHeaderTimeout:  30 * time.Second,
		MaxResponseHeaderBytes: 16 << 10,
		DisableCompression:     true,
	}
}

type peerKey struct{}

// ConnContext is an http.Server's for the listener of HTTP: PeerOf tells its
// handlers which member asks.
func ConnContext(ctx context.Context, c net.Conn) context.Context {
	if c, ok := c.(*Conn); ok {
		ctx = context.WithValue(ctx, peerKey{}, c.Peer())
	}
	return ctx
}

// PeerOf returns the ID of the member that a request is of, or "".
func PeerOf(ctx context.Context) string {
	id, _ := ctx.Value(peerKey{}).(string)
	return id
}
