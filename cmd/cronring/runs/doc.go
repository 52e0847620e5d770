// Package runs owns the commands about runs of jobs: run, stop, retry, backfill, dead,
// redrive and drop, history, logs, stats, timeline and events.
package runs
