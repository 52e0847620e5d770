package daemon

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/cronring/cronring/crontab"
	"github.com/cronring/cronring/daemon/job"
	"github.com/cronring/cronring/daemon/journal"
)

// voice passes what jobs do and print, and what the daemon says of itself, to
// a sink of package journal: lines of output whole, and all in order.
type voice struct {
	sink  journal.Sink
	begun map[stream][]byte // lines that have no end yet
	early early             // output that came before word of its run's start
	steps steps             // of the clock
	slow  string            // what keeps us waiting

	mu    sync.Mutex
	queue []any // job.Chunk, *job.Record, *journal.CronLine or *journal.Entry, in order
	size  int   // bytes of output in queue
	lost  int
	runs  map[job.RunID]*journal.Run // what is known of runs that live
	over  []job.RunID                // runs whose end there was no room for
	wake  chan struct{}              // queue is not empty
	room  chan struct{}              // queue was emptied
}

type stream struct {
	run job.RunID
	of  job.Stream
}

// early is output of runs that were begun and are not known to have started:
// the loop may hear of a start some milliseconds after the first line was
// read. A log that has the line before the command would surprise its readers.
type early struct {
	of   map[job.RunID][]job.Chunk
	size int
}

// Bounds: a line without end is cut; a reader of standard output that does
// not read holds jobs up for patience at most before it loses lines, and
// never holds up the loop.
const (
	maxLine    = 16 << 10
	maxQueued  = 4 << 20
	maxEarly   = 1 << 20
	maxRecords = 100_000
	patience   = time.Second
)

// newVoice makes a voice that speaks to a sink.
func newVoice(sink journal.Sink) *voice {
	return &voice{
		sink: sink, begun: map[stream][]byte{}, early: early{of: map[job.RunID][]job.Chunk{}},
		runs: map[job.RunID]*journal.Run{}, slow: "the log takes them too slowly",
		wake: make(chan struct{}, 1), room: make(chan struct{}, 1),
	}
}

// begin tells what a run is, before it starts; it is forgotten when the run
// ends. It is called by the loop.
func (v *voice) begin(run *job.Run, j *job.Job, entry *crontab.Entry) {
	r := journal.NewRun(run, j, entry.Quiet())
	log := entry.Options().Log
	r.Unheard = log.Off || log.File != ""
	v.know(r)
}

// beginAnacron is begin for an entry of the anacrontab, which has the name of
// its stamp in the log.
func (v *voice) beginAnacron(run *job.Run, j *job.Job, stamp string) {
	r := journal.NewRun(run, j, false)
	r.Anacron = stamp
	v.know(r)
}

func (v *voice) know(r *journal.Run) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.runs[r.ID] = r
}

func (v *voice) about(id job.RunID) *journal.Run {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.runs[id]
}

// chunk is called by the goroutine that reads the output of jobs, which may
// wait, and, with a word of the daemon's own, by the one that starts all jobs,
// which may not: a job that floods the log must hold up no other's start.
func (v *voice) chunk(c job.Chunk) {
	if c.Stream == job.System {
		v.add(c, 0, true)
		return
	}
	if !v.add(c, len(c.Data), false) {
		select {
		case <-v.room:
		case <-time.After(patience):
		}
		v.add(c, len(c.Data), true)
	}
}

// record is called by the loop.
func (v *voice) record(r *job.Record) {
	if !v.add(r, 0, true) && r.Kind == job.Ended {
		v.mu.Lock()
		v.over = append(v.over, r.Run.ID)
		v.mu.Unlock()
	}
}

// cron says lines of cron's own log, in their place among the records. One
// without words is none.
func (v *voice) cron(lines ...journal.CronLine) {
	for i := range lines {
		if lines[i].Word+lines[i].Text != "" {
			v.add(&lines[i], 0, true)
		}
	}
}

// log says what the daemon logs. It can be called from any goroutine.
func (v *voice) log(e *journal.Entry) { v.add(e, 0, true) }

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

// takeAll empties the queue. over is the runs whose end is not in it.
func (v *voice) takeAll() (items []any, lost int, over []job.RunID) {
	v.mu.Lock()
	defer v.mu.Unlock()
	items, lost, over = v.queue, v.lost, v.over
	v.queue, v.size, v.lost, v.over = nil, 0, 0, nil
	signal(v.room)
	return items, lost, over
}

// run writes until ctx ends, and then what is left. That standard output is
// closed or its disk full is no reason to stop jobs.
func (v *voice) run(ctx context.Context) error {
	for {
		select {
		case <-v.wake:
			v.sayAll()
		case <-v.steps.rest:
			v.sayUnsaid()
		case <-ctx.Done():
			v.close()
			return nil
		}
	}
}

// close says what is left. It is for the goroutine that runs, or when none
// does; what is said later needs another close.
func (v *voice) close() {
	v.sayAll()
	v.sayUnsaid()
	v.sink.Close()
}

func (v *voice) sayAll() {
	items, lost, over := v.takeAll()
	for _, item := range items {
		switch item := item.(type) {
		case job.Chunk:
			if !v.wait(item) {
				v.sayChunk(item)
			}
		case *job.Record:
			v.sayRecord(item)
		case *journal.CronLine:
			v.sink.Cron(item)
		case *journal.Entry:
			v.sink.Log(item)
		}
	}
	for _, id := range over {
		v.sayEarly(id)
		v.forget(id)
	}
	if lost > 0 {
		v.sink.Log(&journal.Entry{At: time.Now(), Level: slog.LevelWarn, Message: fmt.Sprintf("%d items are left out here: %s", lost, v.slow)})
	}
	v.sink.Flush()
}

// wait lays output aside until its run is known to have started.
func (v *voice) wait(c job.Chunk) bool {
	about := v.about(c.Run)
	if about == nil || about.PID != 0 {
		return false
	}
	before := v.early.of[c.Run]
	long := len(before) > 0 && c.At.Sub(before[0].At) > patience // word of the start is lost
	if long || v.early.size+len(c.Data) > maxEarly {
		v.sayEarly(c.Run)
		return false
	}
	v.early.of[c.Run] = append(before, c)
	v.early.size += len(c.Data)
	return true
}

// sayEarly says what was laid aside for a run.
func (v *voice) sayEarly(id job.RunID) {
	chunks := v.early.of[id]
	delete(v.early.of, id)
	for _, c := range chunks {
		v.early.size -= len(c.Data)
		v.sayChunk(c)
	}
}

func (v *voice) sayChunk(c job.Chunk) {
	key := stream{c.Run, c.Stream}
	line := journal.Line{At: c.At, Job: c.Job, Run: c.Run, Stream: c.Stream, About: v.about(c.Run)}
	if line.About != nil && c.Stream != job.System {
		line.About.Printed = true
		if line.About.Unheard {
			return
		}
	}
	text := append(v.begun[key], c.Data...)
	for {
		first, rest, whole := bytes.Cut(text, []byte{'\n'})
		if !whole && len(text) < maxLine {
			break
		}
		if len(first) > maxLine {
			first, rest = text[:maxLine], text[maxLine:]
		}
		v.sayLine(line, first)
		text = rest
	}
	if len(text) == 0 {
		delete(v.begun, key)
		return
	}
	v.begun[key] = bytes.Clone(text)
}

func (v *voice) sayLine(line journal.Line, text []byte) {
	line.Text = bytes.TrimSuffix(text, []byte{'\r'})
	v.sink.Line(&line)
}

func (v *voice) sayRecord(r *job.Record) {
	said := journal.Record{Record: r, Words: recordWords(r)}
	if r.Kind == job.Stepped && !v.steps.take(r) {
		said.Words = ""
	}
	if r.Run != nil {
		said.About = v.about(r.Run.ID)
	}
	switch {
	case r.Kind == job.Started && said.About != nil:
		said.About.PID = r.Run.PID
	case r.Kind == job.Ended:
		v.sayEarly(r.Run.ID)
		v.sayRest(r, said.About)
	}
	v.sink.Record(&said)
	switch r.Kind {
	case job.Started:
		v.sayEarly(r.Run.ID)
	case job.Ended:
		v.forget(r.Run.ID)
	}
}

// sayRest says the lines that will have no end any more.
func (v *voice) sayRest(r *job.Record, about *journal.Run) {
	for _, of := range []job.Stream{job.Stdout, job.Stderr, job.System} {
		if text := v.begun[stream{r.Run.ID, of}]; len(text) > 0 {
			v.sayLine(journal.Line{At: r.At, Job: r.Job, Run: r.Run.ID, Stream: of, About: about}, text)
		}
	}
}

// forget lets go of all that is kept of a run.
func (v *voice) forget(id job.RunID) {
	for _, of := range []job.Stream{job.Stdout, job.Stderr, job.System} {
		delete(v.begun, stream{id, of})
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	delete(v.runs, id)
}

// recordWords says a record that concerns a job, or the clock, in a few words.
func recordWords(r *job.Record) string {
	switch {
	case r.Decision == job.DecideSkip && r.Count > 1:
		return fmt.Sprintf("skipped %d times up to %s: %s", r.Count, r.Due.Format(time.RFC3339), r.Reason.With(r.Detail))
	case r.Decision == job.DecideSkip:
		return "skipped: " + r.Reason.With(r.Detail)
	case r.Decision == job.DecideHold, r.Kind == job.Queued, r.Kind == job.Dropped, r.Kind == job.Stopping:
		return string(r.Kind) + ": " + r.Reason.With(r.Detail)
	case r.Decision == job.DecideRun, r.Kind == job.Ready: // said before it prints anything
		return starting(r.Run)
	case r.Kind == job.Ended && r.Run.Started.IsZero():
		return r.Run.Ending()
	case r.Kind == job.Ended:
		return fmt.Sprintf("%s in %s", r.Run.Ending(), r.Run.Ended.Sub(r.Run.Started).Round(time.Millisecond))
	case r.Kind == job.Redrove:
		return "it was run again " + r.Detail
	case r.Kind == job.Buried:
		return "the dead letter was dropped " + r.Detail
	case r.Kind == job.Doubled:
		return r.Detail
	case r.Kind == job.Paused, r.Kind == job.Resumed:
		return string(r.Kind)
	case r.Kind == job.Stepped:
		return stepWords(r)
	case r.Kind == job.Acked:
		return "failure acknowledged"
	case r.Kind == job.Unacked:
		return "failure no longer acknowledged"
	case r.Kind == job.Filled && r.Backfill.State != job.BackfillGoing:
		return fmt.Sprintf("backfill %d %s: %d started, %d left out, %d failed",
			r.Backfill.ID, r.Backfill.State, r.Backfill.Started, r.Backfill.Skipped, r.Backfill.Failed)
	case r.Kind == job.Filled && r.Detail != "":
		return fmt.Sprintf("backfill %d begun %s", r.Backfill.ID, r.Detail)
	}
	return ""
}

func starting(r *job.Run) string {
	if r.Trigger == job.TriggerClock {
		return "starting"
	}
	return "starting (" + string(r.Trigger) + ")"
}
