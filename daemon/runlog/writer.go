// Package runlog owns the queue of what the daemon sends to the log through package journal, in
// order and within a limit for each user. It has the output of jobs as complete lines, records
// about jobs in words, and the daemon's own messages.
package runlog

import (
	"bytes"
	"cmp"
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/cronring/cronring/crontab"
	"github.com/cronring/cronring/daemon/budget"
	"github.com/cronring/cronring/daemon/job"
	"github.com/cronring/cronring/daemon/journal"
	"github.com/cronring/cronring/daemon/wake"
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
// limited for each user; entries that are not about a user count as root's. A user whose
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

// Problem returns how many entries were lost, and why, if the log cannot be written.
func (v *Writer) Problem() (lost int64, err error) { return v.sink.Problem() }

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
	r.NoOutput = log.Off || log.File != ""
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
	if v.limit != nil && !r.NoOutput {
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
	if r := v.runs[c.Run]; r != nil && r.NoOutput {
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

// Cron writes lines of cron's own log, in order with the records, within the share of a user. It skips
// empty ones.
func (v *Writer) Cron(user string, lines ...journal.CronLine) {
	for i := range lines {
		if lines[i].Word+lines[i].Text != "" {
			v.add(&lines[i], user, 0)
		}
	}
}

// Log writes an entry of the daemon's log. It can be called from any goroutine.
func (v *Writer) Log(e *journal.Entry) { v.add(e, userOf(e), 0) }

// userOf returns the user whose share an entry takes.
func userOf(e *journal.Entry) string {
	for _, a := range e.Attrs {
		if a.Key == journal.UserKey && a.Value != "" {
			return a.Value
		}
	}
	return budget.Root
}

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
	wake.Up(v.wake)
	return true
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
		case <-v.steps.wait:
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
