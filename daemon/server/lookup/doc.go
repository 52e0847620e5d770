// Package lookup owns how requests refer to jobs and runs, and finds those that exist and that the
// caller may see, in the engine's view and in the history.
package lookup
