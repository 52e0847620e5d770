package link

import (
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"time"
)

// Limits of requests. MaxBody is that of the body of a request and of an answer.
const (
	MaxBody        = 1 << 20
	maxRequests    = 32 // of one member that are answered at the same time
	maxHeaderBytes = 4 << 10
	maxTime        = time.Minute     // for an answer
	writeTime      = 5 * time.Second // after which a connection is closed on which nothing can be written
	silentTime     = 3 * time.Second // after which a peer is pinged
	pingTime       = 2 * time.Second // for a peer to answer a ping
	idleTime       = 90 * time.Second
	idleTimePeer   = 4 * time.Minute // for connections of other members
	maxReason      = 512             // bytes of a refusal, or of a logged line
)

// Handler answers a request of a member. The context ends when the caller no longer waits.
// The caller receives the text of the error. The answer has at most MaxBody bytes.
type Handler func(ctx context.Context, peer string, body []byte) ([]byte, error)

// Refusal is the error of a request that the peer's handler answered with an error. After any
// other error, it is unknown whether the peer has performed the request.
type Refusal struct{ Peer, Reason string }

func (r *Refusal) Error() string { return "member " + r.Peer + ": " + r.Reason }

// Handle sets the handler of the requests with a verb. It panics if there is one already.
func (l *Link) Handle(verb string, h Handler) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.handlers[verb] != nil {
		panic("link: two handlers of verb " + verb)
	}
	l.handlers[verb] = h
}

// Ask sends a request to a member and returns its answer. It waits until the context ends,
// for a minute at most. All requests to a member share one connection, which is made when it
// is needed. More than 32 requests to a member at the same time wait for each other.
func (l *Link) Ask(ctx context.Context, to Peer, verb string, body []byte) ([]byte, error) {
	if len(body) > MaxBody {
		return nil, fmt.Errorf("ask %s: the request has %d bytes", to, len(body))
	}
	if err := l.enter(); err != nil {
		return nil, err
	}
	defer l.work.Done()
	ctx, cancel := context.WithTimeout(ctx, maxTime)
	defer cancel()
	defer context.AfterFunc(l.ctx, cancel)()
	answer, err := l.ask(ctx, to, verb, body)
	if err != nil && !errors.As(err, new(*Refusal)) {
		return nil, fmt.Errorf("ask %s: %w", to, err)
	}
	return answer, err
}

func (l *Link) ask(ctx context.Context, to Peer, verb string, body []byte) ([]byte, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+to.host()+"/"+verb, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	request.Header["User-Agent"] = nil // saves bytes
	response, err := l.client.RoundTrip(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	answer, err := io.ReadAll(io.LimitReader(response.Body, MaxBody+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("read answer: %w", err)
	case response.StatusCode != http.StatusOK:
		return nil, &Refusal{to.ID, printable(answer)}
	case len(answer) > MaxBody:
		return nil, errors.New("the answer is too long")
	}
	return answer, nil
}

// host names a peer to the HTTP client, which has one connection for each name.
func (p Peer) host() string { return hex.EncodeToString([]byte(p.Addr)) + "." + p.ID }

func peerOfHost(host string) (Peer, error) {
	name, _, _ := strings.Cut(host, ":") // the client adds a port
	code, id, _ := strings.Cut(name, ".")
	addr, err := hex.DecodeString(code)
	return Peer{id, string(addr)}, err
}

// newClient makes the HTTP client of Ask. It uses unencrypted HTTP/2, because Dial has encrypted
// the connections already.
func (l *Link) newClient() *http.Transport {
	t := &http.Transport{
		DialContext: func(ctx context.Context, _, host string) (net.Conn, error) {
			to, err := peerOfHost(host)
			if err != nil {
				return nil, err
			}
			return l.Dial(ctx, to, asking)
		},
		DisableCompression:     true,
		MaxConnsPerHost:        1,
		IdleConnTimeout:        idleTime,
		MaxResponseHeaderBytes: maxHeaderBytes,
		Protocols:              new(http.Protocols),
		HTTP2: &http.HTTP2Config{
			SendPingTimeout: silentTime, PingTimeout: pingTime, WriteByteTimeout: writeTime,
			MaxReceiveBufferPerConnection: MaxBody, MaxReceiveBufferPerStream: MaxBody,
		},
	}
	t.Protocols.SetUnencryptedHTTP2(true)
	return t
}

// connKey is the key of the connection in the context of a request.
type connKey struct{}

// newServer makes the HTTP server that answers Ask.
func (l *Link) newServer() *http.Server {
	s := &http.Server{
		Handler:        http.HandlerFunc(l.answer),
		ConnContext:    func(ctx context.Context, c net.Conn) context.Context { return context.WithValue(ctx, connKey{}, c) },
		BaseContext:    func(net.Listener) context.Context { return l.ctx },
		ErrorLog:       slog.NewLogLogger(l.log.Handler(), slog.LevelDebug),
		ReadTimeout:    maxTime,
		IdleTimeout:    idleTimePeer,
		MaxHeaderBytes: maxHeaderBytes,
		Protocols:      new(http.Protocols),
		HTTP2: &http.HTTP2Config{
			WriteByteTimeout:              writeTime,
			MaxReceiveBufferPerConnection: MaxBody, MaxReceiveBufferPerStream: MaxBody,
		},
	}
	s.Protocols.SetUnencryptedHTTP2(true)
	return s
}

// answer serves one request.
func (l *Link) answer(w http.ResponseWriter, r *http.Request) {
	if l.enter() != nil {
		w.WriteHeader(http.StatusServiceUnavailable)
		return
	}
	defer l.work.Done()
	ctx, cancel := context.WithTimeout(r.Context(), maxTime)
	defer cancel()
	c := ctx.Value(connKey{}).(*Conn)
	select {
	case c.from.requests <- struct{}{}:
		defer func() { <-c.from.requests }()
	case <-ctx.Done():
		return
	}
	header := w.Header()
	header["Date"], header["Content-Type"] = nil, nil // saves bytes
	body, err := l.handle(ctx, c.peer, r)
	if err != nil {
		w.WriteHeader(http.StatusUnprocessableEntity)
		body = []byte(err.Error())
		body = body[:min(len(body), maxReason)]
	}
	w.Write(body) // an error is the caller's
}

func (l *Link) handle(ctx context.Context, peer string, r *http.Request) ([]byte, error) {
	verb := strings.TrimPrefix(r.URL.Path, "/")
	l.mu.Lock()
	h := l.handlers[verb]
	l.mu.Unlock()
	if h == nil {
		return nil, fmt.Errorf("unknown request %q", verb)
	}
	body, err := io.ReadAll(io.LimitReader(r.Body, MaxBody+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("read request: %w", err)
	case len(body) > MaxBody:
		return nil, errors.New("the request is too long")
	}
	answer, err := h(ctx, peer, body)
	if err == nil && len(answer) > MaxBody {
		return nil, fmt.Errorf("the answer has %d bytes", len(answer))
	}
	return answer, err
}

// Transport returns an HTTP client of the daemons of other members, whose host names are
// member IDs: http://ID/path. The function address returns the address of a member's link. A
// connection fails if another member answers there.
func (l *Link) Transport(address func(id string) (addr string, ok bool)) *http.Transport {
	dial := func(ctx context.Context, _, hostport string) (net.Conn, error) {
		id, _, err := net.SplitHostPort(hostport)
		if err != nil {
			return nil, fmt.Errorf("dial member: %w", err)
		}
		addr, ok := address(id)
		if !ok {
			return nil, fmt.Errorf("unknown member %s", id)
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
