package journal

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/cronring/cronring/daemon/job"
)

// Cron's line about a start is that of the job's process, until it is reaped.
func TestStartIsSentAsTheProcessOfTheJob(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("SKIPPED, NOT TESTED: only root sends entries of other processes")
	}
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
