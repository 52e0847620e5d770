package api

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/cronring/cronring/daemon/job"
)

// Client sends requests to one daemon. It may be used from several goroutines.
type Client struct {
	socket   string // its path, or a name to show instead
	remote   bool   // it is on another host
	readOnly bool   // reject requests that change anything
	http     *http.Client
	patience time.Duration // maximum time for the answer to a query
	longest  int           // limit of an answer in bytes; 0: maxAnswer
}

// Dial names the socket to use. It does not connect: each call does, as Connect
// does, so that a daemon that is restarted in between is found again.
func Dial(socket string) *Client {
	return DialWith(socket, func(ctx context.Context) (net.Conn, error) { return Connect(ctx, socket) })
}

// DialWith is Dial with a function that makes each connection.
func DialWith(socket string, dial func(context.Context) (net.Conn, error)) *Client {
	transport := &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		c, err := dial(ctx)
		if err != nil {
			return nil, err
		}
		return newAskedConn(c), nil
	}}
	return &Client{socket: socket, http: &http.Client{Transport: transport}, patience: answerTime}
}

// Through is Dial for the daemon of another host: dial makes each connection. name identifies the
// daemon in errors.
func Through(name string, dial func(context.Context) (net.Conn, error)) *Client {
	c := DialWith(name, dial)
	c.remote = true
	return c
}

// ReadOnly makes the client reject all further requests that change anything.
func (c *Client) ReadOnly() { c.readOnly = true }

// Close closes idle connections.
func (c *Client) Close() { c.http.CloseIdleConnections() }

// Status returns the state of the daemon and its jobs.
func (c *Client) Status(ctx context.Context) (Status, error) {
	return get[Status](ctx, c, "see the status", "/v1/status", nil)
}

// Health returns the state of the daemon itself, without the jobs.
func (c *Client) Health(ctx context.Context) (Health, error) {
	return get[Health](ctx, c, "see the health", "/v1/health", nil)
}

// List returns the jobs that q selects.
func (c *Client) List(ctx context.Context, q Query) ([]job.Status, error) {
	return getRows[job.Status](ctx, c, "list jobs", "/v1/jobs", q.values())
}

// Show returns all details of the one job that ref names.
func (c *Client) Show(ctx context.Context, ref string) (Job, error) {
	return get[Job](ctx, c, "show a job", "/v1/job", url.Values{"job": {ref}})
}

// Why explains the occurrence of a job at the instant at, or within the
// minute that begins there. A zero time means the newest that waits, or was
// missed or skipped; if there is none, the newest one; or a later manual run.
func (c *Client) Why(ctx context.Context, ref string, at time.Time) (Why, error) {
	v := url.Values{}
	setTime(v, "at", at)
	return c.WhyAt(ctx, ref, v.Get("at"))
}

// WhyAt is Why for an instant, or a local time or date in the entry's zone; "" is a zero time.
func (c *Client) WhyAt(ctx context.Context, ref, at string) (Why, error) {
	v := url.Values{"job": {ref}}
	if at != "" {
		v.Set("at", at)
	}
	return get[Why](ctx, c, "explain a job", "/v1/why", v)
}

// Graph returns the dependencies of the jobs that q selects, and of all jobs connected with them.
// all includes jobs without dependencies.
func (c *Client) Graph(ctx context.Context, q Query, all bool) (Graph, error) {
	v := q.values()
	setFlag(v, "all", all)
	return get[Graph](ctx, c, "see the graph", "/v1/graph", v)
}

// History returns the runs that f selects, newest first.
func (c *Client) History(ctx context.Context, f Filter) (Runs, error) {
	return get[Runs](ctx, c, "read the history", "/v1/runs", f.values())
}

// OneRun returns the run that ref names: a number, job@last, job@-2, job@failed.
func (c *Client) OneRun(ctx context.Context, ref string) (job.Run, error) {
	r, err := get[Run](ctx, c, "read a run", "/v1/run", url.Values{"run": {ref}})
	return r.Run, err
}

// Diagnostics returns the diagnostics of the loaded crontabs.
func (c *Client) Diagnostics(ctx context.Context) ([]Diagnostic, error) {
	d, err := get[Diagnostics](ctx, c, "read diagnostics", "/v1/diagnostics", nil)
	return d.Diagnostics, err
}

// Run starts jobs now. With Wait it returns when they have ended, retries
// included; the runs are then the last attempts.
func (c *Client) Run(ctx context.Context, r RunRequest) ([]job.Run, error) {
	return postParts(ctx, c, "run jobs", "/v1/run", &r, &r.Refs, runsOf)
}

// Stop requests the end of runs, and returns the runs that are being ended.
func (c *Client) Stop(ctx context.Context, r StopRequest) ([]job.Run, error) {
	return postParts(ctx, c, "stop runs", "/v1/stop", &r, &r.Refs, runsOf)
}

// Pause lets jobs skip their occurrences.
func (c *Client) Pause(ctx context.Context, r PauseRequest) ([]job.ID, error) {
	return postParts(ctx, c, "pause jobs", "/v1/pause", &r, &r.Refs, jobsOf)
}

// Resume ends pauses.
func (c *Client) Resume(ctx context.Context, r ResumeRequest) ([]job.ID, error) {
	return postParts(ctx, c, "resume jobs", "/v1/resume", &r, &r.Refs, jobsOf)
}

// Reload makes the daemon read its crontabs again, and returns their diagnostics.
func (c *Client) Reload(ctx context.Context) ([]Diagnostic, error) {
	d, err := post[Diagnostics](ctx, c, "reload", "/v1/reload", struct{}{})
	return d.Diagnostics, err
}

func (q Query) values() url.Values {
	v := url.Values{"job": q.Refs}
	for _, state := range q.States {
		v.Add("state", string(state))
	}
	for _, label := range q.Labels {
		v.Add("label", label)
	}
	setText(v, "user", q.User)
	setText(v, "crontab", q.Crontab)
	return v
}

func (f Filter) values() url.Values {
	v := url.Values{"job": f.Refs}
	setFlag(v, "failed", f.Failed)
	setFlag(v, "live", f.Live)
	setFlag(v, "skipped", f.Skipped)
	setText(v, "trigger", string(f.Trigger))
	setTime(v, "since", f.Since)
	setTime(v, "until", f.Until)
	setNumber(v, "before", int64(f.Before))
	setNumber(v, "limit", int64(f.Limit))
	setText(v, "member", f.Node)
	return v
}

func setText(v url.Values, key, text string) {
	if text != "" {
		v.Set(key, text)
	}
}

func setFlag(v url.Values, key string, set bool) {
	if set {
		v.Set(key, "true")
	}
}

func setTime(v url.Values, key string, t time.Time) {
	if !t.IsZero() {
		v.Set(key, t.Format(time.RFC3339Nano))
	}
}

func setNumber(v url.Values, key string, n int64) {
	if n != 0 {
		v.Set(key, strconv.FormatInt(n, 10))
	}
}

// answerTime is the maximum time that a daemon may take to answer a query. A daemon that the
// service manager repeatedly fails to start would never answer.
const answerTime = 30 * time.Second

func get[T any](ctx context.Context, c *Client, purpose, path string, v url.Values) (T, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, c.patience, errNoAnswer)
	defer cancel()
	return decode[T](c.do(ctx, purpose, http.MethodGet, path+"?"+v.Encode(), nil))
}

// getRows is get for a document whose only list can be long. It decodes each row as
// it arrives, while the daemon encodes the next ones.
func getRows[T any](ctx context.Context, c *Client, purpose, path string, v url.Values) ([]T, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, c.patience, errNoAnswer)
	defer cancel()
	response, err := c.do(ctx, purpose, http.MethodGet, path+"?"+v.Encode(), nil)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	rows := []T{}
	in := json.NewDecoder(response.Body)
	for token := json.Token(""); err == nil && token != nil && token != json.Delim('['); { // nil: null, an empty list
		token, err = in.Token()
	}
	for err == nil && in.More() {
		var row T
		err = in.Decode(&row)
		rows = append(rows, row)
	}
	if err == nil {
		_, err = in.Token() // the end of the list, which an answer that was cut off lacks
	}
	if err != nil {
		return nil, fmt.Errorf("read answer of %s: %w", path, err)
	}
	return rows, nil
}

func post[T any](ctx context.Context, c *Client, purpose, path string, body any) (T, error) {
	var none T
	if c.readOnly {
		return none, &Error{
			V: Version, Kind: Conflict, What: "cannot " + purpose + ": nothing may be changed",
			Why: "this is read-only, as was asked for", Fix: "leave --read-only out",
		}
	}
	text, err := json.Marshal(body)
	if err != nil {
		return none, fmt.Errorf("encode request: %w", err)
	}
	return decode[T](c.do(ctx, purpose, http.MethodPost, path, bytes.NewReader(text)))
}

func decode[T any](response *http.Response, err error) (T, error) {
	var document T
	if err != nil {
		return document, err
	}
	defer response.Body.Close()
	if err := json.NewDecoder(response.Body).Decode(&document); err != nil {
		return document, fmt.Errorf("read answer of %s: %w", response.Request.URL.Path, err)
	}
	return document, nil
}

// do sends one request. Any answer but a success becomes an Error; purpose
// completes its "cannot ...".
func (c *Client) do(ctx context.Context, purpose, method, path string, body io.Reader) (*http.Response, error) {
	request, err := http.NewRequestWithContext(noteReuse(ctx), method, "http://cronring"+path, body)
	if err != nil {
		return nil, fmt.Errorf("make request: %w", err)
	}
	response, err := c.http.Do(request)
	if err != nil {
		return nil, c.explain(ctx, purpose, err)
	}
	if response.StatusCode == http.StatusOK {
		body := &limitedBody{ReadCloser: response.Body, most: cmp.Or(c.longest, maxAnswer)}
		body.renew()
		response.Body = body
		return response, nil
	}
	defer response.Body.Close()
	return nil, refusal(purpose, response)
}

// maxAnswer is the limit of an answer, or of one event of a stream, in bytes. A hostile host could
// otherwise fill the memory. A list of 100,000 jobs of 5 kB each fits.
const maxAnswer = 512 << 20

// limitedBody is the body of an answer that fails when it is too long.
type limitedBody struct {
	io.ReadCloser
	most, left int // in bytes
}

var errTooLong = errors.New("the answer is too long")

func (b *limitedBody) Read(p []byte) (int, error) {
	if b.left <= 0 {
		return 0, errTooLong
	}
	n, err := b.ReadCloser.Read(p[:min(len(p), b.left)])
	b.left -= n
	return n, err
}

// renew allows the whole length again.
func (b *limitedBody) renew() { b.left = b.most }

// beginEvent is called before each event of a stream, because the limit is for one event.
func beginEvent(response *http.Response) { response.Body.(*limitedBody).renew() }

// refusal reads the Error of an answer. Something else than cronringd may
// listen on the socket, so the body can be anything.
func refusal(purpose string, response *http.Response) error {
	var e Error
	err := json.NewDecoder(io.LimitReader(response.Body, 1<<20)).Decode(&e)
	if err != nil || e.What == "" || e.Kind == "" {
		return &Error{V: Version, Kind: Internal, What: "cannot " + purpose, Why: "the answer was " + response.Status}
	}
	if q := response.Request; q != nil {
		e.What = strings.Replace(e.What, "cannot "+q.Method+" "+q.URL.Path+":", "cannot "+purpose+":", 1)
	}
	if e.What == "cannot answer" {
		e.What = "cannot " + purpose
	}
	return &e
}
