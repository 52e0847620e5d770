// Package nocolor owns a workaround that sets NO_COLOR before Lip Gloss is initialised, so that its
// slow colour detection does not run. For a default printer that cronring does not
// use, Lip Gloss determines how many colours the terminal has; in tmux it starts another program
// for that and waits for it, even for commands that print nothing with it.
//
// Go initialises packages in the order of their import paths, as far as dependencies allow. This
// package needs only os, and precedes os/exec, on which Lip Gloss depends. The package tui is
// initialised after Lip Gloss, because it imports it, and restores the environment: the program and
// its child processes see no difference.
package nocolor

import "os"

const name = "NO_COLOR"

var value, set = os.LookupEnv(name)

func init() { os.Setenv(name, "1") }

// End restores the environment.
func End() {
	if set {
		os.Setenv(name, value)
		return
	}
	os.Unsetenv(name)
}
