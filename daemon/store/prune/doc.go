// Package prune owns the removal of old history: what goes, and in steps so small that commits and
// readers are not held up.
package prune
