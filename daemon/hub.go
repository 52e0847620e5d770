package daemon

import (
	"context"
	"sync"

	"github.com/cronring/cronring/daemon/api"
)

// backlogEvents is how many events a subscriber may be behind before it
// loses some.
const backlogEvents = 64

// hub hands events to whoever subscribed. A slow subscriber loses events and
// is told how many; it never holds anybody up.
type hub struct {
	mu          sync.Mutex
	subscribers map[*subscriber]struct{}
	closed      bool
}

type subscriber struct {
	events chan api.Event
	lost   int
}

func newHub() *hub { return &hub{subscribers: map[*subscriber]struct{}{}} }

// subscribe returns a channel of all events from now on. It is closed when
// ctx ends or the hub is closed.
func (h *hub) subscribe(ctx context.Context) <-chan api.Event {
	s := &subscriber{events: make(chan api.Event, backlogEvents)}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed {
		close(s.events)
		return s.events
	}
	h.subscribers[s] = struct{}{}
	context.AfterFunc(ctx, func() { h.leave(s) })
	return s.events
}

func (h *hub) leave(s *subscriber) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if _, ok := h.subscribers[s]; ok {
		delete(h.subscribers, s)
		close(s.events)
	}
}

func (h *hub) publish(e api.Event) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for s := range h.subscribers {
		s.send(e)
	}
}

func (s *subscriber) send(e api.Event) {
	if s.lost > 0 {
		select {
		case s.events <- api.Event{Gap: &api.Gap{Lost: s.lost}}:
			s.lost = 0
		default:
		}
	}
	select {
	case s.events <- e:
	default:
		s.lost++
	}
}

// close ends all subscriptions.
func (h *hub) close() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.closed = true
	for s := range h.subscribers {
		delete(h.subscribers, s)
		close(s.events)
	}
}
