// Package overview owns the requests for the state of the daemon and of all jobs at a glance, which
// are the status, and the board, a stream of the rows of all jobs and of their changes.
package overview
