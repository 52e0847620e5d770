// Package command owns the description of the process of a run, with its program, user, environment,
// directory and limits, from which package spawn starts it.
package command
