// Package prune owns the removal of old history: which rows are removed, in steps that are too short
// to delay commits and readers.
package prune
