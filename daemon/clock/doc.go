// Package clock owns the daemon's clock, with one alarm that rings when the wall clock reaches an
// instant or is set.
//
// Go's timers count CLOCK_MONOTONIC, which stops while the host sleeps and ignores changes of the
// wall clock, so the alarm uses two timerfds:
//
//   - one on CLOCK_BOOTTIME, armed with the time that remains. It counts
//     suspend, and it does not depend on the wall clock that Now reads, so a wall
//     clock simulated for this process alone works as the real one does.
//   - one on CLOCK_REALTIME, far in the future, which serves to be cancelled: the
//     kernel does that when the wall clock is set, and after each resume.
//
// A wall clock that is slewed (by up to 500 ppm) drifts away from
// CLOCK_BOOTTIME. A long wait is therefore approached in stages, and the end
// of each stage is checked against the wall clock: the alarm never rings
// early, and rings milliseconds late at most.
package clock
