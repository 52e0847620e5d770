// Package recorder owns the queue of records and output between the loop and the history. It
// writes them in order, in parts that do not delay starts, and later if the store fails.
package recorder

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"slices"
	"sync/atomic"
	"time"

	"github.com/cronring/cronring/daemon/engine/effect"
	"github.com/cronring/cronring/daemon/job"
	"github.com/cronring/cronring/daemon/store"
)

// If commits take longer than usualCommit, steps become larger by the same factor, up to mostPace.
// Otherwise the commits of a burst would take seconds on a slow disk.
const (
	usualCommit = 10 * time.Millisecond
	mostPace    = 100
)

// BatchDelay is how long the loop collects starts and ends of runs after it has handled some: in a burst
// they are committed together, which costs a tenth. It is also the delay that a burst may add to a
// retry or to the next run in a queue.
const BatchDelay = 10 * time.Millisecond

// Limits of the backlog while the store fails: a day of a busy host.
const (
	maxUnwritten       = 20_000
	maxUnwrittenOutput = 16 << 20
)

// While the store fails, the loop tries only one part every retryAfter, so that a full disk does not
// delay it.
const (
	retryAfter = time.Second
	retryPart  = 500
)

// partOutput is the maximum output in bytes that is written in one step, where each chunk counts
// rowBytes more: a burst of output must not delay due jobs. The rest waits for the next steps, and
// until then the users of its runs have less memory for their next runs.
const (
	partOutput = 512 << 10
	rowBytes   = 1 << 10
)

// History is the store that a Recorder writes to.
type History interface {
	Commit(ctx context.Context, b store.Batch) error
}

// Recorder writes the facts of steps, and the output of runs that have ended. Only one goroutine may
// use it.
type Recorder struct {
	history    History
	log        *slog.Logger
	problem    *atomic.Pointer[Problem]
	commitTime time.Duration // of the last commits; see noteCommit
	backlog
}

// New returns a Recorder that reports the state of the store in problem.
func New(history History, log *slog.Logger, problem *atomic.Pointer[Problem]) *Recorder {
	return &Recorder{history: history, log: log, problem: problem}
}

// Restore adds the data that the previous daemon could not write.
func (r *Recorder) Restore(u Unwritten) {
	r.records, r.roster, r.lost = u.Records, u.Roster, u.Lost
	for _, o := range u.Outputs {
		r.put(pendingOutput{Output: o})
	}
	r.summaries.keep(u.Summaries)
}

// Unwritten returns what the store has not accepted.
func (r *Recorder) Unwritten() Unwritten {
	return Unwritten{Records: r.records, Outputs: r.unwritten(), Summaries: r.summaries.list(), Roster: r.roster, Lost: r.lost}
}

// Pace returns the size of a step as a multiple of its usual size.
func (r *Recorder) Pace() int { return min(1+int(r.commitTime/usualCommit), mostPace) }

// noteCommit updates the duration of commits. A fast commit after slow ones halves it.
func (r *Recorder) noteCommit(took time.Duration) { r.commitTime = max(took, r.commitTime/2) }

// Timer is readable when the store should be tried again: call Retry and Commit then.
func (r *Recorder) Timer() <-chan time.Time { return r.timer }

// Retry makes the next Commit try the store even if the step has no facts.
func (r *Recorder) Retry() { r.due = true }

// RetryUnwritten makes the next Commit write what waits before its own facts.
func (r *Recorder) RetryUnwritten() {
	r.due = !r.empty()
	r.failing = r.due
}

// Problem is the published state of the store.
type Problem struct {
	Err       error // nil: there is none
	Since     time.Time
	Unwritten int // records that wait
	Lost      int // records that did not fit
}

// Unwritten is the data that the store has not accepted. A daemon passes it to its successor.
type Unwritten struct {
	Records   []job.Record   `json:"records,omitempty"`
	Outputs   []store.Output `json:"outputs,omitempty"`
	Summaries []job.Summary  `json:"ledgers,omitempty"`
	Roster    *effect.Roster `json:"roster,omitempty"`
	Lost      int            `json:"lost,omitempty"`
}

// Commit writes a step's facts, and some of the waiting output. It returns the runs whose
// occurrence was decided before, according to the history. If the store fails, the facts wait, and
// their acts proceed: a full disk must not stop jobs.
func (r *Recorder) Commit(b store.Batch) (refused map[job.RunID]bool) {
	if len(b.Records) == 0 && len(b.Summaries) == 0 && b.Roster == nil && !r.due {
		return nil
	}
	if !r.failing {
		refused, err := r.write(b)
		if err != nil {
			r.add(b)
			r.wait()
		} else {
			r.goOn()
		}
		r.report(err, b.At)
		return refused
	}
	r.add(b)
	if !r.due {
		r.report(r.problem.Load().Err, b.At)
		return nil
	}
	refused, err := r.catchUp(b)
	r.report(err, b.At)
	return refused
}

// catchUp writes the backlog, part by part, until only outputs are left or the
// store fails again. b has the time.
func (r *Recorder) catchUp(b store.Batch) (refused map[job.RunID]bool, err error) {
	refused = map[job.RunID]bool{}
	for {
		part := r.next(b)
		again, err := r.write(part)
		maps.Copy(refused, again) // also if the rest of the part could not be written
		if err != nil {
			r.wait()
			return refused, err
		}
		if r.done(part); len(r.records) == 0 {
			r.goOn()
			return refused, nil
		}
	}
}

// Flush writes all output, if the store accepts it. b has time, era and boot ID.
func (r *Recorder) Flush(b store.Batch) {
	for !r.failing && r.size > 0 {
		r.due = true
		r.Commit(b)
	}
}

// write writes a batch to the store, without the decisions that it rejects.
func (r *Recorder) write(b store.Batch) (refused map[job.RunID]bool, err error) {
	if len(r.records) <= len(b.Records) { // else the runs of some are not known yet
		b.Outputs = r.nextOutputs()
	}
	begin := time.Now()
	err = r.history.Commit(context.Background(), b)
	r.noteCommit(time.Since(begin))
	var decided *store.DecidedError
	if !errors.As(err, &decided) {
		r.written(b.Outputs, err)
		return nil, err
	}
	refused = map[job.RunID]bool{}
	for _, i := range decided.Records {
		record := b.Records[i]
		r.log.Error("this was decided before, according to the history; not starting it again", "job", record.Job, "due", record.Due)
		if record.Run != nil {
			refused[record.Run.ID] = true
		}
	}
	b.Records = without(b.Records, decided.Records)
	err = r.history.Commit(context.Background(), b)
	r.written(b.Outputs, err)
	return refused, err
}

func without(records []job.Record, drop []int) []job.Record {
	var kept []job.Record
	for i, r := range records {
		if !slices.Contains(drop, i) {
			kept = append(kept, r)
		}
	}
	return kept
}

// report keeps the state of the store for the status, and logs its changes.
func (r *Recorder) report(err error, now time.Time) {
	before := r.problem.Load()
	wasBad := before != nil && before.Err != nil
	switch {
	case err == nil && !wasBad:
		return
	case err == nil:
		r.log.Info("history is written again", "after", now.Sub(before.Since).String(), "lost", r.lost)
	case !wasBad:
		r.log.Error("cannot write history; jobs continue, records wait", "error", err)
	}
	p := &Problem{Err: err, Since: now, Unwritten: len(r.records), Lost: r.lost}
	if wasBad {
		p.Since = before.Since
	}
	r.problem.Store(p)
}
