// Package sidecar owns the options of entries in the daemon's configuration: their
// checks, and which of them apply to an entry.
package sidecar
