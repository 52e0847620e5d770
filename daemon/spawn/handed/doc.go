// Package handed owns what one daemon leaves to the next about its running jobs: what
// it passes over exec, and the files that remain after a crash.
package handed
