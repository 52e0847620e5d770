// Package runoutput owns the output that is kept of a run, which is its first and last bytes in
// memory, and the file that survives a crash of the daemon.
package runoutput
