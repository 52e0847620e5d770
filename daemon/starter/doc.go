// Package starter owns the small process beside the daemon that starts the processes of runs, so that
// nothing a user controls happens in the daemon's memory or on its time.
//
// syscall.ForkExec shares the caller's memory with the new process, and blocks
// the caller, until the new process has executed its program (vfork). If that
// process already belongs to a user, then this user can stop it, can let it
// wait for a file system that never answers, and stops the daemon with it.
//
// Therefore the daemon runs this program once more under the name Name. That
// process, the starter, receives one Command at a time over a socket, forks
// without sharing memory, and answers with the number of the new process, which
// becomes a child of the daemon (CLONE_PARENT). The starter never waits for the
// new process. Between fork and exec the new process becomes the user, changes
// its directory and sets its limits; it has a copy of the few pages of the starter
// that it needs for that (see memory.go), holds no descriptor and no lock of the
// daemon's, and reports trouble through a pipe of its own. See Progress.
//
// The starter ends when the daemon's end of the socket is closed, so also when
// the daemon dies or is replaced by another program.
package starter
