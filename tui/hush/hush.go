// Package hush owns the moment before the program begins, in which Lip Gloss looks
// for a printer of its own how many colours the terminal has. In tmux it starts
// another program for that and waits for it, whatever the command is and though
// nothing prints by it. Where NO_COLOR is set it does not look.
//
// Of the packages that may be initialised Go takes the first by import path. This
// one may be once os is, and comes before os/exec, without which Lip Gloss cannot
// be. The package tui is initialised after Lip Gloss, as it imports it: nothing that
// the program does, or that it starts, has the environment otherwise than it was.
package hush

import "os"

const name = "NO_COLOR"

var value, set = os.LookupEnv(name)

func init() { os.Setenv(name, "1") }

// End makes the environment what it was.
func End() {
	if set {
		os.Setenv(name, value)
		return
	}
	os.Unsetenv(name)
}
