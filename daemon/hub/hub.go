// Package hub owns the fan-out of events and of the output of live runs to the clients of the
// control socket that follow them.
package hub

import (
	"bytes"
	"context"
	"slices"
	"sync"

	"github.com/cronring/cronring/daemon/api"
	"github.com/cronring/cronring/daemon/budget"
	"github.com/cronring/cronring/daemon/job"
)

// A subscriber can be behind by backlogEvents, and by backlogBytes of output and of variables and parents
// of runs, before it loses some.
const (
	backlogEvents = 64
	backlogBytes  = 1 << 20
)

// backlogOutput is the number of bytes of the newest output of a live run are kept for later followers. The
// store has all of it when the run has ended.
const backlogOutput = 16 << 10

// Hub sends events to subscribers. A slow subscriber loses events and receives a gap instead; it
// never delays others.
type Hub struct {
	mu          sync.Mutex
	subscribers map[*subscriber]struct{}
	recent      map[job.RunID]*recentOutput // by live runs
	memory      *budget.Budget              // for recent
	closed      bool
}

type subscriber struct {
	events chan api.Event
	sizes  []int // bytes of the last events that were sent, oldest first
	gapped bool  // the last one was a gap
	lost   int
}

// recentOutput is the newest output of a run.
type recentOutput struct {
	chunks []job.Chunk
	size   int
	taken  int // bytes that memory was taken for
	memory *budget.Lease
}

// New returns a hub whose kept output takes from memory.
func New(memory *budget.Budget) *Hub {
	return &Hub{subscribers: map[*subscriber]struct{}{}, recent: map[job.RunID]*recentOutput{}, memory: memory}
}

// Subscribe returns a channel of all events from now on. It is closed when
// ctx ends or the hub is closed.
func (h *Hub) Subscribe(ctx context.Context) <-chan api.Event {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.enter(ctx)
}

// Follow also returns what a live run wrote before, without gaps or repetitions.
func (h *Hub) Follow(ctx context.Context, id job.RunID) ([]job.Chunk, <-chan api.Event) {
	h.mu.Lock()
	defer h.mu.Unlock()
	var before []job.Chunk
	if s := h.recent[id]; s != nil {
		before = slices.Clone(s.chunks)
	}
	return before, h.enter(ctx)
}

func (h *Hub) enter(ctx context.Context) <-chan api.Event {
	s := &subscriber{events: make(chan api.Event, backlogEvents+1)}
	if h.closed {
		close(s.events)
		return s.events
	}
	h.subscribers[s] = struct{}{}
	context.AfterFunc(ctx, func() { h.leave(s) })
	return s.events
}

func (h *Hub) leave(s *subscriber) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if _, ok := h.subscribers[s]; ok {
		delete(h.subscribers, s)
		close(s.events)
	}
}

// Publish passes an event on. The data of a chunk is copied, where it is kept.
func (h *Hub) Publish(e api.Event) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.remember(e)
	if e.Chunk != nil && len(h.subscribers) > 0 {
		c := *e.Chunk
		c.Data = bytes.Clone(c.Data)
		e.Chunk = &c
	}
	for s := range h.subscribers {
		s.send(e)
	}
}

// Restore adds the output that a run wrote under a previous daemon, for later followers.
func (h *Hub) Restore(before []job.Chunk) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for i := range before {
		h.remember(api.Event{Chunk: &before[i]})
	}
}

func (h *Hub) remember(e api.Event) {
	switch {
	case e.Chunk != nil:
		s := h.recent[e.Chunk.Run]
		if s == nil {
			s = &recentOutput{memory: h.memory.Lease(e.Chunk.User)}
			h.recent[e.Chunk.Run] = s
		}
		s.add(*e.Chunk)
	case e.Record != nil && e.Record.Kind == job.Ended && e.Record.Run != nil:
		if s := h.recent[e.Record.Run.ID]; s != nil {
			s.memory.Release()
			delete(h.recent, e.Record.Run.ID)
		}
	}
}

// add keeps a piece of output, and drops the oldest beyond backlogOutput or the
// share of the run's user.
func (s *recentOutput) add(c job.Chunk) {
	if over := c.Weight() - backlogOutput; over > 0 {
		c.Cut += int64(over)
		c.Data = c.Data[over:]
	}
	c.Data = bytes.Clone(c.Data)
	s.chunks = append(s.chunks, c)
	s.size += c.Weight()
	most := backlogOutput
	if s.size > s.taken && s.taken < most {
		if more := min(s.size, most) - s.taken; s.memory.Grow(int64(more)) {
			s.taken += more
		} else {
			most = s.taken
		}
	}
	for s.size > most && len(s.chunks) > 1 {
		lost := s.chunks[0]
		s.chunks = s.chunks[1:]
		s.size -= lost.Weight()
		s.chunks[0].Cut += lost.Cut + int64(len(lost.Data))
	}
}

// send never blocks: the channel has room for backlogEvents and one gap. The last item in a full
// channel is always a gap, so that a reader notices missing events even when none follow.
func (s *subscriber) send(e api.Event) {
	size := 0
	switch {
	case e.Chunk != nil:
		size = e.Chunk.Weight()
	case e.Record != nil && e.Record.Run != nil:
		size = e.Record.Run.Bulk()
	}
	if s.lost > 0 && s.hasRoom(0) {
		s.gap()
	}
	if s.hasRoom(size) {
		s.put(e, size)
		return
	}
	s.lost++
	if !s.gapped {
		s.gap()
	}
}

// hasRoom reports whether an event of that size can be sent. An empty channel accepts any.
func (s *subscriber) hasRoom(size int) bool {
	s.sizes = s.sizes[len(s.sizes)-len(s.events):]
	waiting := size
	for _, n := range s.sizes {
		waiting += n
	}
	return len(s.events) == 0 || len(s.events) < backlogEvents && waiting <= backlogBytes
}

func (s *subscriber) put(e api.Event, size int) {
	s.sizes = append(s.sizes, size)
	s.gapped = e.Gap != nil
	s.events <- e
}

func (s *subscriber) gap() {
	s.put(api.Event{Gap: &api.Gap{Lost: s.lost}}, 0)
	s.lost = 0
}

// Close ends all subscriptions.
func (h *Hub) Close() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.closed = true
	for s := range h.subscribers {
		delete(h.subscribers, s)
		close(s.events)
	}
}
