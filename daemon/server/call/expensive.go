package call

import (
	"context"
	"sync"
)

// Queries limits each non-admin user to one expensive query at a
// time: from its computation until the caller has received the answer. This
// bounds the memory that a user can make the daemon hold. It also limits how
// many queries of all non-admin users compute at a time. A caller that reads its
// answer slowly does not compute, so no user waits for another user's slow reader.
// Admins are not limited.
type Queries struct {
	computing chan struct{} // one element for each query that computes

	mu    sync.Mutex
	users map[uint32]*userQuery // by Peer.LimitKey
}

// userQuery is the slot of one user.
type userQuery struct {
	taken   chan struct{} // holds an element while a query has the slot
	queries int           // that have the slot or wait for it
}

// NewQueries returns a Queries of which at most some compute at a time.
func NewQueries(computing int) *Queries {
	return &Queries{computing: make(chan struct{}, computing), users: map[uint32]*userQuery{}}
}

// slot is held by an expensive query. The nil slot belongs to a query without a limit.
type slot struct {
	all       *Queries
	key       uint32 // see Peer.LimitKey
	computing bool
}

// Enter waits until the caller may start an expensive query, and returns the function that ends it. After
// an error, which is that of ctx, that does nothing.
func (q *Queries) Enter(ctx context.Context, p Peer) (leave func(), err error) {
	s, err := q.take(ctx, p)
	return s.end, err
}

// take waits until the caller may start an expensive query. end releases the slot. The error is
// that of ctx.
func (q *Queries) take(ctx context.Context, p Peer) (*slot, error) {
	if p.Admin {
		return nil, nil
	}
	s := &slot{all: q, key: p.LimitKey()}
	select {
	case q.join(s.key) <- struct{}{}:
	case <-ctx.Done():
		q.leave(s.key)
		return nil, ctx.Err()
	}
	if err := s.compute(ctx); err != nil {
		s.end()
		return nil, err
	}
	return s, nil
}

// compute waits until the query may compute (again).
func (s *slot) compute(ctx context.Context) error {
	if s == nil || s.computing {
		return ctx.Err()
	}
	select {
	case s.all.computing <- struct{}{}:
		s.computing = true
	case <-ctx.Done():
	}
	return ctx.Err() // also if both were ready: the caller has disconnected
}

// release lets other users compute while the caller reads.
func (s *slot) release() {
	if s != nil && s.computing {
		<-s.all.computing
		s.computing = false
	}
}

// end releases the slot.
func (s *slot) end() {
	if s != nil {
		s.release()
		<-s.all.leave(s.key)
	}
}

// Users returns how many users hold a slot or wait for one.
func (q *Queries) Users() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(q.users)
}

func (q *Queries) join(key uint32) chan struct{} {
	q.mu.Lock()
	defer q.mu.Unlock()
	own := q.users[key]
	if own == nil {
		own = &userQuery{taken: make(chan struct{}, 1)}
		q.users[key] = own
	}
	own.queries++
	return own.taken
}

func (q *Queries) leave(key uint32) chan struct{} {
	q.mu.Lock()
	defer q.mu.Unlock()
	own := q.users[key]
	if own.queries--; own.queries == 0 {
		delete(q.users, key)
	}
	return own.taken
}
