// Package runs owns the commands about runs of jobs: run, stop, retry, backfill, dead,
// history, logs, stats, timeline and events.
package runs
