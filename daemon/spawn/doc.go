// Package spawn owns the processes of runs, which it starts as their users, signals and reaps, and
// whose output it keeps. It also starts the programs that the daemon itself has use for.
//
// A run costs no thread and no goroutine. Two goroutines do the work of all:
// the process loop starts and reaps (so that no child can end before it is known), and
// the reader reads every output pipe through one epoll instance. Processes are
// made by a starter (package starter), never by this process itself: users could delay it
// otherwise. os/exec and os.Process are not used here: each Wait blocks a thread, and ten thousand
// sleeping jobs would be ten thousand threads. Only operations that wait for other services have
// their own goroutines, a few for all: looking up users in a directory service, and beginning
// sessions through the service manager.
//
// While Run runs, it reaps every child of this process, orphans too when the
// process is PID 1. Nothing else in the process may wait for a child, which
// rules out os/exec elsewhere: Exec is for that.
//
// Runs outlive the daemon in two ways. Hold, Handover and Adopt pass them to the program that
// replaces this one by exec: they stay its children, and nothing is lost. After a crash, Adopt
// takes the descriptors that the service manager kept (Options.Keep), the kernel reports through a
// pidfd how processes ended, and files hold their output (Options.Runs). A run without a known end
// is lost, and never a success.
package spawn
