// Package spawn owns the processes of runs: it starts a command as its
// account, signals it, keeps what it prints, and reaps it.
//
// A run costs no thread and no goroutine. Two goroutines do the work of all:
// the hand forks and reaps (so that no child can end before it is known), and
// the pump reads every output pipe through one epoll instance. os/exec and
// os.Process are of no use here: each Wait parks a thread, and ten thousand
// sleeping jobs would be ten thousand threads.
//
// While Run runs, it reaps every child of this process, orphans too when the
// process is PID 1. Nothing else in the process may wait for a child, which
// rules out os/exec elsewhere.
package spawn
