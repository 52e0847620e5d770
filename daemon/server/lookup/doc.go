// Package lookup owns the search for the jobs and runs that a request refers to, in the engine's view
// and in the history, among those that the caller may see.
package lookup
