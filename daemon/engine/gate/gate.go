// Package gate owns the decision whether an occurrence runs, is skipped or held, and why. An
// occurrence passes the gates in one order, whatever its source is.
package gate

import (
	"slices"
	"time"

	"github.com/cronring/cronring/crontab/option"
	"github.com/cronring/cronring/crontab/timetable"
	"github.com/cronring/cronring/daemon/engine/catalog"
	"github.com/cronring/cronring/daemon/engine/event"
	"github.com/cronring/cronring/daemon/engine/exchange"
	"github.com/cronring/cronring/daemon/engine/live"
	"github.com/cronring/cronring/daemon/job"
)

// Job is an installed job; of the next attempt, the job as it was for the attempt before.
type Job struct {
	Slot    int // its number in the catalog; -1: it is not installed any longer
	ID      job.ID
	User    string         // that it runs as
	Zone    *time.Location // of its schedule
	Options *option.Options
}

// JobAt returns the job with a number.
func JobAt(jobs *catalog.Catalog, slot int) Job {
	entry := jobs.Entry(slot)
	return Job{Slot: slot, ID: jobs.ID(slot), User: entry.User(), Zone: entry.Zone().Location(), Options: jobs.Options(slot)}
}

// Occurrence is an occurrence that is about to become a run, the waiting run of one that is
// about to continue, or the next attempt of one whose run has ended.
type Occurrence struct {
	Job
	First   time.Time // the oldest of Count occurrences that are decided together; Due is the newest
	Due     time.Time
	Count   int
	Trigger job.Trigger
	Cause   job.Reason // why it runs, if it does

	Wait time.Duration // delay of a caught-up occurrence, so that its user has no more starts than the host allows

	Detail job.Detail // of Cause

	Run      *live.Run        // the waiting run; nil: none was made yet
	By       string           // the user who requested it
	Forced   bool             // --force was used
	Env      []string         // additional environment of a manual run
	Backfill int64            // ID of its backfill, or 0
	Dead     *job.Run         // the dead letter that is run again; or nil
	Before   *live.Run        // the attempt that the next one follows on this host; or nil
	Parents  []job.Parent     // the parent whose end starts it, by on=
	Permit   *exchange.Permit // of the ring; or nil
}

// Decision is the result for an occurrence. The zero value lets it pass.
type Decision struct {
	Do       job.Decision
	Reason   job.Reason // of a skip
	Detail   job.Detail
	On       job.WaitsOn // of a hold
	Until    time.Time   // of a hold for a time, or of the hours that skip a manual run; zero: not known
	Replaces bool        // the live runs of the job are stopped for it
}

func skip(reason job.Reason, detail job.Detail) Decision {
	return Decision{Do: job.DecideSkip, Reason: reason, Detail: detail}
}

// Host is the state of the host. The gates read it and never change it.
type Host struct {
	Now       time.Time
	Node      string            // the host name
	Labels    map[string]string // of the host
	Jobs      *catalog.Catalog
	Barred    map[string]event.Barred // users for whom nothing may start
	Holds     job.Holds
	Summaries map[job.Owned]job.Summary
	Stamps    map[string]timetable.Day // by period: when its job last ran
	Blackouts timetable.Blackouts
	Live      map[job.RunID]*live.Run
	ByJob     map[job.ID][]*live.Run // the live runs of each job, oldest first
	Unstarted live.Unstarted
	QueueMax  int
	Starting  *live.Run // starts in this step, although its record does not show that yet; or nil

	check check // of the present occurrence
}

// origin describes an occurrence for the exceptions from gates.
type origin uint

const (
	forced          origin = 1 << iota
	manual                 // a person requested it, and not as part of a backfill
	waitingManual          // and its run was made already
	backfill               // part of a backfill
	waitingBackfill        // and its run was made already
	attempt                // a further attempt
	waiting                // its run was made already
	handedOver             // a further attempt of an occurrence that another member of the ring had begun
)

// gate is a check, and the occurrences that need not pass it.
type gate struct {
	check  func(*check) Decision
	exempt origin
}

// jobGates have the same result for all occurrences of a job that are due, and are checked once.
// Then catchup= selects which of the occurrences go through the remaining gates, one by one.
var jobGates = []gate{
	{(*check).mayRunHere, forced},
	{(*check).held, 0},
	{(*check).userMayRun, 0},
	{(*check).paused, forced},
	{(*check).breaker, forced | manual | attempt | waitingBackfill},
	{(*check).ranInPeriod, forced | manual | attempt},
}

// gates contains all gates in order. The first gate that skips an occurrence decides. A gate
// that holds it does not: a later gate may still skip it, or hold it for something else.
var gates = slices.Concat(jobGates, []gate{
	{(*check).liveInPeriod, forced | waitingManual | attempt},
	{(*check).oncePer, forced | manual | backfill},
	{(*check).deadline, forced | manual | backfill},
	{(*check).hours, forced | waitingManual | handedOver},
	{(*check).delay, forced | manual | attempt},
	{(*check).scatter, forced | waiting | attempt},
	{(*check).instances, forced | waiting | handedOver},
	{(*check).flood, forced | waiting},
	{(*check).overlap, forced | handedOver},
	{(*check).backoff, 0},
})

// nextGates are the gates of the next attempt. Its run passes the others when its wait is over.
var nextGates = []gate{{(*check).backoff, 0}}

// Decide passes an occurrence through all gates.
func Decide(h *Host, o *Occurrence) Decision {
	if o.Before != nil {
		return walk(h, o, nextGates)
	}
	return walk(h, o, gates)
}

// DecideAll passes all occurrences of a job that are due through the gates that have the
// same result for each of them.
func DecideAll(h *Host, o *Occurrence) Decision { return walk(h, o, jobGates) }

func walk(h *Host, o *Occurrence, gates []gate) Decision {
	c := &h.check
	*c = check{Host: h, Occurrence: o, who: o.origin(), runs: live.OfUser(h.ByJob[o.ID], o.User)}
	decision := Decision{Do: job.DecideRun}
	for _, g := range gates {
		if c.who&g.exempt != 0 {
			continue
		}
		switch d := g.check(c); d.Do {
		case job.DecideSkip:
			return d
		case job.DecideHold:
			decision = d
		}
	}
	return decision
}

func (o *Occurrence) origin() (w origin) {
	add := func(is bool, bits origin) {
		if is {
			w |= bits
		}
	}
	waits, person := o.Run != nil, o.By != "" && o.Backfill == 0
	add(o.Forced, forced)
	add(waits, waiting)
	add(person, manual)
	add(person && waits, waitingManual)
	add(o.Backfill != 0, backfill)
	add(o.Backfill != 0 && waits, waitingBackfill)
	add(o.Trigger == job.TriggerRetry, attempt)
	add(o.IsHandedOver(), handedOver)
	return w
}

// IsHandedOver reports whether another member of the ring had begun the occurrence and
// handed it over, so that a further attempt follows here.
func (o *Occurrence) IsHandedOver() bool {
	return o.Permit != nil && o.Permit.Orphan != nil && o.Permit.Orphan.Left && o.Permit.Orphan.Begun
}

// A pause skips the occurrences that come due in it, whenever they are decided, because the
// daemon may be stopped or the host suspended at its end. With pause-counts=, they are decided
// after it as missed.
func skipsDue(j *Job, h *job.Hold) bool { return h.Skips || !j.Options.PauseCounts }

// CameDueIn reports whether a pause skips what is due at an instant.
func (j *Job) CameDueIn(h *job.Hold, due time.Time) bool {
	return skipsDue(j, h) && due.After(h.Since) && h.Covers(due)
}

// Ends reports whether a pause that is over ends with the occurrence, or with the oldest of
// several. If the pause skips what came due in it, only a new occurrence after it ends it.
func (o *Occurrence) Ends(h *job.Hold) bool {
	first := o.Due
	if o.Count > 1 {
		first = o.First
	}
	return !skipsDue(&o.Job, h) || o.Run == nil && o.By == "" && !first.Before(h.Until)
}

// check is an occurrence on its way through the gates.
type check struct {
	*Host
	*Occurrence
	who  origin
	runs []*live.Run // the live runs of the job
}

func (c *check) summary() job.Summary { return c.Summaries[job.Owned{Job: c.ID, User: c.User}] }
