package api

import (
	"io"
	"net/http"
	"time"
)

// Trace describes one request: once when its answer begins, once when the answer is complete.
type Trace struct {
	Method string
	Path   string // with its query
	Status int    // of HTTP; 0: no answer came, see Err
	Err    error
	Took   time.Duration // since the request was begun
	Ended  bool          // the answer is over
	Bytes  int64         // of the answer, when it is
}

// Trace calls tell for each further request, possibly from several goroutines.
func (c *Client) Trace(tell func(Trace)) {
	c.http.Transport = &tracer{c.http.Transport, tell}
}

type tracer struct {
	to     http.RoundTripper
	report func(Trace)
}

// CloseIdleConnections makes Client.Close reach the wrapped transport.
func (t *tracer) CloseIdleConnections() {
	if idle, ok := t.to.(interface{ CloseIdleConnections() }); ok {
		idle.CloseIdleConnections()
	}
}

func (t *tracer) RoundTrip(r *http.Request) (*http.Response, error) {
	begun := time.Now()
	response, err := t.to.RoundTrip(r)
	told := Trace{Method: r.Method, Path: r.URL.RequestURI(), Err: err, Took: time.Since(begun)}
	if err != nil {
		t.report(told)
		return nil, err
	}
	told.Status = response.StatusCode
	t.report(told)
	response.Body = &tracedBody{ReadCloser: response.Body, trace: told, begun: begun, report: t.report}
	return response, nil
}

// tracedBody reports the end of an answer when it is closed.
type tracedBody struct {
	io.ReadCloser
	trace  Trace
	begun  time.Time
	report func(Trace)
}

func (b *tracedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	b.trace.Bytes += int64(n)
	return n, err
}

func (b *tracedBody) Close() error {
	if !b.trace.Ended {
		b.trace.Ended, b.trace.Took = true, time.Since(b.begun)
		b.report(b.trace)
	}
	return b.ReadCloser.Close()
}
