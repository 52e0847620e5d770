// Package state owns the values that jobs keep from run to run: their limits, and where they are
// stored.
package state
