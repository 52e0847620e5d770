package daemon

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/cronring/cronring/daemon/job"
)

// fileWatcher waits for the process that watches the files of a user. The kernel's list of children
// may lack some while others end.
func (h *testHost) fileWatcher(uid int) int {
	h.t.Helper()
	for end := time.Now().Add(hostPatience); time.Now().Before(end); time.Sleep(time.Millisecond) {
		threads, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", h.cmd.Process.Pid))
		if err != nil {
			h.t.Fatal(err)
		}
		var children []string
		for _, file := range threads {
			text, _ := os.ReadFile(file)
			children = append(children, strings.Fields(string(text))...)
		}
		for _, pid := range children {
			name, _ := os.ReadFile("/proc/" + pid + "/comm")
			status, _ := os.ReadFile("/proc/" + pid + "/status")
			if string(name) == "cronring-files\n" && strings.Contains(string(status), fmt.Sprintf("\nUid:\t%d\t%[1]d\t%[1]d\t%[1]d\n", uid)) {
				n, _ := strconv.Atoi(pid)
				return n
			}
		}
	}
	h.t.Fatalf("no process watches files as user %d", uid)
	return 0
}

// stopFileWatcher stops the process that watches ann's files.
func (h *testHost) stopFileWatcher() (pid int) {
	h.t.Helper()
	pid = h.fileWatcher(annID)
	if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil {
		h.t.Fatal(err)
	}
	return pid
}

// renewalTime returns how long the daemon takes until its new program answers.
func (h *testHost) renewalTime() time.Duration {
	h.t.Helper()
	begun := time.Now()
	h.renew()
	return time.Since(begun)
}

// A user who stops the process that watches their files delays nobody: neither a daemon that is
// replaced, nor one that is stopped. The next daemon has another process, which finds what has
// arrived meanwhile.
func TestStoppedFileWatcherDelaysNobody(t *testing.T) {
	t.Parallel()
	h := newTestHost(t)
	dir := h.path("srv")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	arrive := func(name string) {
		h.write("srv/"+name, "text")
		h.chown("srv/"+name, annID)
	}
	h.userCrontab("ann", annID, "#@ name=import on=file:"+dir+"/*\n0 0 31 2 * echo \"$CRONRING_PATHS\"\n")
	h.start()
	arrived := func(name string) {
		t.Helper()
		w := h.watch()
		arrive(name)
		r := w.await("a run for "+name, func(r job.Record) bool { return r.Kind == job.Ended && r.Job == "ann/import" })
		h.wantRun(r.Run.ID, "ok", filepath.Join(dir, name)+"\n")
	}
	arrived("a")
	for delayed := 0; ; delayed++ {
		usual := h.renewalTime()
		pid := h.stopFileWatcher()
		took := h.renewalTime()
		gone(t, pid)
		if took-usual < toolTime {
			break
		}
		if delayed == 10 { // not by chance, on a busy machine
			t.Fatalf("the new daemon was ready after %v, without a stopped process after %v", took, usual)
		}
	}
	arrived("b")
	pid := h.stopFileWatcher()
	h.stop()
	gone(t, pid)
	arrive("c")
	h.start()
	w := h.watch()
	if r := h.newest("ann/import"); r.ID < 3 { // else it arrived before the records were watched
		w.await("a run for c", func(r job.Record) bool { return r.Kind == job.Ended && r.Job == "ann/import" })
	}
	h.wantRun(h.newest("ann/import").ID, "ok", dir+"/c\n")
	h.stop()
}
