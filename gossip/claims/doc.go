// Package claims owns the decision which member of a ring runs an occurrence: it ranks
// this member, claims occurrences at the time of its rank, and takes over those of members
// that are gone. It performs no I/O.
//
// The loop steps the engine and a Ring in turn, see engine.StepIn. The messages between them
// are those of daemon/engine/exchange. Towards the other members, a Ring emits effects and
// takes events of gossip/holders.
//
// Each occurrence of a job with scope=ring belongs to one member. When it comes due, every
// member computes its own rank for it (ranking.go). The owner has the first rank: it claims
// the occurrence at once. The next three members each claim it after one more hold-off,
// unless they learn meanwhile that another member took it. Every claim goes to all other
// members, or to the voters. Members may therefore compute different ranks, for instance
// while a member joins or while an edit has not reached all of them.
//
// The states of an occurrence on a member:
//
//	 Due                                    orphaned: the member that had it is gone
//	  |                                        | ranked anew
//	waiting <----------------------------------+
//	  | ^ | others took it: the claim ends
//	  | | +------------------------------------>
//	  | | not decided by members or voters
//	  | +-------------------+
//	  | its time has come   |
//	asked ------------------+
//	  | | refused: the claim ends, or Revoke
//	  | +------------------------------------>
//	  | granted: Permit
//	granted   the engine runs it later, or has skipped it: Progress over
//	  | Progress begun
//	running   until Progress over
//
// A granted occurrence waits again after Unstarted: this host was suspended or restarted, or
// the run needs a newer fencing token. While this host is suspended, asked becomes outdated:
// a grant does not count, and the occurrence is claimed again.
//
// If this member was asleep or restarted, the others may have treated its occurrences as
// orphaned. It therefore claims again each run that has not begun before it continues the
// run. A drained member claims nothing new, and continues with the occurrences that it has.
// A member that leaves also gives up its occurrences that have not begun, and reports that
// to the others (depart). They then treat it as dead, and take over these occurrences. Those that, as
// far as it knows, no other member may run stay there: it reports them as begun.
// In strict mode, a member that finds it dead must assume that it has begun what was granted to
// it. So the marks of what it gave up say that (holders.Mark.GivenUp), and reach also a member that
// was cut off meanwhile. Claims that the voters have not answered are given up, too. If no other
// member that it sees could take over, it repeats them before.
//
// A member on which a run could not start gives its occurrence up, too, and stays (giveUp).
//
// Occurrences of a ring do not depend on an era: they are identified by (key, due) alone,
// and setting the clock back repeats none of them.
package claims
