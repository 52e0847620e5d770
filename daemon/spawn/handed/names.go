package handed

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/cronring/cronring/daemon/atomicfile"
	"github.com/cronring/cronring/daemon/job"
	"github.com/cronring/cronring/daemon/spawn/pipe"
	"github.com/cronring/cronring/daemon/spawn/proc"
)

// After a crash of the daemon its jobs run on, with init as their parent. A
// service manager may keep their descriptors; where there is none, the next
// daemon finds them by files in Options.Runs:
//
//   - RUN.out and RUN.err are the output pipes. The job has both open for
//     reading too, so that a pipe without a daemon makes it wait when the pipe
//     is full, and never ends it with SIGPIPE.
//   - RUN.process identifies the process, as the text of a symbolic link. The
//     process that starts jobs makes it, so that it exists even if the daemon
//     is killed before it knows the process.
//   - RUN.stopping states why the run was asked to end, and when. KILL still follows
//     if its leader has ended and other processes of its group have not.
//
// Other users cannot write to the directory, so they cannot put other files there. The pipes belong
// to the run's user, who could open them by /proc/PID/fd anyway.
const (
	processSuffix  = ".process"
	stoppingSuffix = ".stopping"
)

// Process is the content of RUN.process, as JSON. PID and Up follow it if the starter wrote them.
type Process struct {
	Job       job.ID
	User      string
	PID       int           `json:",omitempty"`
	Up        time.Duration `json:",omitempty"` // since boot, when the process was there: another with its number starts later
	Boot      string        // see Options.Boot
	OutputMax int
}

// OpenPipes opens the pipes of another daemon's run; 0 means that a pipe no longer exists.
func OpenPipes(base string) (stdout, stderr int) {
	return pipe.Reopen(base + pipe.OutSuffix), pipe.Reopen(base + pipe.ErrSuffix)
}

// Mark returns the path and the text of RUN.process. Without it a daemon after a crash has the pipes
// alone.
func (r Process) Mark(base string) (path, text string) {
	data, err := json.Marshal(r)
	if err != nil {
		return "", ""
	}
	return base + processSuffix, string(data)
}

func parseProcess(text string) (r Process, ok bool) {
	d := json.NewDecoder(strings.NewReader(text))
	if d.Decode(&r) != nil {
		return Process{}, false
	}
	_, err := fmt.Sscan(text[d.InputOffset():], &r.PID, &r.Up)
	return r, err == nil || err == io.EOF
}

// stoppingRecord is the text of RUN.stopping.
type stoppingRecord struct {
	Reason job.Reason
	Up     time.Duration // since boot
}

// MarkStopping writes down that a run is asked to end.
func MarkStopping(base string, reason job.Reason) {
	if text, err := json.Marshal(stoppingRecord{reason, proc.Uptime()}); err == nil {
		atomicfile.Link(base+stoppingSuffix, string(text))
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

// Remove removes the files of a run of which nothing is left.
func Remove(base string) {
	for _, suffix := range []string{pipe.OutSuffix, pipe.ErrSuffix, processSuffix, stoppingSuffix} {
		_ = unix.Unlink(base + suffix) // some runs have only some of them
	}
}

// Find returns what is left in a directory, as in Options.Runs, of runs that
// another daemon began. It opens their processes, and leaves the pipes to OpenPipes, because ended
// runs can have more of them than this process can open. A run whose process has
// ended is lost, but its pipes may be open, and if it was asked to end, other
// processes of its group may be alive. A daemon that was killed before it
// started the process leaves the pipes alone, and no user. The files of another boot are removed.
func Find(runs, boot string) (found []Run) {
	if runs == "" {
		return nil
	}
	for _, file := range atomicfile.Match(runs, "*"+pipe.OutSuffix) {
		base := strings.TrimSuffix(file, pipe.OutSuffix)
		run, err := strconv.ParseInt(filepath.Base(base), 10, 64)
		if err != nil {
			continue
		}
		r := Process{Boot: boot}
		if text, err := os.Readlink(base + processSuffix); err == nil {
			if p, ok := parseProcess(text); ok { // else of another version
				r = p
			}
		}
		if r.Boot != boot {
			Remove(base)
			continue
		}
		h := Run{Run: job.RunID(run), Job: r.Job, User: r.User, PID: r.PID, OutputMax: r.OutputMax}
		var gone bool
		if h.PIDFD, gone = findProcess(r); gone {
			h.Outcome = Lost(Unseen)
			if r := stopping(base); r.Reason != "" && h.PID > 1 && proc.GroupLives(h.PID, r.Up) {
				h.Over, h.Outcome = h.Outcome, job.Outcome{}
			}
		}
		found = append(found, h)
	}
	return found
}

// findProcess opens the process of a record; gone reports that it has ended.
func findProcess(r Process) (pidfd int, gone bool) {
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
