package slots

import (
	"cmp"
	"slices"
	"time"

	"github.com/cronring/cronring/daemon/job"
)

// Preemptibility describes whether a run keeps its slots when another run needs them.
type Preemptibility uint8

// The values of Preemptibility.
const (
	Stays  Preemptibility = iota
	Yields                // it is preemptible
	Leaves                // it is being stopped
)

// Preemption is a waiting claim, and the claims whose runs must be stopped so that it is served.
type Preemption struct {
	For   *Claim
	Stops []*Claim
}

// Preempt returns the next preemption, or nil. A waiting run with preempt needs slots that
// preemptible runs of lower priority hold: runs of its own user, or of any user if its entry is in
// a crontab of root. Only the run that is next in its pool preempts, and none does if the slots
// that it could get are not enough. A run whose user has no slot, and gets none, is not the next:
// otherwise it would prevent preemptions of other users. Without a pool, it is not the next either while
// it waits for a run that is being stopped.
func (q *Queue) Preempt(now time.Duration, preemptibility func(job.RunID) Preemptibility) *Preemption {
	if q.preempting == 0 {
		return nil
	}
	var first *line
	var stops []*Claim
	waits := func(l *line) bool { // for another run of its user to end
		c := l.claims[0]
		switch {
		case !q.isFull(l.user):
			return false
		case !c.Preempt:
			return true
		}
		stops, served := q.stopsFor(c, now, preemptibility)
		return !served || c.pool == nil && len(stops) == 0
	}
	for _, l := range q.firsts(waits) {
		c := l.claims[0]
		if !c.Preempt || first != nil && first.before(l) || q.isOvertaken(l, now) {
			continue
		}
		if s, _ := q.stopsFor(c, now, preemptibility); len(s) > 0 {
			first, stops = l, s
		}
	}
	if first == nil {
		return nil
	}
	return &Preemption{first.claims[0], stops}
}

// isOvertaken reports whether another line would take the slot of the host or of the user that the
// first run of a line lacks.
func (q *Queue) isOvertaken(l *line, now time.Duration) bool {
	lacks := q.lacks(l.claims[0])
	return slices.ContainsFunc(q.lines, func(x *line) bool {
		takes := x.user == l.user && lacks.user > 0 || lacks.host > 0 && !q.isFull(x.user)
		return takes && x != l && x.before(l) && (x.pool == nil || x.pool.fits(x.claims[0], now))
	})
}

// shortage is the number of slots that a claim lacks, those of runs that are being stopped excluded.
type shortage struct{ pool, user, host int }

func (s *shortage) isOver() bool { return s.pool <= 0 && s.user <= 0 && s.host <= 0 }

func (s *shortage) take(c, h *Claim) {
	if h.pool == c.pool {
		s.pool -= h.Slots
	}
	if h.User == c.User {
		s.user--
	}
	s.host--
}

// stopsFor returns the claims to stop for a claim: the lowest priority first, then the newest run, so that
// the least work is lost. served reports whether it then gets its slots, also if no claim must be stopped.
func (q *Queue) stopsFor(c *Claim, now time.Duration, preemptibility func(job.RunID) Preemptibility) (stops []*Claim, served bool) {
	if c.pool != nil && c.pool.isPaced(now) {
		return nil, false
	}
	lacks := q.lacks(c)
	var victims []*Claim
	for _, u := range q.users {
		for _, h := range u.holders {
			switch s := preemptibility(h.Run); {
			case s == Leaves:
				lacks.take(c, h)
			case s == Yields && h.Priority < c.Priority && (h.User == c.User || c.Job.Owner() == "root"):
				victims = append(victims, h)
			}
		}
	}
	slices.SortFunc(victims, func(a, b *Claim) int {
		return cmp.Or(cmp.Compare(a.Priority, b.Priority), cmp.Compare(b.Run, a.Run))
	})
	for _, helps := range []func(h *Claim) bool{
		func(h *Claim) bool { return lacks.pool > 0 && h.pool == c.pool },
		func(h *Claim) bool { return lacks.user > 0 && h.User == c.User },
		func(*Claim) bool { return lacks.host > 0 },
	} {
		for _, h := range victims {
			if helps(h) && !slices.Contains(stops, h) {
				stops = append(stops, h)
				lacks.take(c, h)
			}
		}
	}
	if !lacks.isOver() {
		return nil, false
	}
	return stops, true
}

// lacks returns how many slots must become free for a claim.
func (q *Queue) lacks(c *Claim) (s shortage) {
	if x := c.pool; x != nil {
		s.pool = x.taken + c.Slots - x.Size
	}
	if most := q.Limits.PerUser(c.User); most > 0 {
		s.user = len(q.users[c.User].holders) + 1 - most
	}
	if most := q.Limits.MaxRunning; most > 0 {
		s.host = q.running + 1 - most
	}
	return s
}
