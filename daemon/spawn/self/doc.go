// Package self owns the changes that the daemon makes to its own process before it starts jobs, to
// open files, priority, and what children would inherit.
package self
