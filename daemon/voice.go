package daemon

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/cronring/cronring/daemon/job"
)

// voice writes what jobs do and print to standard output, a line at a time:
// for people
//
//	2026-11-20T12:00:00Z backup[12] out: 3 files copied
//
// or for machines, one JSON object a line.
type voice struct {
	out   *bufio.Writer
	json  bool
	begun map[stream][]byte // lines that have no end yet

	mu    sync.Mutex
	queue []any // job.Chunk or *job.Record, in order
	size  int   // bytes of output in queue
	lost  int
	wake  chan struct{} // queue is not empty
	room  chan struct{} // queue was emptied
}

type stream struct {
	run job.RunID
	of  job.Stream
}

// Bounds: a line without end is cut; a reader of standard output that does
// not read holds jobs up for patience at most before it loses lines, and
// never holds up the loop.
const (
	maxLine    = 16 << 10
	maxQueued  = 4 << 20
	maxRecords = 100_000
	patience   = time.Second
)

func newVoice(o Options) *voice {
	return &voice{
		out: bufio.NewWriterSize(o.Stdout, 32<<10), json: o.JSON, begun: map[stream][]byte{},
		wake: make(chan struct{}, 1), room: make(chan struct{}, 1),
	}
}

// chunk is called by the goroutine that reads the output of jobs.
func (v *voice) chunk(c job.Chunk) {
	if !v.add(c, len(c.Data), false) {
		select {
		case <-v.room:
		case <-time.After(patience):
		}
		v.add(c, len(c.Data), true)
	}
}

// record is called by the loop.
func (v *voice) record(r *job.Record) { v.add(r, 0, true) }

// add queues an item if there is room; last says that it is lost otherwise.
func (v *voice) add(item any, size int, last bool) bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.size > maxQueued && size > 0 || len(v.queue) >= maxRecords {
		if last {
			v.lost++
		}
		return false
	}
	v.queue = append(v.queue, item)
	v.size += size
	signal(v.wake)
	return true
}

// signal makes c readable without waiting.
func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

func (v *voice) takeAll() (items []any, lost int) {
	v.mu.Lock()
	defer v.mu.Unlock()
	items, lost = v.queue, v.lost
	v.queue, v.size, v.lost = nil, 0, 0
	signal(v.room)
	return items, lost
}

// run writes until ctx ends, and then what is left. That standard output is
// closed or its disk full is no reason to stop jobs.
func (v *voice) run(ctx context.Context) error {
	for {
		select {
		case <-v.wake:
			v.sayAll()
		case <-ctx.Done():
			v.sayAll()
			return nil
		}
	}
}

func (v *voice) sayAll() {
	items, lost := v.takeAll()
	for _, item := range items {
		switch item := item.(type) {
		case job.Chunk:
			v.sayChunk(item)
		case *job.Record:
			v.sayRecord(item)
		}
	}
	if lost > 0 {
		v.line(time.Now(), "cronringd", 0, job.System, fmt.Appendf(nil, "%d items are left out here: standard output is read too slowly", lost))
	}
	v.out.Flush()
}

func (v *voice) sayChunk(c job.Chunk) {
	key := stream{c.Run, c.Stream}
	text := append(v.begun[key], c.Data...)
	for {
		line, rest, whole := bytes.Cut(text, []byte{'\n'})
		if !whole && len(text) < maxLine {
			break
		}
		if len(line) > maxLine {
			line, rest = text[:maxLine], text[maxLine:]
		}
		v.line(c.At, c.Job, c.Run, c.Stream, line)
		text = rest
	}
	if len(text) == 0 {
		delete(v.begun, key)
		return
	}
	v.begun[key] = bytes.Clone(text)
}

func (v *voice) sayRecord(r *job.Record) {
	if r.Kind == job.Ended {
		for _, of := range []job.Stream{job.Stdout, job.Stderr, job.System} {
			key := stream{r.Run.ID, of}
			if text := v.begun[key]; len(text) > 0 {
				v.line(r.At, r.Job, r.Run.ID, of, text)
				delete(v.begun, key)
			}
		}
	}
	if v.json {
		v.encode(r)
		return
	}
	if words := recordWords(r); words != "" {
		var run job.RunID
		if r.Run != nil {
			run = r.Run.ID
		}
		v.line(r.At, r.Job, run, job.System, []byte(words))
	}
}

// recordWords says a record that concerns a job in a few words.
func recordWords(r *job.Record) string {
	switch {
	case r.Decision == job.DecideSkip && r.Count > 1:
		return fmt.Sprintf("skipped %d times up to %s: %s", r.Count, r.Due.Format(time.RFC3339), r.Reason.With(r.Detail))
	case r.Decision == job.DecideSkip:
		return "skipped: " + r.Reason.With(r.Detail)
	case r.Decision == job.DecideHold, r.Kind == job.Queued, r.Kind == job.Dropped:
		return string(r.Kind) + ": " + r.Reason.With(r.Detail)
	case r.Decision == job.DecideRun, r.Kind == job.Ready: // said before it prints anything
		return starting(r.Run)
	case r.Kind == job.Ended && r.Run.Started.IsZero():
		return r.Run.Outcome.String()
	case r.Kind == job.Ended:
		return fmt.Sprintf("%s in %s", r.Run.Outcome, r.Run.Ended.Sub(r.Run.Started).Round(time.Millisecond))
	case r.Kind == job.Paused, r.Kind == job.Resumed:
		return string(r.Kind)
	}
	return ""
}

func starting(r *job.Run) string {
	if r.Trigger == job.TriggerClock {
		return "starting"
	}
	return "starting (" + string(r.Trigger) + ")"
}

// jsonLine is a line of output for machines.
type jsonLine struct {
	At     time.Time  `json:"at"`
	Job    job.ID     `json:"job"`
	Run    job.RunID  `json:"run,omitempty"`
	Stream job.Stream `json:"stream"`
	Line   string     `json:"line"`
}

func (v *voice) line(at time.Time, id job.ID, run job.RunID, of job.Stream, text []byte) {
	text = bytes.TrimSuffix(text, []byte{'\r'})
	if v.json {
		v.encode(jsonLine{at, id, run, of, strings.ToValidUTF8(string(text), "\uFFFD")})
		return
	}
	var number string
	if run != 0 {
		number = "[" + run.String() + "]"
	}
	fmt.Fprintf(v.out, "%s %s%s %s: %s\n", at.UTC().Format(time.RFC3339), id, number, of, printable(text))
}

func (v *voice) encode(document any) {
	text, err := json.Marshal(document)
	if err != nil {
		panic(err) // plain data
	}
	v.out.Write(append(text, '\n'))
}

// printable makes control bytes visible: the output of a job is a stranger's
// text, and this may be a terminal.
func printable(text []byte) string {
	var b strings.Builder
	for _, r := range string(text) {
		switch {
		case r == '\t' || r >= ' ' && r != 0x7f && (r < 0x80 || r > 0x9f):
			b.WriteRune(r)
		default:
			fmt.Fprintf(&b, "\\x%02x", r)
		}
	}
	return b.String()
}
