package journal

import (
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/cronring/cronring/daemon/job"
)

// Cron's line about a start is that of the job's process, as long as it lives.
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
	sink := openScribe(t, Options{Mode: ModeJournal, Journal: s.path})
	sleeper := exec.Command("cat")
	stdin, err := sleeper.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := sleeper.Start(); err != nil {
		t.Fatal(err)
	}
	pid := sleeper.Process.Pid
	sender := func(kind job.RecordKind) int {
		t.Helper()
		run := job.Run{ID: 1, Job: "j", PID: pid, Outcome: job.Outcome{Kind: job.Exited, Code: 1}}
		about := NewRun(&run, &job.Job{User: "bob", Command: "true"}, false)
		sink.Record(&Record{Record: &job.Record{Kind: kind, Job: "j", Run: &run}, Words: "words", About: about})
		b, oob, pids := make([]byte, 1<<12), make([]byte, 1<<10), []int(nil)
		err := raw.Control(func(fd uintptr) {
			for {
				_, n, _, _, err := unix.Recvmsg(int(fd), b, oob, unix.MSG_DONTWAIT)
				if err != nil {
					return // there are no more messages
				}
				messages, err := syscall.ParseSocketControlMessage(oob[:n])
				if err != nil {
					t.Fatal(err)
				}
				from, err := syscall.ParseUnixCredentials(&messages[0])
				if err != nil {
					t.Fatal(err)
				}
				pids = append(pids, int(from.Pid))
			}
		})
		if err != nil || len(pids) == 0 {
			t.Fatalf("no message was sent: %v", err)
		}
		return pids[0]
	}
	if got := sender(job.Started); got != pid {
		t.Errorf("a start was sent by process %d, want the job's, %d", got, pid)
	}
	if got := sender(job.Ended); got != os.Getpid() {
		t.Errorf("an end was sent by process %d, want the daemon's, %d", got, os.Getpid())
	}
	stdin.Close()
	if err := sleeper.Wait(); err != nil {
		t.Fatal(err)
	}
	if got := sender(job.Started); got != os.Getpid() {
		t.Errorf("a start of a process that has ended was sent by %d, want the daemon, %d", got, os.Getpid())
	}
}
