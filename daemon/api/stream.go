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

// Events gives what happens to the jobs that refs name (none: all that may be
// seen) as it happens, until ctx ends, the daemon stops or the caller breaks
// off. Slow readers get a Gap. An error is the last item.
func (c *Client) Events(ctx context.Context, refs ...string) iter.Seq2[Event, error] {
	return c.stream(ctx, "follow events", "/v1/events?"+url.Values{"job": refs}.Encode())
}

// Output gives what a run wrote, in order: Chunks. With follow, and while the
// run lives, it goes on until the run has ended, and then gives the Record of
// that end. Slow readers get a Gap. An error is the last item.
func (c *Client) Output(ctx context.Context, run string, follow bool) iter.Seq2[Event, error] {
	return c.OutputOf(ctx, OutputQuery{Run: run, Follow: follow})
}

// OutputQuery chooses output of one run.
type OutputQuery struct {
	Run    string
	Follow bool
	Since  time.Time  // what was written before is left out
	Stream job.Stream // "": all
	Lines  int        // of what was written until now only the last so many lines; 0: all
}

// OutputOf is Output of what q chooses.
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
