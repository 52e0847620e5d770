package exchange

import (
	"time"

	"github.com/cronring/cronring/daemon/job"
)

// View is an immutable picture of the ring. Its jobs have the numbers of Host.Jobs.
type View interface {
	// Owner returns the owner of an occurrence of a job among the current members. ok is
	// false for a job that is not a ring job, or if the members are not known.
	Owner(i int, at time.Time) (owner Owner, ok bool)

	// OwnerThen returns the owner of an occurrence of a job among the members at its time.
	// ok is false if the occurrence is too old for the members to be known.
	OwnerThen(i int, at time.Time) (owner Owner, ok bool)

	// Owners returns a function that returns the host name of the owner of the occurrence of
	// a job that is due at an instant, or "" if the job is not a ring job or has no owner.
	// The function must not be called concurrently.
	Owners() func(i int, at time.Time) string

	// Shares counts the ring jobs that each member owns at an instant, by member ID, and the
	// ring jobs that no member can take.
	Shares(at time.Time) (of map[string]int, nobodys int)

	// Others reports whether another member can take over an occurrence of a job that could start
	// neither here nor on the members in tried.
	Others(key job.Key, tried []string) bool

	// Undecided returns the occurrences whose owner could not be decided yet.
	Undecided() []Undecided

	// TakesNothing reports whether this member takes no new occurrences.
	TakesNothing() bool

	// SameMembers reports whether another View has the same members.
	SameMembers(View) bool
}

// Owner lists the members for the occurrences of a ring job.
type Owner struct {
	Members []Candidate // first the members that can take it, in order of rank; then the others
}

// Candidate is a member as a possible owner of a job.
type Candidate struct {
	ID, Name string
	Self     bool
	Against  string // why it cannot take the job, or ""
}

// Undecided is an occurrence of a ring job whose owner could not be decided yet.
type Undecided struct {
	Job job.ID
	Due time.Time
	Why string // "": the voters did not answer
}

// NoRing is the View of a host in no ring.
type NoRing struct{}

// Owner knows no members.
func (NoRing) Owner(int, time.Time) (Owner, bool) { return Owner{}, false }

// OwnerThen knows no members.
func (NoRing) OwnerThen(int, time.Time) (Owner, bool) { return Owner{}, false }

// Owners knows no members.
func (NoRing) Owners() func(int, time.Time) string { return func(int, time.Time) string { return "" } }

// Shares knows no members.
func (NoRing) Shares(time.Time) (map[string]int, int) { return map[string]int{}, 0 }

// Others is false: there are none.
func (NoRing) Others(job.Key, []string) bool { return false }

// Undecided is empty: no occurrence waits.
func (NoRing) Undecided() []Undecided { return nil }

// TakesNothing is false: the host is not drained.
func (NoRing) TakesNothing() bool { return false }

// SameMembers reports whether the other View is one of a host in no ring, too.
func (NoRing) SameMembers(o View) bool { return o == View(NoRing{}) }
