package recorder

import (
	"cmp"
	"fmt"
	"maps"
	"os"
	"slices"
	"time"

	"github.com/cronring/cronring/daemon/budget"
	"github.com/cronring/cronring/daemon/engine/effect"
	"github.com/cronring/cronring/daemon/job"
	"github.com/cronring/cronring/daemon/spawn"
	"github.com/cronring/cronring/daemon/store"
)

// backlog is the data that the store has not accepted yet, in order.
type backlog struct {
	records   []job.Record
	outputs   budget.Queue[pendingOutput]
	part      []pendingOutput // the outputs of the next transaction
	size      int             // bytes of all outputs
	summaries summaries
	roster    *effect.Roster
	lost      int  // records that did not fit
	failing   bool // the last write failed
	timer     <-chan time.Time
	due       bool // the next Commit tries the store
}

// pendingOutput is output of a run that the store has not accepted yet.
type pendingOutput struct {
	store.Output
	user string
	Held
}

// Held contains the resources of a run's output until it is stored in the history and in its mail. The
// last holder of the memory removes the file.
type Held struct {
	File          string // "": none
	Memory, Space *budget.Lease
}

// Release releases one share of the memory. The last one also removes the file.
func (h Held) Release() {
	if h.Memory.Release() {
		Discard(h.File)
		h.Space.Release()
	}
}

// Discard removes a run's file, if there is one. The file is in memory, so a reboot removes it in any
// case.
func Discard(file string) {
	if file != "" {
		_ = os.Remove(file)
	}
}

// size returns how much the output counts against partOutput, in bytes.
func (o *pendingOutput) size() (n int) {
	for _, c := range o.Chunks {
		n += len(c.Data) + rowBytes
	}
	return n
}

func (k *backlog) empty() bool {
	return len(k.records) == 0 && k.size == 0 && len(k.summaries) == 0 && k.roster == nil
}

// add keeps a batch for later. Beyond the limits the oldest records and outputs of the users with most
// are lost; records are counted.
func (k *backlog) add(b store.Batch) {
	k.records = append(k.records, b.Records...)
	if over := len(k.records) - maxUnwritten; over > 0 {
		k.dropRecords(over)
		k.lost += over
	}
	for k.size > maxUnwrittenOutput && k.outputs.Len() > 0 {
		o, _ := k.outputs.TakeMost()
		k.forget(&o)
	}
	k.summaries.keep(b.Summaries)
	if b.Roster != nil {
		k.roster = b.Roster.After(k.roster)
	}
}

// Ended adds the output of runs that have ended. Its other holder is the mail.
func (k *backlog) Ended(ended []spawn.Ended) {
	for _, e := range ended {
		k.Add(e.Run, e.User, e.Output, Held{e.File, e.Memory.Share(), e.Space})
	}
}

// Late adds the output that background processes of runs wrote after the runs ended.
func (k *backlog) Late(late []spawn.Late) {
	for _, e := range late {
		if k.Add(e.Run, e.User, e.Output, Held{e.File, e.Memory, e.Space}) {
			k.due = k.due || !k.failing // no record may come with it
		}
	}
}

// Add adds output, and reports whether there is any.
func (k *backlog) Add(run job.RunID, user string, output []job.Chunk, h Held) bool {
	if len(output) == 0 {
		h.Release()
		return false
	}
	k.put(pendingOutput{store.Output{Run: run, Chunks: output}, user, h})
	return true
}

// dropRecords removes n records, each time the oldest record of the user with most records. Without the records
// of a run the next daemon would start it again, so a user must not be able to remove those of others.
func (k *backlog) dropRecords(n int) {
	of, drop := map[string]int{}, map[string]int{}
	for i := range k.records {
		of[userOf(&k.records[i])]++
	}
	for range n {
		most := ""
		for user, count := range of {
			if count > of[most] {
				most = user
			}
		}
		of[most]--
		drop[most]++
	}
	k.records = slices.DeleteFunc(k.records, func(r job.Record) bool {
		user := userOf(&r)
		if drop[user] == 0 {
			return false
		}
		drop[user]--
		return true
	})
}

// userOf returns the user whose job a record is about, or root.
func userOf(r *job.Record) string {
	switch {
	case r.Run != nil:
		return r.Run.User
	case r.Backfill != nil:
		return r.Backfill.User
	}
	return cmp.Or(r.User, budget.Root)
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
	o.Release()
}

// unwritten returns all outputs, for the daemon that replaces this one.
func (k *backlog) unwritten() []store.Output {
	all := k.nextOutputs()
	for k.outputs.Len() > 0 {
		o, _ := k.outputs.Take()
		all = append(all, o.Output)
	}
	return all
}

// summaries holds the newest summary of each job: never more than there are jobs, however
// long nothing can be written.
type summaries map[job.Owned]job.Summary

// keep replaces older summaries.
func (m *summaries) keep(changed []job.Summary) {
	if *m == nil && len(changed) > 0 {
		*m = summaries{}
	}
	for _, l := range changed {
		(*m)[job.Owned{Job: l.Job, User: l.User}] = l
	}
}

// list returns all of them, in no order.
func (m summaries) list() []job.Summary { return slices.Collect(maps.Values(m)) }

// wait schedules the next attempt to write.
func (k *backlog) wait() { k.failing, k.due, k.timer = true, false, time.After(retryAfter) }

// goOn schedules further steps that write the remaining outputs.
func (k *backlog) goOn() {
	k.failing, k.due, k.timer = false, false, nil
	if k.size > 0 {
		k.timer = time.After(BatchDelay)
	}
}

// next returns the next batch to write: some records, and with the last records also the summaries and
// the roster, because all runs are known by then.
func (k *backlog) next(b store.Batch) store.Batch {
	part := store.Batch{At: b.At, Era: b.Era, BootID: b.BootID}
	part.Records = k.records[:min(len(k.records), retryPart)]
	if len(part.Records) == len(k.records) {
		part.Summaries, part.Roster = k.summaries.list(), k.roster
	}
	return part
}

// done removes the data that was written.
func (k *backlog) done(part store.Batch) {
	k.records = k.records[len(part.Records):]
	if len(k.records) == 0 {
		k.records, k.summaries, k.roster = nil, nil, nil
	}
}

// Err returns an error if records are unwritten when the daemon stops.
func (k *backlog) Err() error {
	if n := len(k.records); n > 0 {
		return fmt.Errorf("write history: %d records are lost, the store took nothing until the end", n)
	}
	return nil
}
