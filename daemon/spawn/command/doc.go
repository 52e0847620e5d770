// Package command owns what the process of a run is: its program, user, environment,
// directory and limits.
package command
