// Package monitoring owns what monitoring systems read of a daemon: counts of events since it
// started, and the metrics that are made from them and from the states of jobs.
package monitoring
