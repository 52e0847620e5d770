// Package sidecar owns the options that the daemon's configuration sets for entries of crontabs, their
// checks, and which of them apply to an entry.
package sidecar
