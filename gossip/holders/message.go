package holders

import "github.com/cronring/cronring/daemon/engine/exchange"

// Mark records that a member took an occurrence, and its progress.
type Mark struct {
	exchange.Occurrence
	Member     string
	Generation uint8 // number of times that it was taken before, by members that died
	Phase      exchange.Phase
	Vanished   bool   // the process of the latest attempt disappeared, and its exit status is unknown
	Attempt    uint16 // number of the latest attempt that began, on any member; 0: none
	Lost       uint8  // number of attempts that were made because the process of the previous one vanished
	Run        int64  // ID of the run on that member; 0: none yet, or it was skipped
	GivenUp    bool   // the member left with it Taken, or could not start it: it never begins it
	Started    uint32 // with GivenUp: number of the start of the member's daemon, which grows; 0: unknown
}

// Grant is the decision on a claim.
type Grant uint8

// The grants.
const (
	Undecided Grant = iota // more answers are needed
	Granted
	Refused
	Postponed // a member answered Later or is not seen yet, or the voters did not answer; it can be claimed again
)

// Question is a request to another member to grant an occurrence.
type Question struct {
	exchange.Occurrence
	Serial     uint32 // number of the claim, so that an answer is not taken for one to another claim
	Generation uint8
	Phase      exchange.Phase // the last known phase of the previous generation; in the first generation 0
	Attempt    uint16         // of Phase
	Mine       bool           // the claimant has taken it before, and checks whether it still holds it
}

// Reply is the kind of an Answer.
type Reply uint8

// The replies.
const (
	Free   Reply = iota + 1 // the member does not object
	Busy                    // the member claims it too, and has precedence
	Known                   // it is taken: see Mark
	Old                     // it is too old to be remembered, and a later occurrence of its job was taken
	Later                   // by the member's clock it is not due yet, or the member does not see the claimant
	Silent                  // there was no answer; never sent
)

// Answer is the response of a member to a Question.
type Answer struct {
	exchange.Occurrence
	Serial uint32 // the question's
	Reply  Reply
	Mark   Mark // of Known
}

// Changes lists the changes that resulted from the reports of other members.
type Changes struct {
	Others  []exchange.Occurrence // newly known to be taken by others
	Yielded []Report              // of occurrences that this member took and must not begin
	Doubled []Report              // of runs of occurrences that also ran here
	Orphans []Report              // taken but not over, by members that died, or by this one before it was restarted
}

// Report is a mark of another member. The caller sets Host and Left, but not Left with Asks: a member
// whose final state lacks an occurrence never took it.
type Report struct {
	Mark
	Tried []string // the members that gave the occurrence up, as far as this one knows
	Host  string   // the member's
	Asks  bool     // the member claimed it: no report shows that it took it
	Left  bool     // the member left and sent its final state, or gave the occurrence up: it never begins what it had not begun
}
