package history

import (
	"encoding/json"
	"errors"
	"net/http"
	"time"

	"github.com/cronring/cronring/daemon/api"
	"github.com/cronring/cronring/daemon/server/call"
)

// stream writes NDJSON. A reader may be as slow as it likes: then the
// backend's bounded channel fills up, and a Gap takes the place of the rest.
type stream struct {
	w       *json.Encoder
	control *http.ResponseController
}

// mostStreams is the maximum number of streams without an end of all users who are not admins. A user
// can have as many as are left.
const mostStreams = 64

// join counts a stream without an end, until leave is called.
func (s *Reader) join(c *call.Call) (leave func(), err error) {
	if c.Peer.Admin {
		return func() {}, nil
	}
	if !s.streams.Take(c.Peer.Share(), 1) {
		return nil, &api.Error{
			Kind: api.Conflict, What: "cannot follow another stream of events or output",
			Why: "this user, or all users together, have reached the maximum", Fix: "close some, such as cronring report events and logs -f",
		}
	}
	return func() { s.streams.Return(c.Peer.Share(), 1) }, nil
}

// newStream begins an answer without an end. After its header the caller misses no event.
func newStream(c *call.Call) *stream {
	c.Patient()
	c.Writer.Header().Set("Content-Type", "application/x-ndjson")
	c.Writer.WriteHeader(http.StatusOK)
	st := &stream{json.NewEncoder(c.Writer), http.NewResponseController(c.Writer)}
	st.control.SetWriteDeadline(time.Time{})
	st.control.Flush()
	return st
}

// send writes an item at once. An error means that the reader is gone.
func (st *stream) send(e api.Event) error {
	return errors.Join(st.w.Encode(e), st.control.Flush())
}

// relay sends the events that choose selects, until events end, the reader has left or choose
// returns done.
func (st *stream) relay(events <-chan api.Event, choose func(api.Event) (send, done bool)) {
	for e := range events {
		send, done := choose(e)
		if send && st.send(e) != nil || done {
			return
		}
	}
}
