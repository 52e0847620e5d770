// Package history owns the requests that show runs: lists, also of other members of the ring, single
// runs, their output, and events as they happen.
package history
