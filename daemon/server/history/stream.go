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
