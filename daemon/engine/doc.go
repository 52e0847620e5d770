// Package engine owns every decision: what runs, what is skipped and why, what
// waits, what is retried, stopped or caught up.
//
// It is a value with one method that matters: Step takes one reading of the clocks
// and the events since the last step, and returns effects: facts to store, then acts
// to carry out. It reads no clock, disk, lock or random source, so a year of jobs,
// suspends, clock steps, reloads and crashes can be replayed from one seed in seconds.
//
//	Step: 1 readClock  a clock that was set back by a minute or more begins an era
//	      2 take       events: Load, Started, Ended, Checked, requests of people, the ring
//	      3 settle     looks at the runs and jobs that loads concern, some in each step
//	      4 expire     timers: timeout, kill, retry, delay, parents, max-late, expect
//	      5 dispatch   gives free slots to the runs that wait for them
//	      6 fire       agenda -> due occurrences -> decide
//	      7 bidAll, fill: claims in the ring, backfills; dispatch again
//	      startNext, after 2, 4 and 7: the next in the queue of a job that lost a run
//
//	occurrence: of a ring: bid -> claimed -> granted, and then as any other:
//	            standing -> period, or catchup -> admit; each of them can skip it
//	admit:      max-instances, overlap= -> skip | begin | queue | replace, then queue
//	run:        gates: overlap -> check -> parents -> place -> token -> open
//	            queued, waiting (see job.WaitsOn) -> decided -> running -> ended
//	            queued, waiting -> dropped
//	ended:      judge -> stamp -> remove -> conclude: retry | enter (ledger) -> follow
//
// What is installed is a catalog.Catalog, which each Load replaces; prepare.go finds
// what a load changes. An occurrence passes standing, which asks whether the job is
// enabled, held, for this host, for a user that can log in, paused or broken
// (decide.go), its period (period.go), deadline= and catchup= (catchup.go), and
// overlap= (admit in decide.go). Then it is a run, which the gates hold back one
// after the other (gates.go): the command of if= (check.go), the jobs in after=
// (depend.go, join.go), slots (place.go; line.go and pool.go say which run is next).
// finish.go deals with its end: stamp, verdict (verdict.go), the next attempt
// (retry.go), the ledger (ledger.go) with notices (notice.go) and the breaker
// (breaker.go), and the jobs that wait for it or start on it (follow in depend.go).
// A dead letter that is run again (dead.go) and the occurrences of a backfill
// (backfill.go) pass the same gates.
//
// On a host in a ring the occurrences of jobs of scope=ring are claimed first
// (turn.go, bid.go), by the members in the order of rank.go. One that is granted
// passes the same gates. The ring itself is outside the engine: it reports its
// members, answers claims, and tells the others the phase of each occurrence.
//
// A daemon that is replaced while jobs run takes Drain. Occurrences that come due
// after that stay undecided, and what waits stays waiting. The next daemon finds all
// of it in State, with the runs that it watches as Adopted.
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
