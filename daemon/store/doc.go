// Package store owns history: every decision, run and output, and what a
// restart must know, in one SQLite database in the daemon's state directory.
package store
