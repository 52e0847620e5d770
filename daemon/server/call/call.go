package call

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/cronring/cronring/crontab/timetable"
	"github.com/cronring/cronring/daemon/api"
	"github.com/cronring/cronring/daemon/engine/view"
	"github.com/cronring/cronring/daemon/job"
	"github.com/cronring/cronring/daemon/store/database"
)

// Cost is how a request is limited in its use of memory and processors.
type Cost int

const (
	// Cheap requests do little work once the job is found, or have a limit of
	// their own, such as those on boards, on large crontabs, on changes of
	// crontabs and on emitted events.
	Cheap Cost = iota
	// Expensive requests look at many jobs, at much of the history or at a whole
	// crontab, at least for some arguments, or write to the disk. See Queries.
	Expensive
)

// Limits on what a caller may take.
const (
	ReadTimeout  = 15 * time.Second // the whole request
	WriteTimeout = 30 * time.Second // an answer that is not a stream
	MaxBody      = 256 << 10
)

// Call is one request: the caller, and the view that the whole answer is
// based on.
type Call struct {
	Peer    Peer
	View    *view.View
	Now     time.Time
	Query   url.Values
	Request *http.Request
	Writer  http.ResponseWriter

	record func([]job.Action) // stores actions; nil: the request does nothing
	acts   []job.Action       // that are not stored yet

	need  Role // for jobs of others, to find them
	cost  Cost
	limit *Queries // nil: another member's request
	slot  *slot    // from begin to end; nil for admins
}

// New returns the call of a request, whose context must be one of WithPeer.
func New(view *view.View, now time.Time, w http.ResponseWriter, r *http.Request) *Call {
	c := Of(peerOf(r.Context()), view, now)
	c.Query, c.Request, c.Writer = r.URL.Query(), r, w
	return c
}

// Of returns a call of a peer without a request.
func Of(p Peer, view *view.View, now time.Time) *Call {
	return &Call{Peer: p, View: view, Now: now.UTC(), need: View}
}

// Bound makes the call obey the limits on requests of its cost. It waits until the request may do
// expensive work; one with a body waits when the body has been read.
func (c *Call) Bound(ctx context.Context, cost Cost, limit *Queries) error {
	c.cost, c.limit = cost, limit
	if c.Request.Method == http.MethodGet && cost == Expensive {
		return c.Begin(ctx)
	}
	return nil
}

// Begin waits until the request may do expensive work, unless it has begun
// already. The whole request must have been read: otherwise a caller could hold
// the slot by sending the rest slowly.
func (c *Call) Begin(ctx context.Context) (err error) {
	if c.limit == nil || c.slot != nil {
		return nil
	}
	c.Patient()
	c.slot, err = c.limit.take(ctx, c.Peer)
	return err
}

// End releases what begin acquired, unless already released, and stores the actions of the call. It
// is also called before a request waits for events.
func (c *Call) End() {
	c.store()
	c.slot.end()
	c.slot = nil
}

// Audited makes the call store its actions with f.
func (c *Call) Audited(f func([]job.Action)) { c.record = f }

// Did notes something that the caller did, with its subject and what it changed. It is stored before
// the answer is sent.
func (c *Call) Did(a job.Action) {
	uid := c.Peer.UID
	a.At, a.Who, a.UID, a.From, a.Share = c.Now, c.Peer.String(), &uid, "socket", c.Peer.Share()
	if pid := PIDOf(c.Request.Context()); pid != 0 {
		a.From += ", process " + strconv.Itoa(pid)
	}
	c.acts = append(c.acts, a)
}

func (c *Call) store() {
	if len(c.acts) > 0 && c.record != nil {
		c.slot.release() // the disk may be slow
		c.record(c.acts)
	}
	c.acts = nil
}

// ReleaseQuery lets other users compute while the caller reads, or the disk writes.
func (c *Call) ReleaseQuery() { c.slot.release() }

// Await calls a function that waits for something, such as the loop. Until it returns, other users
// compute, and only the caller's own expensive requests wait. If the request does not compute, because
// of ReleaseQuery or of another Await, it does not compute afterwards either.
func (c *Call) Await(ctx context.Context, wait func() error) error {
	if c.slot == nil || !c.slot.computing { // it is not limited, or does not compute now
		return wait()
	}
	c.slot.release()
	if err := wait(); err != nil {
		return err
	}
	return c.slot.compute(ctx)
}

// Answer sends a document. Use AnswerRows for a list without a small limit.
func (c *Call) Answer(document any) error {
	text, err := json.Marshal(document)
	if err != nil {
		return fmt.Errorf("encode answer: %w", err)
	}
	c.Send(http.StatusOK, "application/json", append(text, '\n'))
	return nil
}

// Fail sends an error.
func (c *Call) Fail(err error) {
	e := AsError(err)
	text, err := json.Marshal(e)
	if err != nil {
		panic(err) // four strings and a number
	}
	c.Send(HTTPStatus[e.Kind], "application/json", append(text, '\n'))
}

// AsError converts an error for the wire. An error that is not an Error is an internal error of the
// daemon.
func AsError(err error) *api.Error {
	e := api.Error{Kind: api.Internal, What: "cannot answer", Why: err.Error(), Fix: "cronring status"}
	if _, named := errors.AsType[syscall.Errno](err); !named { // an error of another file names it
		e.Why, _ = database.Explain(err, "") // the status has what to do
	}
	if known, ok := errors.AsType[*api.Error](err); ok {
		e = *known
	}
	e.V = api.Version
	return &e
}

var HTTPStatus = map[api.Kind]int{
	api.Internal:    http.StatusInternalServerError,
	api.Usage:       http.StatusBadRequest,
	api.NotFound:    http.StatusNotFound,
	api.NotAllowed:  http.StatusForbidden,
	api.Unreachable: http.StatusServiceUnavailable,
	api.Conflict:    http.StatusConflict,
	api.TimedOut:    http.StatusGatewayTimeout,
}

// Send writes an answer. A write error concerns only the caller, who has
// disconnected or does not read.
func (c *Call) Send(status int, contentType string, text []byte) {
	c.store()
	c.slot.release()
	http.NewResponseController(c.Writer).SetWriteDeadline(time.Now().Add(WriteTimeout))
	c.Writer.Header().Set("Content-Type", contentType)
	c.Writer.WriteHeader(status)
	c.Writer.Write(text)
}

// Patient lets the answer take as long as it takes: the request has been read
// whole, and the time limit on reading would end it.
func (c *Call) Patient() {
	http.NewResponseController(c.Writer).SetReadDeadline(time.Time{})
}

// Hurry takes patience back: the rest of the request must come within the
// limit on reading.
func (c *Call) Hurry() {
	http.NewResponseController(c.Writer).SetReadDeadline(time.Now().Add(ReadTimeout))
}

// Body reads the request's document. Unknown fields are refused: a newer
// program may mean something by them that this daemon would not do.
func Body[T any](c *Call) (T, error) { return BodyOf[T](c, MaxBody) }

// BodyOf is body for a document of at most limit bytes.
func BodyOf[T any](c *Call, limit int64) (T, error) {
	var document T
	body := http.MaxBytesReader(c.Writer, c.Request.Body, limit)
	d := json.NewDecoder(body)
	d.DisallowUnknownFields()
	err := d.Decode(&document)
	if err == nil {
		if _, more := d.Token(); !errors.Is(more, io.EOF) {
			err = errors.New("something follows the document")
		}
	}
	if _, large := errors.AsType[*http.MaxBytesError](err); large {
		return document, BadRequest("the request's body is too large", fmt.Sprintf("at most %d bytes are accepted", limit))
	}
	if err != nil {
		_, _ = io.Copy(io.Discard, body) // a client reads the answer after it has sent all
		return document, BadRequest("the request's body cannot be read", bodyFault(err))
	}
	if err := checkTexts(document); err != nil {
		return document, err
	}
	c.Patient() // acting on many jobs is many steps of the loop
	if c.cost == Expensive {
		err = c.Begin(c.Request.Context())
	}
	return document, err
}

// bodyFault returns why the body of a request is not its document.
func bodyFault(err error) string {
	syntax, isSyntax := errors.AsType[*json.SyntaxError](err)
	wrong, isOther := errors.AsType[*json.UnmarshalTypeError](err)
	switch {
	case isOther:
		return cmp.Or(wrong.Field, "the document") + " cannot be a JSON " + wrong.Value
	case errors.Is(err, io.EOF):
		return "it is empty"
	case errors.Is(err, io.ErrUnexpectedEOF):
		return "it ends within the document"
	case isSyntax:
		return fmt.Sprintf("it is not JSON, or too deeply nested, at byte %d", syntax.Offset)
	}
	return strings.TrimPrefix(err.Error(), "json: ")
}

func BadRequest(what, why string) *api.Error {
	return &api.Error{Kind: api.Usage, What: what, Why: why}
}

// Instant reads a time of the query; none is the zero time. One outside the
// years that have occurrences and runs is moved to the nearest that has.
func (c *Call) Instant(key string) (time.Time, error) {
	text := c.Query.Get(key)
	if text == "" {
		return time.Time{}, nil
	}
	t, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return time.Time{}, BadRequest(fmt.Sprintf("%s=%q is not a time", key, text), "it must look like 2026-11-20T02:30:00Z")
	}
	return timetable.Range(t.UTC()), nil
}

// Period reads two instants of the query.
func (c *Call) Period(from, to string) (begin, end time.Time, err error) {
	if begin, err = c.Instant(from); err == nil {
		end, err = c.Instant(to)
	}
	return begin, end, err
}

// Number reads a number of the query; none is 0.
func (c *Call) Number(key string) (int64, error) {
	text := c.Query.Get(key)
	if text == "" {
		return 0, nil
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 0 {
		return 0, BadRequest(fmt.Sprintf("%s=%q is not a number", key, text), "it must be 0 or more")
	}
	return n, nil
}

// Limit reads how many rows are requested: the usual number without a request, and never more than most.
func (c *Call) Limit(usual, most int64) (int, error) {
	n, err := c.Number("limit")
	return int(min(cmp.Or(n, usual), most)), err
}

// Flag reads a yes or no of the query; none is no.
func (c *Call) Flag(key string) (bool, error) {
	text := c.Query.Get(key)
	if text == "" {
		return false, nil
	}
	set, err := strconv.ParseBool(text)
	if err != nil {
		return false, BadRequest(fmt.Sprintf("%s=%q is neither true nor false", key, text), "")
	}
	return set, nil
}

// NotAllowed rejects a request that is for admins only.
func (c *Call) NotAllowed() *api.Error {
	return &api.Error{
		Kind: api.NotAllowed,
		What: "cannot " + c.Request.Method + " " + c.Request.URL.Path + ": it needs the role admin, which root and the daemon's own user have",
		Why:  "you are " + c.Peer.String() + " with " + c.Peer.Words(),
		Fix:  "ask as root: sudo cronring ...",
	}
}
