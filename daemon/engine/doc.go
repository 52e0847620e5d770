// Package engine owns the scheduler, which decides without any input or output which occurrences
// run, which are skipped and why, and which runs wait, are retried, stopped or caught up.
//
// Its main method is Step. Step takes one reading of the clocks and the events since
// the last step, and returns effects: first facts to store, then operations to carry
// out. The facts have codes, names, numbers and times; package job makes the words for
// those who read them. Step does not read a clock, a disk or a random source, and it takes no lock. A
// year of jobs, suspends, clock steps, reloads and crashes can therefore be replayed
// from one seed in seconds.
//
//	Step: 1 readClock      a clock that was set back by a minute or more begins an era
//	      2 take           answers of the ring; events: Load, Started, Ended, Checked, requests
//	      3 startOnHost    on=resume and on=clock
//	      4 settle         checks the runs and jobs that loads affect, some in each step
//	      5 expire         timers: timeout, kill, retry, wait, parents, watchdog, max-late, max-run, expect
//	      6 dispatch       assigns free slots to waiting runs
//	      7 checkBlackout  reports to the ring when a blackout of the host begins or ends
//	      8 fire           agenda and delay= -> due occurrences -> decideDue
//	      9 fill           backfills; dispatch again
//	     10 preempt        stops preemptible runs whose slots a run with preempt needs
//	      startNext, in 2, after 5 and before 10: the next in the queue of a job that lost a run, and the next if=
//
//	occurrence  of the clock, a period, a boot, on=, a request, a backfill or the ring (Due -> Permit; or Deny -> skip)
//	     |
//	   judge    package gate: host, held, user, pause, breaker=, period | catchup= | period, once-per=, deadline=,
//	     |      hours, delay, jitter= of what is caught up, max-instances=, number of waiting runs, overlap= -> skip | hold | run
//	   admit    makes the run: hold, or pass
//	     |
//	    run     pass: load= etc. -> if= -> after= -> slots -> fencing token -> start; each can hold or drop it
//	            hold: queued or waiting (job.WaitsOn); later goOn -> judge -> hold | pass | dropped
//	     |      decided -> running
//	   ended    live.Judge -> stamp -> remove -> conclude: retry | enter (summary) -> follow
//	     |
//	   retry    for retry=, if-lost=rerun or a preempted run: decide with the attempt before -> hold (backoff, slots)
//
// The installed jobs are a catalog.Catalog, which each Load replaces (load.go); package
// install finds what a load changes, and restore.go continues the runs of the daemon
// before. Whatever its source, an occurrence becomes a run in decide.go, by the rules of
// package gate; period.go has the stamps of periods, delay.go plans what delay= starts, and
// events.go starts the jobs of other events in on=. Now it passes the gates of a run one
// after the other (gates.go): the conditions of the host (load=, need-memory= and others), the
// command of if=, the jobs in after= (depend.go), slots and the fencing token.
// finish.go handles its end and its stop: stamp, verdict, and in conclude.go the next
// attempt, the summary with the breaker, the notifications (notice.go), and the jobs that
// wait for it or start on it (follow in depend.go). A dead letter that is run again
// and the occurrences of a backfill (request.go) pass the same gates.
//
// The engine holds the state. Rules that need little of it are in packages of their own:
//
//	event -> engine -> effect      what happens, and what the daemon must do
//	            |
//	            +--- install       what a load changes
//	            +--- agenda        what is due when; catchup=, timers
//	            +--- gate          the decision on an occurrence
//	            +--- live          one run: its gate, verdict, backoff, grace
//	            +--- join          the parents of a run: when=
//	            +--- slots         the queue of runs for slots, pools and rates
//	            +--- backfill      occurrences of the past
//	            +--- view          what others may read
//
// On a host in a ring, StepIn steps the engine and the ring (gossip/claims) in turn. The
// ring decides which member runs an occurrence of a job with scope=ring: the engine reports
// those that are due, and each change of their phases. An occurrence that the ring permits
// passes the same gates (shared.go). The messages between the two are those of
// daemon/engine/exchange.
//
// A daemon that is replaced while jobs run sends Drain to the engine. Occurrences that
// come due after that stay undecided, and waiting runs stay waiting. The next daemon
// finds all of them in State, and the runs whose processes it watches as Adopted.
//
// # Invariants
//
// The simulator asserts them after every step and reports their numbers.
//
//  1. Each occurrence after a job's mark is decided exactly once, in order.
//  2. With overlap=skip, a job never has two live runs.
//  3. No run starts before its record was passed to the store.
//  4. Setting the clock never makes an occurrence be decided twice. If the clock
//     is set back so far that occurrences should repeat, a new era begins: an
//     occurrence is (job, due, era).
//  5. Loading an unchanged crontab is a no-op.
//  6. A finished world is empty.
//  7. Every skip has a reason that a person can read.
//  8. A period has at most one run, one at a time, and each run that ended leaves
//     a stamp. If no anacrontab checks the period daily, it runs at most once a
//     day. Manual runs are additional.
//  9. A run that is adopted is neither lost nor started again.
//  10. Nothing starts while the daemon drains, nor for a user who is barred.
//  11. No run starts before its parents have ended as after= and when= require. For
//     each parent, the newest occurrence since the run's own last one counts, and
//     it must not be live. No run waits for parents whose ends decide when=.
//  12. Each end of a run that on= selects starts, queues or skips the child once,
//     in the same step.
//  13. Each run is decided once and ends once, and has no records afterwards.
//  14. No job in a cycle of after= and on= starts, unless a person forces it.
//  15. No occurrence has more attempts than retry= allows, apart from at most three
//     that were lost and started again.
//  16. Each run that ends has a verdict, and each occurrence has one final verdict;
//     a dead letter that is run again has another.
//  17. While a breaker holds a job, it starts only if a person requests that;
//     afterwards one probe at a time starts.
//  18. After a restart, the engine's summaries equal those in the store.
//  19. Channels are notified once of a trouble, until a success. If a job has no
//     success within expect=, that is a trouble.
//  20. No start takes more slots than exist, or exceeds a pool's rate, unless a
//     person forces it.
//  21. No run starts before another one that waits for the same slots and comes
//     first in order: see package slots.
//  22. No run waits for a slot while one is free, and no user has more waiting runs
//     than queue-max allows.
//  23. A backfill decides each of its occurrences once, in order, and never exceeds
//     its limit of live runs.
//
// The following apply to rings of three to nine members. Members are partitioned,
// killed, stopped for a while, joined, left and edited, and their clocks differ by
// less than 5 s:
//
//  24. With voters, no occurrence begins twice, unless if-lost=rerun allows it.
//  25. Each occurrence is run, or skipped for a reason, by some member, except those
//     that a member had when it was killed. In a ring without partitions this happens
//     exactly once, whichever members join, leave as planned or have another entry.
//  26. No occurrence runs on two members that saw each other. If it ran on two that
//     did not, both report that afterwards.
//  27. A member runs the occurrences that are for it, and no others.
//
// The following apply to each host:
//
//  28. Of the occurrences that a job missed, one starts, unless catchup=all.
//  29. No run waits for an earlier run of its job if none is live.
//  30. No run starts later than deadline= allows, unless a person forces it.
//  31. A run gets its stop signal exactly when timeout= is over, and KILL exactly
//     when stop-grace= is over after that. It gets the signal again only if a person
//     stops it too, a newer run replaces it, or the daemon ends all runs.
//  32. A further attempt starts no earlier than backoff= allows, and waits no longer.
//  33. While a job is paused, its scheduled occurrences are skipped, or with pause-counts=
//     wait for the end of the pause. A pause until a time ends then, and not before. A
//     skip covers the occurrences that come due in it.
//  34. No attempt is planned later than retry-for= allows.
//  35. Unless a person requests it, no run starts outside of window= and blackout= or in
//     a blackout of the host; a start on time counts at its due time.
//  36. A run gets its stop signal exactly when it has given no sign of life for as long
//     as watchdog= allows, the time in which the host was suspended excluded.
//  37. A run is preempted only for a waiting run of higher priority, of the same user or
//     of root's crontabs, and at most three times for one occurrence.
//  38. A job with delay= starts by itself no sooner than that after its last run was over,
//     and never while a run of it is live. If none is live, its next occurrence is planned,
//     no later than delay= from now (in steps of agenda.DelayStep), or when its hours begin.
//  39. At most max-running-per-user commands of if= of a user other than root run at once.
package engine
