package history

import (
	"bytes"
	"math"
	"slices"
	"time"

	"github.com/cronring/cronring/daemon/display"
	"github.com/cronring/cronring/daemon/job"
	"github.com/cronring/cronring/daemon/server/call"
)

// excerpt is the part of a run's output that is asked for.
type excerpt struct {
	since  time.Time
	stream job.Stream // "": all
	lines  int        // the last lines; 0: all
}

func readExcerpt(c *call.Call) (q excerpt, err error) {
	if q.since, err = c.Instant("since"); err != nil {
		return q, err
	}
	lines, err := c.Number("lines")
	q.lines = int(min(lines, math.MaxInt32))
	switch q.stream = job.Stream(c.Query.Get("stream")); q.stream {
	case "", job.Stdout, job.Stderr, job.System:
	default:
		return q, call.BadRequest("unknown stream "+display.Quote(string(q.stream)), "use out, err or sys")
	}
	return q, err
}

func (q excerpt) wants(s job.Stream) bool { return q.stream == "" || q.stream == s }

// of returns the part of the existing output. The chunks belong to the caller, their data may be
// shared.
func (q excerpt) of(chunks []job.Chunk) []job.Chunk {
	kept := make([]job.Chunk, 0, len(chunks))
	for _, c := range chunks {
		if q.wants(c.Stream) && !c.At.Before(q.since) {
			kept = append(kept, c)
		}
	}
	if q.lines == 0 {
		return kept
	}
	return lastLines(kept, q.lines)
}

// lastLines returns the last lines of several streams, in the order they were written. An
// incomplete line counts too.
func lastLines(chunks []job.Chunk, left int) []job.Chunk {
	var kept []job.Chunk
	open := map[job.Stream]bool{} // its line that is being taken began before
	for i := len(chunks) - 1; i >= 0 && (left > 0 || len(open) > 0); i-- {
		c := chunks[i]
		at := len(c.Data)
		if at > 0 && c.Data[at-1] == '\n' {
			delete(open, c.Stream)
		}
		for at > 0 && (open[c.Stream] || left > 0) {
			if !open[c.Stream] {
				open[c.Stream] = true
				left--
			}
			if at = bytes.LastIndexByte(c.Data[:at-1], '\n') + 1; at > 0 {
				delete(open, c.Stream)
			}
		}
		if at == len(c.Data) && at > 0 {
			continue
		}
		if c.Data = c.Data[at:]; at > 0 {
			c.Cut = 0
		}
		kept = append(kept, c)
	}
	slices.Reverse(kept)
	return kept
}
