// Package self owns what the daemon changes about its own process before it starts
// jobs: open files, priority, and what children would inherit.
package self
