// Package gossip owns this host's membership in a ring, through which it learns which other members
// are there, since when, with which jobs, and which occurrences they took. It uses
// hashicorp/memberlist for that, and decides nothing about jobs.
//
// One goroutine of a Ring owns all its mutable state. memberlist's callbacks only
// add to an inbox, because they run under memberlist's locks: blocking there, or
// calling memberlist, would cause a deadlock.
//
// # The states of an occurrence
//
// The loop's state machine (gossip/claims) ranks its member for an occurrence, and keeps it
// until it is granted. Then the table of holders (gossip/holders) has a mark of it on all members.
//
//	claims of each member   holders of this member          holders of other members
//	---------------------   ------------------------------  ----------------------------
//	unranked
//	   | due: rank by hash
//	waiting <----------------------- others took it: dropped <- Taken
//	   | rank x hold-off
//	asked   -- Claim -----> asked  ----- claim, Question --->  asked, remembered
//	   |                      |  <---- Free, or no answer ---  no objection
//	   |                      |  <---- Busy, Known, Old -----  it has precedence, or took it
//	   |                      |  <---- Later ----------------  its clock is behind, or it does not see the claimant
//	   | <- Postponed --------+  waiting again, longer each time
//	   | <- Refused ----------+  dropped
//	   | <- Granted ----------+
//	run waits               Taken  ----- mark -------------->  Taken by this member
//	   | Progress             |
//	run has a process       Begun  ----- mark -------------->  Begun by this member
//	   | Progress             |
//	run ended               Over   ----- mark -------------->  Over
//
//	a member dies or leaves, and its mark is Taken or Begun:
//	waiting <- Orphans -----------------  Taken or Begun, orphaned: claimed in the next generation
//
//	a run could not start:
//	last    -- Progress --> given up  --- mark, confirmed ->  orphaned: likewise, by those that have not tried it
//
// In strict mode, Claim goes to the voters (gossip/ledger) instead. The table of holders has the
// result in the same way.
//
// # The messages
//
// Requests are sent over gossip/link, and answered. Each is known by its verb:
//
//	claim    questions whether occurrences can be taken           answers: Free, Busy, ...
//	final    the last state of a member, or what it gave up        confirmed, or sent again
//	double   marks of runs that double those of the member         likewise
//	marks    the marks that changed since some time ago            marks, in pages
//	newest   the newest taken occurrence of each job               in pages
//	roster   the jobs of the member, if their digests differ       entries, in pages
//	hello    whether the member is alive                           its clock
//
// memberlist carries the rest: the description of each member (meta), marks in packets
// that may be lost, the marks of the last minutes in each push/pull, and the clock of the
// member, the number of its runs, and a digest of the members that it sees in each answer
// to a probe.
//
// # A member
//
//	outside -> joining -> joined         sees most members, has their marks and a right clock
//	staying -> draining -> departing -> final -> outside
//	           claims      the engine    sends its final state until
//	           nothing     gives up what all members confirm it
//	           new         it has not
//	                       begun
package gossip
