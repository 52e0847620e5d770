// Package cli owns what all commands of cronring share: one call of the program
// with its output, questions and connection to the daemon, the flags and forms of
// output that many commands have, and reading and writing of times.
package cli
