// Package overview owns the state of the daemon and of all jobs at a glance: the status, and the
// board, which sends the rows of all jobs and then their changes.
package overview
