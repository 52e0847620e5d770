// Package monitoring owns the metrics for monitoring systems, which are counts of events since the
// daemon started, and figures of the daemon and of its jobs.
package monitoring
