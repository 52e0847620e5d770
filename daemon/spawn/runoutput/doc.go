// Package runoutput owns what is kept of the output of a run: its first and last bytes
// in memory, and the file that survives a crash of the daemon.
package runoutput
