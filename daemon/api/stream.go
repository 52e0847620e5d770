package api

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"iter"
	"net/http"
	"net/url"
	"time"

	"github.com/cronring/cronring/daemon/job"
)

// Events returns the events of the jobs that refs name (none: all visible jobs) as they happen,
// until ctx ends, the daemon stops or the caller breaks off. Slow readers get a Gap. An error is
// the last item.
func (c *Client) Events(ctx context.Context, refs ...string) iter.Seq2[Event, error] {
	return c.stream(ctx, "follow events", "/v1/events?"+url.Values{"job": refs}.Encode())
}

// Output returns the output of a run, in order, as Chunks. With follow, it continues until a live
// run has ended, and then returns the Record of that end. Slow readers get a Gap. An error is the
// last item.
func (c *Client) Output(ctx context.Context, run string, follow bool) iter.Seq2[Event, error] {
	return c.OutputOf(ctx, OutputQuery{Run: run, Follow: follow})
}

// OutputQuery selects output of one run.
type OutputQuery struct {
	Run    string
	Follow bool
	Since  time.Time  // omit what was written before
	Stream job.Stream // "": all
	Lines  int        // only the last lines of what was written until now; 0: all
}

// OutputOf returns the output that q selects, like Output.
func (c *Client) OutputOf(ctx context.Context, q OutputQuery) iter.Seq2[Event, error] {
	v := url.Values{"run": {q.Run}}
	setFlag(v, "follow", q.Follow)
	setTime(v, "since", q.Since)
	setText(v, "stream", string(q.Stream))
	setNumber(v, "lines", int64(q.Lines))
	return c.stream(ctx, "read output", "/v1/output?"+v.Encode())
}

func (c *Client) stream(ctx context.Context, purpose, path string) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		response, err := c.do(ctx, purpose, http.MethodGet, path, nil)
		if err != nil {
			yield(Event{}, err)
			return
		}
		defer response.Body.Close()
		lines := json.NewDecoder(response.Body)
		for {
			beginEvent(response)
			e, err := next(lines)
			if errors.Is(err, io.EOF) {
				return
			}
			if err != nil {
				yield(Event{}, c.explain(ctx, purpose, err))
				return
			}
			if !yield(e, nil) {
				return
			}
		}
	}
}

func next(lines *json.Decoder) (Event, error) {
	var e Event
	if err := lines.Decode(&e); err != nil {
		return Event{}, err
	}
	if e.Error != nil {
		return Event{}, e.Error
	}
	return e, nil
}
