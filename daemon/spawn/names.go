package spawn

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/cronring/cronring/daemon/job"
	"github.com/cronring/cronring/daemon/spawn/proc"
)

// After a crash of the daemon its jobs run on, with init as their parent. A
// service manager may keep their descriptors; where there is none, the next
// daemon finds them by files in Options.Runs:
//
//   - RUN.out and RUN.err are the output pipes. The job has both open for
//     reading too, so that a pipe without a daemon makes it wait when the pipe
//     is full, and never ends it with SIGPIPE.
//   - RUN.process identifies the process. It is a symbolic link to its text,
//     which takes one call to make and is always complete.
//   - RUN.stopping states why the run was asked to end, and when. KILL still follows
//     if its leader has ended and other processes of its group have not.
//
// Other users cannot write to the directory, so they cannot put other files there. The pipes belong
// to the run's user, who could open them by /proc/PID/fd anyway.
const (
	outSuffix      = ".out"
	errSuffix      = ".err"
	processSuffix  = ".process"
	stoppingSuffix = ".stopping"
)

// processRecord is the text of RUN.process.
type processRecord struct {
	Job       job.ID
	User      string
	PID       int
	Up        time.Duration // since boot, when the process was there: another with its number starts later
	Boot      string        // see Options.Boot
	OutputMax int
}

// openNamedPipe makes a pipe with a name. The job's end is the second one.
func openNamedPipe(path string, cred *syscall.Credential) (ends [2]int, err error) {
	err = syscall.Mkfifo(path, 0o600)
	if err == syscall.EEXIST && syscall.Unlink(path) == nil { // of a history that is gone
		err = syscall.Mkfifo(path, 0o600)
	}
	if err != nil {
		return ends, err
	}
	const flags = syscall.O_CLOEXEC | syscall.O_NOFOLLOW
	ends[1], err = syscall.Open(path, syscall.O_RDWR|flags, 0)
	if err != nil {
		return ends, err
	}
	ends[0], err = syscall.Open(path, syscall.O_RDONLY|syscall.O_NONBLOCK|flags, 0)
	if err != nil {
		return ends, errors.Join(err, syscall.Close(ends[1]))
	}
	if cred != nil {
		err = syscall.Fchown(ends[1], int(cred.Uid), int(cred.Gid))
	}
	if err != nil {
		err = errors.Join(err, syscall.Close(ends[0]), syscall.Close(ends[1]))
	}
	return ends, err
}

// openNames opens the pipes of another daemon's run; 0 means that a pipe no longer exists.
func (s *Spawner) openNames(run job.RunID) (stdout, stderr int) {
	if s.options.Runs == "" {
		return 0, 0
	}
	path := s.dir.Base(run)
	return openLeft(path + outSuffix), openLeft(path + errSuffix)
}

func openLeft(path string) int {
	fd, err := syscall.Open(path, syscall.O_RDONLY|syscall.O_NONBLOCK|syscall.O_NOFOLLOW|syscall.O_CLOEXEC, 0)
	if err != nil {
		return 0
	}
	if !isPipe(fd) {
		_ = syscall.Close(fd) // nothing was written to it
		return 0
	}
	// epoll reports the end of a pipe only if it had a writer since it was opened.
	if writer, err := syscall.Open(path, syscall.O_WRONLY|syscall.O_NONBLOCK|syscall.O_NOFOLLOW|syscall.O_CLOEXEC, 0); err == nil {
		_ = syscall.Close(writer) // nothing was written to it
	}
	return fd
}

// markProcess writes down which process a run has. Without it a daemon after a
// crash has the pipes alone.
func (s *Spawner) markProcess(c *child) {
	if s.options.Runs == "" {
		return
	}
	text, err := json.Marshal(processRecord{
		Job: c.job, User: c.user, PID: c.pid, Up: proc.Uptime(), Boot: s.options.Boot, OutputMax: c.limit,
	})
	if err == nil {
		writeLink(s.dir.Base(c.run)+processSuffix, text)
	}
}

// writeLink makes a symbolic link to a text, in the place of one of a history that is gone.
func writeLink(path string, text []byte) {
	if unix.Symlink(string(text), path) == unix.EEXIST && unix.Unlink(path) == nil {
		_ = unix.Symlink(string(text), path) // without it a daemon after a crash knows less
	}
}

// stoppingRecord is the text of RUN.stopping.
type stoppingRecord struct {
	Reason job.Reason
	Up     time.Duration // since boot
}

// markStopping writes down that a run is asked to end. Spawner.mu is held.
func (s *Spawner) markStopping(c *child, reason job.Reason) {
	if s.options.Runs == "" || c.check || c.pid == 0 || reason == "" {
		return
	}
	if text, err := json.Marshal(stoppingRecord{reason, proc.Uptime()}); err == nil {
		writeLink(s.dir.Base(c.run)+stoppingSuffix, text)
	}
}

// Stopping returns why another daemon asked a run to end, or "". The argument runs is a
// directory, as in Options.Runs.
func Stopping(runs string, run job.RunID) job.Reason {
	return stopping(filepath.Join(runs, run.String())).Reason
}

func stopping(base string) (r stoppingRecord) {
	if text, err := os.Readlink(base + stoppingSuffix); err != nil || json.Unmarshal([]byte(text), &r) != nil {
		return stoppingRecord{}
	}
	return r
}

// removeNames is called when nothing of a run is left.
func (s *Spawner) removeNames(c *child) {
	if c.named {
		removeNames(s.dir.Base(c.run))
	}
}

func removeNames(base string) {
	for _, suffix := range []string{outSuffix, errSuffix, processSuffix, stoppingSuffix} {
		_ = unix.Unlink(base + suffix) // some runs have only some of them
	}
}

// Find returns what is left in a directory, as in Options.Runs, of runs that
// another daemon began: their processes and pipes. A run whose process has
// ended is lost, but its pipes may be open, and if it was asked to end, other
// processes of its group may be alive. A daemon that was killed between the
// start of a process and writing it down leaves the pipes alone, and no user.
// The files of another boot are removed.
func Find(runs, boot string) (found []Handed) {
	if runs == "" {
		return nil
	}
	files, _ := filepath.Glob(filepath.Join(runs, "*"+outSuffix)) // the pattern is valid
	for _, file := range files {
		base := strings.TrimSuffix(file, outSuffix)
		run, err := strconv.ParseInt(filepath.Base(base), 10, 64)
		if err != nil {
			continue
		}
		r := processRecord{Boot: boot}
		if text, err := os.Readlink(base + processSuffix); err == nil && json.Unmarshal([]byte(text), &r) != nil {
			r = processRecord{Boot: boot} // of another version
		}
		if r.Boot != boot {
			removeNames(base)
			continue
		}
		h := Handed{Run: job.RunID(run), Job: r.Job, User: r.User, PID: r.PID, OutputMax: r.OutputMax}
		h.Out, h.Err = openLeft(base+outSuffix), openLeft(base+errSuffix)
		var gone bool
		if h.PIDFD, gone = findProcess(r); gone {
			h.Outcome = lost(lostUnseen)
			if r := stopping(base); r.Reason != "" && h.PID > 1 && proc.GroupLives(h.PID, r.Up) {
				h.Over, h.Outcome = h.Outcome, job.Outcome{}
			}
		}
		found = append(found, h)
	}
	return found
}

// findProcess opens the process of a record; gone reports that it has ended.
func findProcess(r processRecord) (pidfd int, gone bool) {
	if r.PID <= 0 {
		return 0, false
	}
	fd, err := unix.PidfdOpen(r.PID, 0)
	switch {
	case err == unix.ESRCH:
		return 0, true
	case err != nil:
		fd = 0
	}
	if start, ok := proc.StartOf(r.PID); !ok || start > r.Up { // it has ended, and another may have its number
		if fd != 0 {
			_ = syscall.Close(fd) // nothing was written to it
		}
		return 0, true
	}
	return fd, false
}
