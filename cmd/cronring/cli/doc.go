// Package cli owns the parts that all commands of cronring share, such as output, questions, flags,
// times and the connection to the daemon.
package cli
