// Package handed owns the description of a running job for the next daemon, which receives it from
// the daemon before it (package handover) or, after a crash, reads it from files.
package handed
