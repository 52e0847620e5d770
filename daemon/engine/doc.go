// Package engine owns every decision: what runs, what is skipped and why,
// what is queued, retried, stopped, made up.
//
// It is a value with one method that matters: Step takes one reading of the
// clocks and what has happened, and returns what to do. It reads no clock, no
// disk, no lock and no random source, so a year of jobs, suspends, clock
// steps, reloads and crashes can be replayed from one seed in seconds.
//
// A firing passes, in this order: enabled, held, the account, paused (standing
// in decide.go); the period (period.go); deadline and catch-up (catchup.go);
// overlap (admit in decide.go). From there it is a run, which the gates of
// gates.go hold back one after the other: the command of if= (check.go), the
// runs that after= names (depend.go, join.go), a place (place.go; who is next
// is in line.go and pool.go). Then it starts, and finish.go sees to its end:
// stamp, verdict (verdict.go), the next attempt (retry.go), the ledger
// (ledger.go) with what channels are told of (notice.go) and the breaker that
// standing asks (breaker.go), whoever waits for it or starts on it (follow in
// depend.go), and whoever queued behind it. A dead letter that is run again
// (dead.go) and the past that a backfill goes over (backfill.go) pass the same
// gates.
//
// On a host in a ring the occurrences of jobs of scope=ring are first claimed
// (turn.go, bid.go), by the members in the order of rank.go: one that is granted passes
// the same gates. The ring itself is outside: it says who there is, answers
// claims, and tells the others how far each occurrence is.
//
// A daemon that is replaced while jobs run is told to Drain; what is due from
// then on stays undecided, what waits stays waiting, and the daemon that takes
// over finds all of it in State, with the runs that it watches as Adopted.
//
// # Invariants
//
// The simulator asserts them after every step; the numbers are its messages.
//
//  1. Each occurrence after a job's mark is decided exactly once, in order.
//  2. overlap=skip never has two live runs.
//  3. No start before its record was given to the store.
//  4. No clock step decides an occurrence twice. Where the clock was set back
//     so far that occurrences are meant to repeat, a new era begins: an
//     occurrence is (job, due, era).
//  5. Loading an unchanged table is a no-op.
//  6. A finished world is empty.
//  7. Every skip has a reason that a person can read.
//  8. A period runs at most once in it, one run at a time, and each run that
//     ended leaves a stamp; where no anacrontab asks about it daily, at most
//     once a day. What a person asks for comes on top.
//  9. A run that is adopted is neither lost nor started again.
//  10. Nothing starts while the daemon drains, nor as an account that is barred.
//  11. No run starts before its parents have ended as after= and when= ask: each
//     by its newest occurrence since the run's own last one, of which none lives.
//     None waits for parents that have all ended.
//  12. Each end of a run that on= names starts, queues or skips its child once,
//     in the same step.
//  13. Each run is decided once and ends once, and nothing is said of it
//     afterwards.
//  14. No member of a circle of after= and on= starts, unless a person insists.
//  15. No occurrence has more attempts than retry= says, but for those, three at
//     most, that were lost and started again.
//  16. Each run that ends has a verdict, and each occurrence one that is final; a
//     dead letter that is run again has another.
//  17. Nothing starts by itself while breaker= holds its job, and then one probe
//     at a time.
//  18. What the engine remembers of jobs is what the store has, over restarts.
//  19. Channels are told once of a trouble, until a success.
//  20. No start takes more places or slots than there are, nor exceeds a pool's
//     rate, unless a person insists.
//  21. Nobody starts before another that waits for the same place and comes
//     first: see place.go.
//  22. No run waits for a slot while one is free, and no more runs of one user
//     wait than queue-max allows.
//  23. A backfill decides each of its occurrences once, in order, and has no more
//     live runs than it may.
//
// And of rings of three to nine members that are cut in two, killed, stopped for
// a while, joined, left and edited, with clocks that differ by less than 5 s:
//
//  24. With voters no occurrence is begun twice, unless if-lost=rerun asks for it.
//  25. Each occurrence is run, or skipped for a reason, by somebody: but for those
//     of a member that was killed when it had them. In a ring that is whole it is
//     so exactly once, whoever comes, leaves as planned or has another entry.
//  26. None runs on two members that saw each other, and where it ran on two that
//     did not, both say so after that.
//  27. A member runs what is for it, and no more.
//
// And of each host:
//
//  28. Of the occurrences that a job missed, one starts, unless catchup=all.
//  29. No run waits for an earlier one of its job if none lives.
//  30. No run starts later than deadline= allows, unless a person insists.
//  31. timeout= asks a run to end when its time is over, and stop-grace= kills it
//     when that is over: neither sooner nor later.
//  32. A further attempt starts no sooner than backoff= allows, and waits no longer.
package engine
