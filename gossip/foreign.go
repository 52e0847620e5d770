package gossip

import (
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/cronring/cronring/daemon/engine/catalog"
	"github.com/cronring/cronring/daemon/engine/exchange"
	"github.com/cronring/cronring/daemon/job"
	"github.com/cronring/cronring/gossip/holders"
)

// Limits of the stored reports of members that do not hold the same entry.
const (
	maxParked  = marksMax
	maxForeign = 1000 // jobs of a member that are stored for display
)

// parked are reports of members whose jobs are not known yet.
type parked struct {
	marks  []holders.Mark
	newest []holders.Mark
}

// verdict is the decision whether a member's report on an occurrence counts here.
type verdict uint8

const (
	accepted verdict = iota // the member holds the same entry, or this host does not hold the job
	ignored                 // the member holds another entry of the job, or none
	unknown                 // its jobs are not known yet
)

// judgeReport decides whether a member's report on an occurrence counts. It does if the member
// holds the same entry as this host, or held it when it took the occurrence. A member that
// left is judged by the jobs that it had. If the jobs of a member cannot be requested, they are
// assumed to be the same, because a report that is ignored by mistake causes a double run.
func (r *Ring) judgeReport(id string, o exchange.Occurrence) verdict {
	m := r.members[id]
	if _, has := r.roster.Load().Find(o.Key); !has || r.table.Holder(o) == id {
		return accepted
	}
	if m == nil && r.isNew() { // this host has just started, and may not know all members yet
		return unknown
	}
	if m == nil || m.state == Gone {
		return accepted
	}
	if r.isUnknown(m) {
		return unknown
	}
	if _, settled := m.settled(r.roster.Load()); !settled {
		return accepted
	}
	lack, lacks := m.diff.Lacks[o.Key]
	switch {
	case !lacks:
		return accepted
	case r.isNew() || !lack.Since.After(r.stage.joinedAt.Add(holders.RolloutTime)):
		edited, confirmed := r.compareHolders(m, o.Key)
		switch {
		case confirmed && edited.Before(lack.Since):
			lack.Since = edited
		case !confirmed && (r.isNew() || slices.ContainsFunc(r.alive(), r.isUnknown)):
			return unknown
		}
	}
	if lack.HeldSame(o) {
		return accepted
	}
	if m.foreign == nil {
		m.foreign = map[job.Key]int{}
	}
	if _, known := m.foreign[o.Key]; known || len(m.foreign) < maxForeign {
		m.foreign[o.Key]++
	}
	return ignored
}

// isNew reports whether this host has just joined, so that it may not know all members yet.
func (r *Ring) isNew() bool { return r.stage.entry != joined || time.Now().Before(r.stage.metAll) }

// isUnknown reports whether the jobs of a member are still being requested. If they were known
// before and were edited, that counts as unknown only on a new host.
func (r *Ring) isUnknown(m *member) bool {
	if m.state != Alive || m.trouble != "" {
		return false
	}
	_, settled := m.settled(r.roster.Load())
	return !m.compared || !settled && r.isNew()
}

// compareHolders looks for other members that hold the same entry of a job as this host, while m holds
// a different entry or none. confirmed reports whether there is one. edited is the time of the last edit
// on any member, so the difference is not newer. A crontab can also be edited while a host is down, so
// the time at which m joined counts as an edit, and so does the time at which the first confirming
// member joined. If a host that just joined is not confirmed, it may be the first one with a new entry.
func (r *Ring) compareHolders(m *member, key job.Key) (edited time.Time, confirmed bool) {
	edited = later(r.own.Edited, m.meta.Since)
	var since time.Time // when the first confirming member joined
	for _, x := range r.members {
		if _, lacks := x.diff.Lacks[key]; x != m && x.state == Alive && x.compared && !lacks {
			if !confirmed || x.meta.Since.Before(since) {
				since = x.meta.Since
			}
			confirmed = true
		}
		edited = later(edited, x.meta.Edited)
	}
	return later(edited, since), confirmed
}

// errUnknownJobs is the error while the jobs of a member are not known yet.
var errUnknownJobs = errors.New("the jobs of the member are not known yet")

// IsForeign reports whether an occurrence that a member was granted does not count here, because
// the member holds another entry of the job, or none. It returns an error while the member's jobs
// are not known yet.
func (r *Ring) IsForeign(ctx context.Context, member string, o exchange.Occurrence) (foreign bool, err error) {
	err = r.do(ctx, func() error {
		judged := r.judgeReport(member, o)
		if judged == unknown {
			return errUnknownJobs
		}
		foreign = judged == ignored
		return nil
	})
	return foreign, err
}

// GaveUp reports whether this host knows that a member took an occurrence and gave it up, and in which
// start of its daemon.
func (r *Ring) GaveUp(ctx context.Context, member string, o exchange.Occurrence) (started uint32, is bool) {
	_ = r.do(ctx, func() error { started, is = r.table.GaveUp(o, member); return nil })
	return started, is
}

// Holding returns this host's entry of a job, or the zero value.
func (r *Ring) Holding(key job.Key) catalog.Holding {
	h, _ := r.roster.Load().Find(key)
	return h
}

// isEarly reports whether an occurrence is due further ahead of this host's clock than
// clocks may differ. While the clock is not confirmed, nothing is early.
func (r *Ring) isEarly(due int64) bool {
	return r.sure.Load() && due > r.o.Now().Add(holders.MaxSkew).UnixNano()
}

// learnMarks applies marks from others.
func (r *Ring) learnMarks(marks []holders.Mark) {
	r.report(r.table.Learn(r.keepAccepted(marks, &r.parked.marks), r.o.Now()))
}

// learnNewest applies the newest occurrences of jobs from others.
func (r *Ring) learnNewest(newest []holders.Mark) {
	r.table.Advance(r.keepAccepted(newest, &r.parked.newest), r.o.Now())
	r.outbox.changed = true
}

// keepAccepted returns the marks that judgeReport accepts. If a member's jobs are not known yet, its
// marks are added to parked.
func (r *Ring) keepAccepted(marks []holders.Mark, parked *[]holders.Mark) []holders.Mark {
	kept := make([]holders.Mark, 0, len(marks))
	for _, m := range marks {
		switch r.judgeReport(m.Member, m.Occurrence) {
		case accepted:
			kept = append(kept, m)
		case unknown:
			if len(*parked) < maxParked {
				*parked = append(*parked, m)
			}
		}
	}
	return kept
}

// unpark judges again the reports that were waiting for a member's jobs.
func (r *Ring) unpark() {
	marks, newest := r.parked.marks, r.parked.newest
	r.parked.marks, r.parked.newest = nil, nil
	if len(marks) > 0 {
		r.learnMarks(marks)
	}
	if len(newest) > 0 {
		r.learnNewest(newest)
	}
}

// answerOf returns a member's answer to a claim, or Free if the answer does not count here.
func (r *Ring) answerOf(from string, a holders.Answer) holders.Answer {
	by := from
	if a.Reply == holders.Known {
		by = a.Mark.Member
	}
	if a.Reply != holders.Silent && r.judgeReport(by, a.Occurrence) == ignored {
		return holders.Answer{Occurrence: a.Occurrence, Serial: a.Serial, Reply: holders.Free}
	}
	return a
}

// answerTo answers a member's question. If the member does not hold the same entry, its claim is
// for a different job, and this host has no objection. A member that just started sees this host before
// this host sees it. Until then this host could claim the occurrence without asking that member, so it
// postpones its answer, unless the occurrence is decided, or this host cannot claim it.
func (r *Ring) answerTo(from string, q holders.Question) holders.Answer {
	if r.judgeReport(from, q.Occurrence) == ignored {
		return holders.Answer{Occurrence: q.Occurrence, Serial: q.Serial, Reply: holders.Free}
	}
	m := r.members[from]
	_, has := r.roster.Load().Find(q.Key)
	canClaim := has && r.stage.entry == joined && r.stage.exit < departing
	if r.isEarly(q.Due) || canClaim && (m == nil || m.state != Alive) {
		return r.table.Postpone(from, q)
	}
	return r.table.Answer(from, q, r.o.Now())
}

// foreignJobs returns the jobs of which a member claimed occurrences without holding the same
// entry, in order.
func (m *member) foreignJobs() []job.Key {
	return slices.SortedFunc(maps.Keys(m.foreign), job.Key.Compare)
}
