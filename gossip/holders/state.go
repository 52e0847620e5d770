package holders

import (
	"cmp"
	"math"

	"github.com/cronring/cronring/daemon/engine/exchange"
)

// entry is the record of an occurrence.
type entry struct {
	mine, theirs state
	asked        name  // the member that was last answered Free, or nobody
	lostTo       name  // the member that won against a claim of this one, or nobody
	askedIn      uint8 // the highest generation of these two claims
	askedAt      int64 // when asked was first answered Free
	changed      int64
}

type state struct {
	member     name
	run        int64
	attempt    uint16
	generation uint8
	phase      exchange.Phase // 0: not taken
	lost       uint8
	vanished   bool
	orphan     bool   // its member has died since it reported this state
	givenUp    bool   // see Mark; it is an orphan, too
	started    uint32 // of the last mark with GivenUp: see Mark
}

// givenUpStep is the step of a mark with GivenUp, after which its member does not begin another attempt.
const givenUpStep = math.MaxInt - 1

// step maps a phase and an attempt to a number that grows with progress: an attempt begins, the
// next one waits and begins, and so on, until the occurrence is over.
func step(p exchange.Phase, attempt uint16) int {
	switch p {
	case exchange.Taken:
		return 2*int(attempt) + 1
	case exchange.Begun:
		return 2 * int(max(attempt, 1))
	case exchange.Over:
		return math.MaxInt
	}
	return 0
}

func (s *state) step() int {
	if s.givenUp {
		return givenUpStep
	}
	return step(s.phase, s.attempt)
}

// isOver reports whether the member has decided the occurrence: it ran it to its end, or skipped it.
func (s *state) isOver() bool { return s.phase == exchange.Over && !s.vanished }

func (s *state) began() bool { return s.phase >= exchange.Begun && s.run != 0 }

// supersedes reports whether s is the valid one of two marks of an occurrence, by different members.
func (s *state) supersedes(other *state) bool {
	switch {
	case s.phase == 0 || other.phase == 0:
		return s.phase > 0
	case s.isOver() != other.isOver(): // a member of a later generation may not have known of the end
		return s.isOver()
	case s.generation != other.generation:
		return s.generation > other.generation
	case (s.phase == exchange.Taken) != (other.phase == exchange.Taken):
		return other.phase == exchange.Taken
	case s.orphan != other.orphan:
		return other.orphan
	}
	return s.member.Value() < other.member.Value()
}

// holder returns the valid mark, or one with phase 0.
func (e *entry) holder() *state {
	if e.mine.supersedes(&e.theirs) {
		return &e.mine
	}
	return &e.theirs
}

// ran reports whether this member ran the occurrence to its end, even if members that did not
// know of it took it again.
func (e *entry) ran() bool {
	return e.mine.isOver() && e.mine.run != 0
}

// release removes this member's mark if it took the occurrence but did not begin it, and reports whether
// it did so. A mark with GivenUp
// stays, because others may have an older mark of this member, which only a newer one replaces.
func (e *entry) release() (removed bool) {
	if e == nil || e.mine.phase != exchange.Taken || e.mine.givenUp {
		return false
	}
	e.mine = state{}
	return true
}

func mark(o exchange.Occurrence, s *state) Mark {
	m := Mark{
		Occurrence: o, Member: s.member.Value(), Generation: s.generation, Phase: s.phase,
		Vanished: s.vanished, Attempt: s.attempt, Lost: s.lost, Run: s.run, GivenUp: s.givenUp,
	}
	if s.givenUp {
		m.Started = s.started
	}
	return m
}

// replaces reports whether a mark from another member replaces the known one.
func (s *state) replaces(known *state) bool {
	if s.member != known.member || known.phase == 0 {
		return s.supersedes(known)
	}
	if s.generation == known.generation && s.givenUp && !known.givenUp && known.started > 0 && s.started <= known.started {
		return false // the member has taken it back since
	}
	return cmp.Or(cmp.Compare(s.generation, known.generation), cmp.Compare(s.step(), known.step()), cmp.Compare(s.started, known.started)) > 0
}

// blocks reports whether a mark that member self knows is a reason for it to refuse the question of another
// one. If the mark is its own, it refuses even a question about a later generation, unless it gave up.
func (s *state) blocks(self, asker name, q Question) bool {
	switch {
	case s.phase == 0, s.phase == exchange.Taken && s.member == asker: // the claimant was restarted and claims its own
		return false
	case q.Mine && s.phase == exchange.Begun && s.member == asker: // it claims the next attempt
		return false
	case s.generation < q.Generation && s.givenUp:
		return false
	case s.generation < q.Generation:
		return s.member == self || s.step() > step(q.Phase, q.Attempt)
	case s.generation == q.Generation && q.Mine:
		return s.phase > exchange.Taken || !s.givenUp && s.member.Value() < asker.Value()
	}
	return true
}
