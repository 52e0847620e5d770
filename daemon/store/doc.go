// Package store owns the history, which has every decision, every run with its output, and the
// state that a restarted daemon needs. It is one SQLite database in the daemon's state directory.
package store
