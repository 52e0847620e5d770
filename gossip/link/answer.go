package link

import (
	"bufio"
	"context"
	"fmt"
	"time"
)

// Handler answers a request of a member. ctx is over when the asker waits no
// longer. What the error says is told to the asker. The answer is at most
// MaxBody long.
type Handler func(ctx context.Context, peer string, body []byte) ([]byte, error)

// Handle lets others ask this member. A verb has one handler, for good.
func (l *Link) Handle(verb string, h Handler) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(verb) == 0 || len(verb) > maxVerb || l.handlers[verb] != nil {
		panic("link: handler of verb " + verb)
	}
	l.handlers[verb] = h
}

// answer serves the requests of a connection until it ends or says something
// out of order.
func (l *Link) answer(c *Conn) {
	defer c.cut()
	ctx, cancel := context.WithCancel(l.ctx)
	defer cancel()
	slots := l.slotsOf(c.peer)
	w, r := newWire(c), bufio.NewReader(c)
	for {
		if err := c.SetReadDeadline(time.Now().Add(deafTime)); err != nil {
			return
		}
		f, err := readFrame(r)
		if err != nil {
			return
		}
		switch f.Kind {
		case framePing:
			if err := w.write(ctx, frame{Kind: framePong}); err != nil {
				return
			}
		case frameAsk:
			select {
			case slots <- struct{}{}:
			case <-ctx.Done():
				return
			}
			l.work.Go(func() {
				defer func() { <-slots }()
				l.reply(ctx, w, f)
			})
		default:
			return
		}
	}
}

// slotsOf returns what bounds the requests of a member over all its
// connections.
func (l *Link) slotsOf(peer string) chan struct{} {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.guests[peer].slots
}

func (l *Link) reply(ctx context.Context, w *wire, f frame) {
	ctx, cancel := context.WithTimeout(ctx, min(f.Wait, longest))
	defer cancel()
	answer := frame{Kind: frameAnswer, ID: f.ID}
	body, err := l.handle(ctx, w.conn.Peer(), f)
	if err != nil {
		answer.Kind, body = frameRefusal, []byte(cleanWords(err.Error()))
	}
	answer.Body = body
	// Not under ctx: if the deadline has passed, that is no reason to cut the
	// connection.
	w.write(l.ctx, answer)
}

func (l *Link) handle(ctx context.Context, peer string, f frame) ([]byte, error) {
	l.mu.Lock()
	h := l.handlers[f.Verb]
	l.stats.Served++
	l.mu.Unlock()
	if h == nil {
		return nil, fmt.Errorf("cannot answer %q", f.Verb)
	}
	body, err := h(ctx, peer, f.Body)
	if err == nil && len(body) > MaxBody {
		return nil, fmt.Errorf("answer has %d bytes", len(body))
	}
	return body, err
}
