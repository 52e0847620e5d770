package daemon

import (
	"errors"
	"os"
	"runtime"
	"sync"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/cronring/cronring/daemon/hosttest"
	"github.com/cronring/cronring/daemon/job"
)

// trace traces processes until the returned function is called, as a user can trace the processes of
// the user. That hides their ends from the daemon.
func trace(t *testing.T, pids ...int) (release func()) {
	t.Helper()
	traced, end := make(chan error), make(chan struct{})
	go func() {
		runtime.LockOSThread() // the tracer is the thread, which ends with the goroutine
		var err error
		for _, pid := range pids {
			err = errors.Join(err, unix.PtraceSeize(pid))
		}
		traced <- err
		<-end
	}()
	if err := <-traced; err != nil {
		hosttest.Missing(t, "cannot trace a process: %v", err)
	}
	release = sync.OnceFunc(func() { close(end) })
	t.Cleanup(release)
	return release
}

// A user who traces a job, or the process that watches the user's files, does not keep a daemon from
// ending that has no service manager. The next daemon reports how the run ended.
func TestTracedProcessesDelayNoStop(t *testing.T) {
	t.Parallel()
	h := newTestHost(t)
	dir := h.path("srv")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	h.userCrontab("ann", annID, "#@ name=import on=file:"+dir+"/*\n0 0 31 2 * true\n#@ name=long\n0 0 31 2 * exec sleep 1000\n")
	h.start()
	w := h.watch()
	h.write("srv/a", "text")
	h.chown("srv/a", annID)
	w.await("a run for a file", func(r job.Record) bool { return r.Kind == job.Ended && r.Job == "ann/import" })
	long := h.run("ann/long")[0]
	pid := w.await("a start", func(r job.Record) bool { return r.Kind == job.Started && r.Job == "ann/long" }).Run.PID
	release := trace(t, pid, h.fileWatcher(annID))
	h.signal(syscall.SIGTERM)
	h.said("stopping, no further job is started")
	h.stop() // the second signal does not wait for running jobs
	release()
	h.start()
	h.wantRun(long.ID, "signal 9", "")
	h.stop()
}
