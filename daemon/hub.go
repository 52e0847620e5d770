package daemon

import (
	"context"
	"slices"
	"sync"

	"github.com/cronring/cronring/daemon/api"
	"github.com/cronring/cronring/daemon/job"
)

// backlogEvents is how many events a subscriber may be behind before it
// loses some.
const backlogEvents = 64

// backlogOutput is how many bytes of what a live run wrote are kept for who
// comes later: the newest. The store has it all when the run has ended.
const backlogOutput = 16 << 10

// hub hands events to whoever subscribed. A slow subscriber loses events and
// is told so; it never holds anybody up.
type hub struct {
	mu          sync.Mutex
	subscribers map[*subscriber]struct{}
	said        map[job.RunID]*said // by live runs
	closed      bool
}

type subscriber struct {
	events chan api.Event
	lost   int
}

// said is the newest output of a run.
type said struct {
	chunks []job.Chunk
	size   int
}

func newHub() *hub {
	return &hub{subscribers: map[*subscriber]struct{}{}, said: map[job.RunID]*said{}}
}

// subscribe returns a channel of all events from now on. It is closed when
// ctx ends or the hub is closed.
func (h *hub) subscribe(ctx context.Context) <-chan api.Event {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.enter(ctx)
}

// follow also gives what a live run wrote before, so that nothing is missing
// in between and nothing comes twice.
func (h *hub) follow(ctx context.Context, id job.RunID) ([]job.Chunk, <-chan api.Event) {
	h.mu.Lock()
	defer h.mu.Unlock()
	var before []job.Chunk
	if s := h.said[id]; s != nil {
		before = slices.Clone(s.chunks)
	}
	return before, h.enter(ctx)
}

func (h *hub) enter(ctx context.Context) <-chan api.Event {
	s := &subscriber{events: make(chan api.Event, backlogEvents+1)}
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
	h.remember(e)
	for s := range h.subscribers {
		s.send(e)
	}
}

// restore takes what a run printed under a daemon before this one, for those
// who follow it.
func (h *hub) restore(before []job.Chunk) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for i := range before {
		h.remember(api.Event{Chunk: &before[i]})
	}
}

func (h *hub) remember(e api.Event) {
	switch {
	case e.Chunk != nil:
		s := h.said[e.Chunk.Run]
		if s == nil {
			s = &said{}
			h.said[e.Chunk.Run] = s
		}
		s.add(*e.Chunk)
	case e.Record != nil && e.Record.Kind == job.Ended && e.Record.Run != nil:
		delete(h.said, e.Record.Run.ID)
	}
}

// add keeps a piece of output and leaves out the oldest beyond the bound.
func (s *said) add(c job.Chunk) {
	s.chunks = append(s.chunks, c)
	s.size += weight(c)
	for s.size > backlogOutput && len(s.chunks) > 1 {
		lost := s.chunks[0]
		s.chunks = s.chunks[1:]
		s.size -= weight(lost)
		s.chunks[0].Cut += lost.Cut + int64(len(lost.Data))
	}
}

// weight counts what a piece costs, as a hostile job can write single bytes.
func weight(c job.Chunk) int { return len(c.Data) + 128 }

// send never blocks: the channel has room for backlogEvents and one gap. The
// last thing in a full channel is always a gap, so that a reader learns that
// something is missing even when nothing follows.
func (s *subscriber) send(e api.Event) {
	if s.lost > 0 && len(s.events) < backlogEvents {
		s.gap()
	}
	if len(s.events) < backlogEvents {
		s.events <- e
		return
	}
	s.lost++
	if len(s.events) == backlogEvents {
		s.gap()
	}
}

func (s *subscriber) gap() {
	s.events <- api.Event{Gap: &api.Gap{Lost: s.lost}}
	s.lost = 0
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
