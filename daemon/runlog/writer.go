// Package runlog owns what the daemon writes into the log: the output of jobs as complete lines,
// records about jobs in words, and the daemon's own messages, each within the limits of its user.
package runlog

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/cronring/cronring/crontab"
	"github.com/cronring/cronring/daemon/budget"
	"github.com/cronring/cronring/daemon/job"
	"github.com/cronring/cronring/daemon/journal"
)

// Writer passes events and output of jobs, and the daemon's own messages, to a sink of package
// journal: output as complete lines, and everything in order.
type Writer struct {
	sink   journal.Sink
	begun  map[stream][]byte    // incomplete lines
	early  early                // output that came before the start of its run
	steps  steps                // of the clock
	starts *journal.StartWriter // nil: starts are logged with their records
	slow   string               // what keeps us waiting

	mu    sync.Mutex
	limit *outputLimit   // nil: standard output is logged to, which users do not share
	queue []any          // job.Chunk, *job.Record, *journal.CronLine or *journal.Entry, in order
	items *budget.Budget // how many items each user can have in queue
	bytes *budget.Budget // how many bytes of output
	lost  int
	runs  map[job.RunID]*journal.Run // properties of live runs
	wrote map[job.RunID]bool         // of them, those whose start is in the log before its record is
	over  []job.RunID                // runs whose end did not fit
	wake  chan struct{}              // queue is not empty
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

// Limits: a line without end is cut. What waits for a log that takes it slowly is
// limited for each user; the daemon's own entries count as root's. A user whose
// share is used up has his jobs wait when they print (see ready), or loses
// entries, and never holds up the loop or other users.
const (
	maxLine    = 16 << 10
	maxPiece   = 64<<10 + 128 // of output, as it is read
	maxQueued  = 4 << 20      // of all users, and as much of root
	maxEarly   = 1 << 20
	maxRecords = 100_000 // likewise
	patience   = time.Second
)

// Open opens a sink with a Writer, and a log with the same destination. If that is standard output,
// the log uses standard error instead.
func Open(o journal.Options) (*Writer, *slog.Logger, error) {
	sink, mode, err := journal.Open(o)
	if err != nil {
		return nil, nil, err
	}
	v := New(sink, mode != journal.ModeText && mode != journal.ModeJSON)
	switch mode {
	case journal.ModeJournal:
		v.starts = journal.NewStartWriter(o)
	case journal.ModeText:
		v.slow = "standard output is read too slowly"
		return v, slog.New(slog.NewTextHandler(o.Stderr, nil)), nil
	case journal.ModeJSON:
		v.slow = "standard output is read too slowly"
		return v, slog.New(slog.NewJSONHandler(o.Stderr, nil)), nil
	}
	return v, slog.New(journal.NewHandler(v.Log, nil)), nil
}

// New returns a Writer for a sink. If users share its log, output in it is limited.
func New(sink journal.Sink, shared bool) *Writer {
	v := &Writer{
		sink: sink, begun: map[stream][]byte{}, early: early{of: map[job.RunID][]job.Chunk{}},
		runs: map[job.RunID]*journal.Run{}, wrote: map[job.RunID]bool{}, slow: "the log takes them too slowly",
		wake: make(chan struct{}, 1),
	}
	if shared {
		v.limit = newOutputLimit()
	}
	v.empty()
	return v
}

// Trouble returns how many entries were lost, and why, if the log cannot be written.
func (v *Writer) Trouble() (lost int64, err error) { return v.sink.Trouble() }

// empty begins a new queue.
func (v *Writer) empty() {
	v.queue, v.lost, v.over = nil, 0, nil
	v.items, v.bytes = budget.New(maxRecords, maxRecords), budget.New(maxQueued, maxQueued)
}

// Begin stores the properties of a run before it starts; they are dropped when the run ends. It is
// called by the loop.
func (v *Writer) Begin(run *job.Run, j *job.Job, entry *crontab.Entry) {
	r := journal.NewRun(run, j, entry.Quiet())
	log := entry.Options().Log
	r.Unheard = log.Off || log.File != ""
	v.addRun(r)
}

// BeginAnacron is begin for an entry of the anacrontab, which has the name of
// its stamp in the log.
func (v *Writer) BeginAnacron(run *job.Run, j *job.Job, stamp string) {
	r := journal.NewRun(run, j, false)
	r.Anacron = stamp
	v.addRun(r)
}

func (v *Writer) addRun(r *journal.Run) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.runs[r.ID] = r
	if v.limit != nil && !r.Unheard {
		v.limit.begin(r.ID)
	}
}

// Began is called when a run has a process, which is not reaped before it returns.
func (v *Writer) Began(id job.RunID, pid int) {
	v.mu.Lock()
	known := v.runs[id]
	if v.starts == nil || known == nil {
		v.mu.Unlock()
		return
	}
	about := *known
	v.mu.Unlock()
	about.PID = pid
	if v.starts.Write(about, time.Now()) {
		v.mu.Lock()
		v.wrote[id] = true
		v.mu.Unlock()
	}
}

// isWritten reports whether the start of a run is in the log.
func (v *Writer) isWritten(id job.RunID) bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.wrote[id]
}

func (v *Writer) about(id job.RunID) *journal.Run {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.runs[id]
}

// Ready reports whether there is room for more output of a user. As long as there
// is none, his jobs are not read, and wait when they print.
func (v *Writer) Ready(user string) bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.bytes.Fits(user, maxPiece) && v.items.Fits(user, 1)
}

// Chunk is called by the goroutine that reads the output of all jobs and, with the daemon's own
// messages, by the goroutine that starts them. Neither can wait, and both reuse the memory of the
// data.
func (v *Writer) Chunk(c job.Chunk) {
	if c.Stream == job.System {
		c.Data = bytes.Clone(c.Data)
		v.add(c, c.User, 0)
		return
	}
	if v.limit != nil {
		c.Data = v.take(c)
	}
	if len(c.Data) > 0 {
		c.Data = bytes.Clone(c.Data)
		v.add(c, c.User, c.Weight())
	}
}

func (v *Writer) take(c job.Chunk) []byte {
	v.mu.Lock()
	defer v.mu.Unlock()
	if r := v.runs[c.Run]; r != nil && r.Unheard {
		return c.Data
	}
	return v.limit.take(c, time.Now())
}

// Record is called by the loop.
func (v *Writer) Record(r *job.Record) {
	if !v.add(r, ownerOf(r), 0) && r.Kind == job.Ended {
		v.mu.Lock()
		v.over = append(v.over, r.Run.ID)
		v.mu.Unlock()
	}
}

// Cron writes lines of cron's own log, in order with the records. It skips empty ones.
func (v *Writer) Cron(lines ...journal.CronLine) {
	for i := range lines {
		if lines[i].Word+lines[i].Text != "" {
			v.add(&lines[i], budget.Root, 0)
		}
	}
}

// Log writes an entry of the daemon's log. It can be called from any goroutine.
func (v *Writer) Log(e *journal.Entry) { v.add(e, budget.Root, 0) }

// ownerOf returns the user whose share a record takes.
func ownerOf(r *job.Record) string {
	if r.Run != nil {
		return r.Run.User
	}
	return cmp.Or(r.User, budget.Root)
}

// add queues an item, or counts it as lost where the share of the user is used up.
func (v *Writer) add(item any, user string, size int) bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	if size > 0 && !v.bytes.Take(user, int64(size)) || !v.items.Take(user, 1) {
		v.lost++
		return false
	}
	v.queue = append(v.queue, item)
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
func (v *Writer) takeAll() (items []any, lost int, over []job.RunID) {
	v.mu.Lock()
	defer v.mu.Unlock()
	items, lost, over = v.queue, v.lost, v.over
	v.empty()
	return items, lost, over
}

// Run writes until ctx ends, and then writes the rest. A closed standard output or a full disk must
// not stop jobs.
func (v *Writer) Run(ctx context.Context) error {
	for {
		select {
		case <-v.wake:
			v.WriteAll()
		case <-v.steps.rest:
			v.writeUnwritten()
		case <-ctx.Done():
			v.Close()
			return nil
		}
	}
}

// Close writes the rest. It must be called by the goroutine of run, or when that does not run;
// later messages need another close.
func (v *Writer) Close() {
	v.WriteAll()
	v.writeUnwritten()
	v.sink.Close()
}

// WriteAll writes what waits. It must be called by the goroutine of Run, or when that does not run.
func (v *Writer) WriteAll() {
	items, lost, over := v.takeAll()
	for _, item := range items {
		switch item := item.(type) {
		case job.Chunk:
			if !v.wait(item) {
				v.writeChunk(item)
			}
		case *job.Record:
			v.writeRecord(item)
		case *journal.CronLine:
			v.sink.Cron(item)
		case *journal.Entry:
			v.sink.Log(item)
		}
	}
	for _, id := range over {
		v.writeEarly(id)
		v.forget(id)
	}
	if lost > 0 {
		v.sink.Log(&journal.Entry{At: time.Now(), Level: slog.LevelWarn, Message: fmt.Sprintf("%d items are left out here: %s", lost, v.slow)})
	}
	v.sink.Flush()
}

// wait lays output aside until its run is known to have started.
func (v *Writer) wait(c job.Chunk) bool {
	about := v.about(c.Run)
	if about == nil || about.PID != 0 {
		return false
	}
	before := v.early.of[c.Run]
	long := len(before) > 0 && c.At.Sub(before[0].At) > patience // the start was lost
	if long || v.early.size+len(c.Data) > maxEarly {
		v.writeEarly(c.Run)
		return false
	}
	v.early.of[c.Run] = append(before, c)
	v.early.size += len(c.Data)
	return true
}

// writeEarly writes the output that was stored for a run.
func (v *Writer) writeEarly(id job.RunID) {
	chunks := v.early.of[id]
	delete(v.early.of, id)
	for _, c := range chunks {
		v.early.size -= len(c.Data)
		v.writeChunk(c)
	}
}

func (v *Writer) writeChunk(c job.Chunk) {
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
		v.writeLine(line, first)
		text = rest
	}
	if len(text) == 0 {
		delete(v.begun, key)
		return
	}
	v.begun[key] = bytes.Clone(text)
}

func (v *Writer) writeLine(line journal.Line, text []byte) {
	line.Text = bytes.TrimSuffix(text, []byte{'\r'})
	v.sink.Line(&line)
}

func (v *Writer) writeRecord(r *job.Record) {
	said := journal.Record{Record: r, Words: recordWords(r)}
	if r.Kind == job.Stepped && !v.steps.take(r) {
		said.Words = ""
	}
	if r.Run != nil {
		said.About = v.about(r.Run.ID)
		said.Written = v.isWritten(r.Run.ID)
	}
	switch {
	case r.Kind == job.Started && said.About != nil:
		said.About.PID = r.Run.PID
	case r.Kind == job.Ended:
		v.writeEarly(r.Run.ID)
		v.writeRest(r, said.About)
	}
	v.sink.Record(&said)
	switch r.Kind {
	case job.Started:
		v.writeEarly(r.Run.ID)
	case job.Ended:
		v.forget(r.Run.ID)
	}
}

// writeRest writes the run's last, incomplete lines, and how much of its output was not logged.
func (v *Writer) writeRest(r *job.Record, about *journal.Run) {
	line := journal.Line{At: r.At, Job: r.Job, Run: r.Run.ID, About: about}
	for _, line.Stream = range []job.Stream{job.Stdout, job.Stderr, job.System} {
		if text := v.begun[stream{line.Run, line.Stream}]; len(text) > 0 {
			v.writeLine(line, text)
		}
	}
	if rest := v.notLogged(line.Run); rest.bytes > 0 {
		v.writeLine(line, fmt.Appendf(nil, "%d more lines (%d bytes) of output are not logged: see cronring logs %s", rest.lines, rest.bytes, line.Run))
	}
}

func (v *Writer) notLogged(run job.RunID) amount {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.limit == nil {
		return amount{}
	}
	return v.limit.rest(run)
}

// forget drops all data of a run.
func (v *Writer) forget(id job.RunID) {
	for _, of := range []job.Stream{job.Stdout, job.Stderr, job.System} {
		delete(v.begun, stream{id, of})
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	delete(v.runs, id)
	delete(v.wrote, id)
	if v.limit != nil {
		v.limit.forget(id)
	}
}

// recordWords describes a record about a job, or the clock, in a few words.
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
		return r.Words()
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
