// Package actions owns the requests that act on jobs and runs: start, stop, pause, retry and
// backfill them, acknowledge failures, and handle dead letters.
package actions
