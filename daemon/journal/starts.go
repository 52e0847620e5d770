package journal

import (
	"errors"
	"os"
	"strconv"
	"sync"
	"syscall"
	"time"

	"github.com/cronring/cronring/daemon/job"
)

// StartWriter writes cron's lines about starts to the journal as the processes of the
// jobs, so that journalctl and the copy for syslog show their numbers. That is
// possible while a process lives or was not reaped, which for most jobs is over when
// their records come to the Sink. Its method may be called from any goroutine. A nil
// StartWriter writes nothing.
type StartWriter struct {
	mu    sync.Mutex
	words *textLog // of lines; it writes none
	to    native
	asked time.Time // when the journal took no line last
}

// startWait is how long the journal may delay the start of a job.
const startWait = 5 * time.Millisecond

// NewStartWriter returns nil if the journal would not take such lines: they are root's.
func NewStartWriter(o Options) *StartWriter {
	if os.Geteuid() != 0 || o.NoCron {
		return nil
	}
	return &StartWriter{words: newTextLog(o, nil), to: native{path: o.Journal}}
}

// Write reports whether it wrote the line of a start. Then the record of the start
// needs none.
func (s *StartWriter) Write(r Run, at time.Time) bool {
	if s == nil || limited(r.PID) {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	lines := s.words.words.Started(&r)
	if len(lines) != 1 || lines[0].PID == 0 || time.Since(s.asked) < askInterval {
		return false
	}
	n := s.words.recordNote(&lines[0], &job.Record{
		At: at, Kind: job.Started, Job: r.Job, Due: r.Due, Run: &job.Run{ID: r.ID, Reason: r.Reason},
	})
	n.fields = s.words.mark(append(n.fields, field{"OBJECT_PID", strconv.Itoa(s.words.pid)})) // journalctl -u finds the entry by it
	err := s.to.writeAs(&n, r.PID, startWait)
	if err != nil && !errors.Is(err, syscall.ESRCH) {
		s.asked = time.Now()
	}
	return err == nil
}
