package journal

import (
	"cmp"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/cronring/cronring/daemon/hosttest"
	"github.com/cronring/cronring/daemon/job"
)

// Cron's line about a start is that of the job's process, until it is reaped.
func TestStartIsSentAsTheProcessOfTheJob(t *testing.T) {
	hosttest.Root(t, "only root sends entries of other processes")
	s := listen(t, filepath.Join(t.TempDir(), "log"))
	raw, err := s.conn.SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	if err := raw.Control(func(fd uintptr) { err = unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_PASSCRED, 1) }); err != nil {
		t.Fatal(err)
	}
	writer := NewStartWriter(Options{Mode: ModeJournal, Journal: s.path})
	process := exec.Command("true")
	if err := process.Start(); err != nil {
		t.Fatal(err)
	}
	pid := process.Process.Pid
	if err := unix.Waitid(unix.P_PID, pid, nil, unix.WEXITED|unix.WNOWAIT, nil); err != nil { // it has ended
		t.Fatal(err)
	}
	run := job.Run{ID: 1, Job: "j", PID: pid, Reason: job.OnTime}
	about := NewRun(&run, &job.Job{User: "bob", Command: "true"}, false)
	if !writer.Write(*about, time.Now()) {
		t.Fatal("the line was not written")
	}
	b, oob := make([]byte, 1<<12), make([]byte, 1<<10)
	n, oobn, _, _, err := s.conn.ReadMsgUnix(b, oob)
	if err != nil {
		t.Fatal(err)
	}
	messages, err := syscall.ParseSocketControlMessage(oob[:oobn])
	if err != nil {
		t.Fatal(err)
	}
	from, err := syscall.ParseUnixCredentials(&messages[0])
	if err != nil || int(from.Pid) != pid {
		t.Errorf("sent by process %d (%v), want the job's, %d", from.Pid, err, pid)
	}
	for _, want := range []string{"MESSAGE=(bob) CMD (true)\n", "SYSLOG_IDENTIFIER=CRON\n", "CRONRING_KIND=started\n", "CRONRING_REASON=on-time\n", "CRONRING_RUN=1\n", "OBJECT_PID=" + strconv.Itoa(os.Getpid()) + "\n"} {
		if !strings.Contains(string(b[:n]), want) {
			t.Errorf("%q is not in the entry:\n%s", want, b[:n])
		}
	}
	if err := process.Wait(); err != nil {
		t.Fatal(err)
	}
	if writer.Write(*about, time.Now()) {
		t.Error("a line was written as a process that there is not")
	}
	var none *StartWriter
	if none.Write(*about, time.Now()) {
		t.Error("a line was written to no journal")
	}
}

// The journal limits the messages of the unit that jobs with limits share, so the line
// about such a job is not its process's.
func TestStartOfAJobWithLimitsIsSentAsTheDaemon(t *testing.T) {
	s := listen(t, filepath.Join(t.TempDir(), "log"))
	writer := NewStartWriter(Options{Mode: ModeJournal, Journal: s.path})
	process := exec.Command("sleep", "1000")
	if err := process.Start(); err != nil {
		t.Fatal(err)
	}
	defer process.Wait() // it is killed
	defer process.Process.Kill()
	if err := limit(t, process.Process.Pid); err != nil {
		hosttest.Missing(t, "the process cannot be in a control group: %v", err)
	}
	run := job.Run{ID: 1, Job: "j", PID: process.Process.Pid, Reason: job.OnTime}
	if writer.Write(*NewRun(&run, &job.Job{User: "bob", Command: "sleep 1000"}, false), time.Now()) {
		t.Error("the line was written as one of the unit of jobs with limits")
	}
}

// limit puts a process into a control group with a name as jobs with limits have, in
// any of the mounted hierarchies.
func limit(t *testing.T, pid int) error {
	mounts, err := os.ReadFile("/proc/self/mounts")
	for line := range strings.Lines(string(mounts)) {
		fields := strings.Fields(line)
		if len(fields) < 3 || !strings.HasPrefix(fields[2], "cgroup") {
			continue
		}
		var group string
		if group, err = os.MkdirTemp(fields[1], "cronring-runs-"); err != nil {
			continue
		}
		t.Cleanup(func() { syscall.Rmdir(group) })
		if err = os.WriteFile(filepath.Join(group, "cgroup.procs"), []byte(strconv.Itoa(pid)), 0); err == nil {
			return nil
		}
	}
	return cmp.Or(err, os.ErrNotExist)
}
