// Package actions owns the requests that act on jobs and runs, such as starting, stopping, pausing,
// retrying and backfilling them, acknowledging failures, and handling dead letters.
package actions
