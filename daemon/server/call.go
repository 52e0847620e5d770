package server

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/cronring/cronring/crontab"
	"github.com/cronring/cronring/daemon/api"
	"github.com/cronring/cronring/daemon/engine"
)

// call is one request: the caller, and the view that the whole answer is
// based on.
type call struct {
	peer  peer
	view  *engine.View
	now   time.Time
	query url.Values
	r     *http.Request
	w     http.ResponseWriter

	cost  cost
	limit *expensiveQueries // nil: another member's request
	slot  *slot             // from begin to end; nil for admins
}

func newCall(s *Server, w http.ResponseWriter, r *http.Request) *call {
	return &call{
		peer: peerOf(r.Context()), view: s.backend.View(), now: s.now().UTC(),
		query: r.URL.Query(), r: r, w: w,
	}
}

// begin waits until the request may do expensive work, unless it has begun
// already. The whole request must have been read: otherwise a caller could hold
// the slot by sending the rest slowly.
func (c *call) begin(ctx context.Context) (err error) {
	if c.limit == nil || c.slot != nil {
		return nil
	}
	c.patient()
	c.slot, err = c.limit.take(ctx, c.peer)
	return err
}

// end releases what begin acquired, unless already released. It is also called before a request
// waits for events.
func (c *call) end() {
	c.slot.end()
	c.slot = nil
}

// answer sends a document. Use answerRows for a list without a small limit.
func (c *call) answer(document any) error {
	text, err := json.Marshal(document)
	if err != nil {
		return fmt.Errorf("encode answer: %w", err)
	}
	c.send(http.StatusOK, "application/json", append(text, '\n'))
	return nil
}

// fail sends an error.
func (c *call) fail(err error) {
	e := asError(err)
	text, err := json.Marshal(e)
	if err != nil {
		panic(err) // four strings and a number
	}
	c.send(httpStatus[e.Kind], "application/json", append(text, '\n'))
}

// asError converts an error for the wire. An error that is not an Error is an internal error of the
// daemon.
func asError(err error) *api.Error {
	e := api.Error{Kind: api.Internal, What: "cannot answer", Why: err.Error(), Fix: "cronring status"}
	if known, ok := errors.AsType[*api.Error](err); ok {
		e = *known
	}
	e.V = api.Version
	return &e
}

var httpStatus = map[api.Kind]int{
	api.Internal:    http.StatusInternalServerError,
	api.Usage:       http.StatusBadRequest,
	api.NotFound:    http.StatusNotFound,
	api.NotAllowed:  http.StatusForbidden,
	api.Unreachable: http.StatusServiceUnavailable,
	api.Conflict:    http.StatusConflict,
	api.TimedOut:    http.StatusGatewayTimeout,
}

// send writes an answer. A write error concerns only the caller, who has
// disconnected or does not read.
func (c *call) send(status int, contentType string, text []byte) {
	c.slot.rest()
	http.NewResponseController(c.w).SetWriteDeadline(time.Now().Add(writeTimeout))
	c.w.Header().Set("Content-Type", contentType)
	c.w.WriteHeader(status)
	c.w.Write(text)
}

// patient lets the answer take as long as it takes: the request has been read
// whole, and the time limit on reading would end it.
func (c *call) patient() {
	http.NewResponseController(c.w).SetReadDeadline(time.Time{})
}

// hurry takes patience back: the rest of the request must come within the
// limit on reading.
func (c *call) hurry() {
	http.NewResponseController(c.w).SetReadDeadline(time.Now().Add(readTimeout))
}

// body reads the request's document. Unknown fields are refused: a newer
// program may mean something by them that this daemon would not do.
func body[T any](c *call) (T, error) { return bodyOf[T](c, maxBody) }

// bodyOf is body for a document of at most limit bytes.
func bodyOf[T any](c *call, limit int64) (T, error) {
	var document T
	d := json.NewDecoder(http.MaxBytesReader(c.w, c.r.Body, limit))
	d.DisallowUnknownFields()
	err := d.Decode(&document)
	if err == nil {
		if _, more := d.Token(); !errors.Is(more, io.EOF) {
			err = errors.New("something follows the document")
		}
	}
	if _, large := errors.AsType[*http.MaxBytesError](err); large {
		return document, badRequest("the request's body is too large", fmt.Sprintf("at most %d bytes are accepted", limit))
	}
	if err != nil {
		return document, badRequest("the request's body cannot be read", err.Error())
	}
	if err := checkTexts(document); err != nil {
		return document, err
	}
	c.patient() // acting on many jobs is many steps of the loop
	if c.cost == expensive {
		err = c.begin(c.r.Context())
	}
	return document, err
}

func badRequest(what, why string) *api.Error {
	return &api.Error{Kind: api.Usage, What: what, Why: why, Fix: "cronring help"}
}

// instant reads a time of the query; none is the zero time. One outside the
// years that have occurrences and runs is moved to the nearest that has.
func (c *call) instant(key string) (time.Time, error) {
	text := c.query.Get(key)
	if text == "" {
		return time.Time{}, nil
	}
	t, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return time.Time{}, badRequest(fmt.Sprintf("%s=%q is not a time", key, text), "it must look like 2026-11-20T02:30:00Z")
	}
	return crontab.Range(t.UTC()), nil
}

// period reads two instants of the query.
func (c *call) period(from, to string) (begin, end time.Time, err error) {
	if begin, err = c.instant(from); err == nil {
		end, err = c.instant(to)
	}
	return begin, end, err
}

// number reads a number of the query; none is 0.
func (c *call) number(key string) (int64, error) {
	text := c.query.Get(key)
	if text == "" {
		return 0, nil
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 0 {
		return 0, badRequest(fmt.Sprintf("%s=%q is not a number", key, text), "it must be 0 or more")
	}
	return n, nil
}

// flag reads a yes or no of the query; none is no.
func (c *call) flag(key string) (bool, error) {
	text := c.query.Get(key)
	if text == "" {
		return false, nil
	}
	set, err := strconv.ParseBool(text)
	if err != nil {
		return false, badRequest(fmt.Sprintf("%s=%q is neither true nor false", key, text), "")
	}
	return set, nil
}

// ask hands an event to the loop and waits for the answer, but not for long:
// the loop does nothing slow, so that something is wrong.
func (s *Server) ask(ctx context.Context, e engine.Event) (engine.Answer, error) {
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	a, err := s.backend.Ask(ctx, e)
	if errors.Is(err, context.DeadlineExceeded) {
		return a, &api.Error{
			Kind: api.Internal, What: "the daemon did not take the request",
			Why: "it answered nothing for " + askTimeout.String() + "; whether it will still act on it is not known",
			Fix: "cronring status",
		}
	}
	return a, err
}
