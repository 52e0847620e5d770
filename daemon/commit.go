package daemon

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/cronring/cronring/daemon/budget"
	"github.com/cronring/cronring/daemon/engine"
	"github.com/cronring/cronring/daemon/job"
	"github.com/cronring/cronring/daemon/spawn"
	"github.com/cronring/cronring/daemon/store"
)

// Limits on what waits for a store that takes nothing: a day of a busy host.
const (
	maxUnwritten       = 20_000
	maxUnwrittenOutput = 16 << 20
)

// While the store fails it is tried once in retryAfter, and with one part only,
// so that a full disk costs the loop next to nothing.
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

// backlog is the data that the store has not accepted yet, in order.
type backlog struct {
	records []job.Record
	outputs budget.Queue[pendingOutput]
	part    []pendingOutput // of them, those of the next transaction
	size    int             // bytes of all outputs
	ledgers ledgers
	roster  *engine.Roster
	lost    int  // records that did not fit
	failing bool // the last write failed
	timer   <-chan time.Time
	due     bool // the timer has rung: try the store again
}

// pendingOutput is output of a run that the store has not accepted yet.
type pendingOutput struct {
	store.Output
	user string
	held
}

// held is what the output of a run uses until it is in the history and in its mail: the last holder
// of memory removes the file.
type held struct {
	file          string // "": none
	memory, space *budget.Lease
}

func (h held) release() {
	if h.memory.Release() {
		discard(h.file)
		h.space.Release()
	}
}

// size returns how much the output counts against partOutput, in bytes.
func (o *pendingOutput) size() (n int) {
	for _, c := range o.Chunks {
		n += len(c.Data) + rowBytes
	}
	return n
}

// trouble is the state of the store for others to see.
type trouble struct {
	err       error // nil: all is well
	since     time.Time
	unwritten int
	lost      int
}

// commit writes a step's facts, and some of the waiting output. It returns the runs whose
// occurrence was decided before, according to the history. If the store fails, the facts wait, and
// their acts proceed: a full disk must not stop jobs.
func (l *loop) commit(b store.Batch) (refused map[job.RunID]bool) {
	if len(b.Records) == 0 && len(b.Ledgers) == 0 && b.Roster == nil && !l.backlog.due {
		return nil
	}
	if !l.backlog.failing {
		refused, err := l.write(b)
		if err != nil {
			l.backlog.add(b)
			l.backlog.wait()
		} else {
			l.backlog.goOn()
		}
		l.report(err, b.At)
		return refused
	}
	l.backlog.add(b)
	if !l.backlog.due {
		l.report(l.trouble.Load().err, b.At)
		return nil
	}
	refused, err := l.catchUp(b)
	l.report(err, b.At)
	return refused
}

// catchUp writes the backlog, part by part, until only outputs are left or the
// store fails again. b has the time.
func (l *loop) catchUp(b store.Batch) (refused map[job.RunID]bool, err error) {
	refused = map[job.RunID]bool{}
	for {
		part := l.backlog.next(b)
		again, err := l.write(part)
		maps.Copy(refused, again) // also if the rest of the part could not be written
		if err != nil {
			l.backlog.wait()
			return refused, err
		}
		if l.backlog.done(part); len(l.backlog.records) == 0 {
			l.backlog.goOn()
			return refused, nil
		}
	}
}

// writeOutputs writes what runs printed, if the store takes it, before the daemon
// ends.
func (l *loop) writeOutputs() {
	for !l.backlog.failing && l.backlog.size > 0 {
		l.backlog.due = true
		l.commit(store.Batch{At: l.clock.Now().Wall, Era: l.engine.Era(), BootID: l.boot})
	}
}

// write writes a batch to the store, without the decisions that it rejects.
func (l *loop) write(b store.Batch) (refused map[job.RunID]bool, err error) {
	if len(l.backlog.records) <= len(b.Records) { // else the runs of some are not known yet
		b.Outputs = l.backlog.nextOutputs()
	}
	begin := time.Now()
	err = l.history.Commit(context.Background(), b)
	l.noteCommit(time.Since(begin))
	var decided *store.DecidedError
	if !errors.As(err, &decided) {
		l.backlog.written(b.Outputs, err)
		return nil, err
	}
	refused = map[job.RunID]bool{}
	for _, i := range decided.Records {
		r := b.Records[i]
		l.log.Error("this was decided before, according to the history; not starting it again", "job", r.Job, "due", r.Due)
		if r.Run != nil {
			refused[r.Run.ID] = true
		}
	}
	b.Records = without(b.Records, decided.Records)
	err = l.history.Commit(context.Background(), b)
	l.backlog.written(b.Outputs, err)
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
func (l *loop) report(err error, now time.Time) {
	before := l.trouble.Load()
	wasBad := before != nil && before.err != nil
	switch {
	case err == nil && !wasBad:
		return
	case err == nil:
		l.log.Info("history is written again", "after", now.Sub(before.since).String(), "lost", l.backlog.lost)
	case !wasBad:
		l.log.Error("cannot write history; jobs continue, records wait", "error", err)
	}
	t := &trouble{err: err, since: now, unwritten: len(l.backlog.records), lost: l.backlog.lost}
	if wasBad {
		t.since = before.since
	}
	l.trouble.Store(t)
}

func (k *backlog) empty() bool {
	return len(k.records) == 0 && k.size == 0 && len(k.ledgers) == 0 && k.roster == nil
}

// add keeps a batch for later. The oldest records and outputs beyond the limits
// are lost; records are counted.
func (k *backlog) add(b store.Batch) {
	k.records = append(k.records, b.Records...)
	if over := len(k.records) - maxUnwritten; over > 0 {
		k.records = slices.Clone(k.records[over:])
		k.lost += over
	}
	for k.size > maxUnwrittenOutput && k.outputs.Len() > 0 {
		o, _ := k.outputs.TakeMost()
		k.forget(&o)
	}
	k.ledgers.keep(b.Ledgers)
	if b.Roster != nil {
		k.roster = b.Roster.After(k.roster)
	}
}

// print takes what runs printed that have ended. The other holder of it is deliverAll.
func (k *backlog) print(ended []spawn.Ended) {
	for _, e := range ended {
		k.printed(e.Run, e.User, e.Output, held{e.File, e.Memory.Share(), e.Space})
	}
}

// printLate takes what background processes of runs printed after the end of
// these runs.
func (k *backlog) printLate(late []spawn.Late) {
	for _, e := range late {
		if k.printed(e.Run, e.User, e.Output, held{e.File, e.Memory, e.Space}) {
			k.due = k.due || !k.failing // no record may come with it
		}
	}
}

// printed takes output, and reports whether there is any.
func (k *backlog) printed(run job.RunID, user string, output []job.Chunk, h held) bool {
	if len(output) == 0 {
		h.release()
		return false
	}
	k.put(pendingOutput{store.Output{Run: run, Chunks: output}, user, h})
	return true
}

func (k *backlog) put(o pendingOutput) {
	k.size += o.size()
	k.outputs.Put(o.user, o)
}

// nextOutputs returns the outputs of the next transaction: those of the last one,
// if it failed.
func (k *backlog) nextOutputs() (all []store.Output) {
	size := 0
	for _, o := range k.part {
		size += o.size()
	}
	for k.outputs.Len() > 0 && size < partOutput {
		o, _ := k.outputs.Take()
		size += o.size()
		k.part = append(k.part, o)
	}
	for _, o := range k.part {
		all = append(all, o.Output)
	}
	return all
}

// written forgets the outputs of a transaction that did not fail.
func (k *backlog) written(outputs []store.Output, err error) {
	if err != nil || len(outputs) == 0 {
		return
	}
	for i := range k.part {
		k.forget(&k.part[i])
	}
	k.part = nil
}

func (k *backlog) forget(o *pendingOutput) {
	k.size -= o.size()
	o.release()
}

// unwritten returns all outputs, for a daemon that takes the place of this one.
func (k *backlog) unwritten() []store.Output {
	all := k.nextOutputs()
	for k.outputs.Len() > 0 {
		o, _ := k.outputs.Take()
		all = append(all, o.Output)
	}
	return all
}

// ledgers are the newest ones of jobs: never more than there are jobs, however
// long nothing can be written.
type ledgers map[ledgerOf]job.Ledger

type ledgerOf struct {
	job  job.ID
	user string
}

// keep takes ledgers in the place of older ones.
func (m *ledgers) keep(changed []job.Ledger) {
	if *m == nil && len(changed) > 0 {
		*m = ledgers{}
	}
	for _, l := range changed {
		(*m)[ledgerOf{l.Job, l.User}] = l
	}
}

// list is all of them, in no order.
func (m ledgers) list() []job.Ledger { return slices.Collect(maps.Values(m)) }

// replay adds to the history the facts that the previous daemon could not write. Otherwise its runs
// would be started again, and the ends that it saw would be unknown.
func (h *handover) replay(m *store.Restored, boot string) {
	m.BootID = boot // it is the same process
	if h.Roster != nil {
		if h.Roster.Whole {
			m.Known = nil
		}
		m.Known = append(m.Known, h.Roster.All()...) // the later one of a job counts
	}
	m.Ledgers = append(m.Ledgers, h.Ledgers...) // the engine takes the last one
	live := map[job.RunID]job.Run{}
	for _, r := range m.Live {
		live[r.ID] = r
	}
	for i := range h.Records {
		r := &h.Records[i]
		m.Era = max(m.Era, r.Era)
		if r.At.After(m.LastSeen) {
			m.LastSeen = r.At
		}
		switch {
		case r.Kind == job.Paused || r.Kind == job.Resumed:
			replayHold(m, r)
		case r.DecidesOccurrence():
			m.Marks = append(m.Marks, job.Mark{Job: r.Job, Due: r.Due, Era: r.Era})
		case r.Kind == job.Filled && r.Backfill != nil:
			replayBackfill(m, r.Backfill)
		}
		if r.Run != nil {
			m.NextRun = max(m.NextRun, r.Run.ID+1)
			live[r.Run.ID] = *r.Run
		}
	}
	m.Live = slices.DeleteFunc(slices.Collect(maps.Values(live)), func(r job.Run) bool { return !r.State.Live() })
	slices.SortFunc(m.Live, func(a, b job.Run) int { return cmp.Compare(a.ID, b.ID) })
}

// replayRan completes the known occurrences of each backfill. It queries history for backfills
// without any.
func (h *handover) replayRan(ctx context.Context, history *store.Store, m *store.Restored) (err error) {
	for _, b := range m.Backfills {
		if m.Ran[b.ID] == nil {
			if m.Ran[b.ID], err = history.Ran(ctx, b.Job, b.User, b.From, b.To); err != nil {
				return err
			}
		}
		for _, r := range h.Records {
			if r.Run != nil && r.Run.Job == b.Job && r.Run.User == b.User && !r.Run.Due.Before(b.From) && !r.Run.Due.After(b.To) {
				m.Ran[b.ID][r.Run.Due.UnixNano()] = r.Run.Verdict
			}
		}
	}
	return nil
}

func replayHold(m *store.Restored, r *job.Record) {
	if r.Hold == nil {
		m.Holds.Lift(r.Job, r.User)
		return
	}
	m.Holds.Put(r.Job, *r.Hold)
}

// replayBackfill replaces a backfill by its state after a record. The engine does not need a
// backfill that has ended.
func replayBackfill(m *store.Restored, b *job.Backfill) {
	m.NextBackfill = max(m.NextBackfill, b.ID+1)
	m.Backfills = slices.DeleteFunc(m.Backfills, func(old job.Backfill) bool { return old.ID == b.ID })
	if b.State == job.BackfillGoing {
		m.Backfills = append(m.Backfills, *b)
	}
	slices.SortFunc(m.Backfills, func(a, b job.Backfill) int { return cmp.Compare(a.ID, b.ID) })
}

// wait has the store tried again after a while.
func (k *backlog) wait() { k.failing, k.due, k.timer = true, false, time.After(retryAfter) }

// goOn has what is left of the outputs written in further steps.
func (k *backlog) goOn() {
	k.failing, k.due, k.timer = false, false, nil
	if k.size > 0 {
		k.timer = time.After(rest)
	}
}

// next is the next batch to try: some records, and with the last of them, when
// all runs are known, ledgers and roster.
func (k *backlog) next(b store.Batch) store.Batch {
	part := store.Batch{At: b.At, Era: b.Era, BootID: b.BootID}
	part.Records = k.records[:min(len(k.records), retryPart)]
	if len(part.Records) == len(k.records) {
		part.Ledgers, part.Roster = k.ledgers.list(), k.roster
	}
	return part
}

// done forgets what was written.
func (k *backlog) done(part store.Batch) {
	k.records = k.records[len(part.Records):]
	if len(k.records) == 0 {
		k.records, k.ledgers, k.roster = nil, nil, nil
	}
}

// unwrittenError is the error of a daemon that stops with unwritten records.
func (k *backlog) unwrittenError() error {
	if n := len(k.records); n > 0 {
		return fmt.Errorf("write history: %d records are lost, the store took nothing until the end", n)
	}
	return nil
}
