package session

import (
	"context"
	"fmt"
	"math"
	"time"

	"github.com/cronring/cronring/daemon/job"
)

// state holds the properties of a unit that systemd reports.
type state map[string]any

// notFound is the LoadState of a unit that does not exist.
const notFound = "not-found"

// observe queries a unit's state, and repeats that over a new connection if the old one ends.
func (m *Manager) observe(ctx context.Context, unit string) (state, error) {
	for {
		conn, err := m.link.get(ctx)
		if err != nil {
			return nil, err
		}
		all, err := conn.GetAllPropertiesContext(ctx, unit)
		if isLost(err) {
			conn.Close()
			continue
		}
		return all, err
	}
}

// value returns a property, or the zero value if it is missing or has another type.
func value[T any](s state, name string) T {
	v, _ := s[name].(T)
	return v
}

// hasEnded reports whether the main process has ended or never existed. Other processes of the unit
// do not matter.
func (s state) hasEnded() bool {
	switch value[string](s, "ActiveState") {
	case "active":
		return value[string](s, "SubState") == "exited"
	case "inactive", "failed":
		start := value[[]any](s, "Job") // the number and the path of a queued start
		return len(start) == 0 || start[0] == uint32(0)
	}
	return false
}

// waitid's codes, as in ExecMainCode.
const (
	exited = 1 // CLD_EXITED
	killed = 2 // CLD_KILLED
	dumped = 3 // CLD_DUMPED
)

// outcome returns the outcome of a unit that has ended. If the command was never executed, an exit
// status is one of systemd's own. For systemd, the helper is the command. So if a daemon was
// replaced during its Start, status 224, for example, is reported as the job's exit status.
func (s state) outcome(wasUp bool) job.Outcome {
	code, status := value[int32](s, "ExecMainCode"), int(value[int32](s, "ExecMainStatus"))
	switch {
	case value[string](s, "LoadState") == notFound && !wasUp:
		return job.Outcome{Kind: job.Lost, Error: "systemd has removed the unit"}
	case code == exited && !wasUp && setupStep(status) != "":
		return job.Outcome{Kind: job.NotStarted, Error: setupStep(status)}
	case code == exited:
		return job.Outcome{Kind: job.Exited, Code: status}
	case code == killed || code == dumped:
		return job.Outcome{Kind: job.Signalled, Signal: status}
	case !wasUp:
		return job.Outcome{Kind: job.NotStarted, Error: fmt.Sprintf("systemd did not start the unit (%s)", value[string](s, "Result"))}
	}
	return job.Outcome{Kind: job.Lost, Error: fmt.Sprintf("systemd does not report how the process ended (%s)", value[string](s, "Result"))}
}

// end returns how the main process of a unit ended.
func (s state) end() End {
	e := End{
		PID:     int(value[uint32](s, "ExecMainPID")),
		Outcome: s.outcome(value[uint64](s, "ActiveEnterTimestampMonotonic") != 0),
		At:      time.Now().UTC(),
		Usage:   s.usage(),
	}
	if at := value[uint64](s, "ExecMainExitTimestamp"); at != 0 {
		e.At = time.UnixMicro(int64(at)).UTC()
	}
	if value[string](s, "Result") == "oom-kill" {
		e.Limit = job.OverMemory
	}
	return e
}

// usage returns the resource usage of a unit. Older versions of systemd report only some of it.
func (s state) usage() job.Usage {
	number := func(name string) int64 {
		v := value[uint64](s, name)
		if v == math.MaxUint64 { // unknown
			return 0
		}
		return int64(min(v, math.MaxInt64))
	}
	return job.Usage{
		CPU: time.Duration(number("CPUUsageNSec")), Memory: number("MemoryPeak"),
		Read: number("IOReadBytes"), Write: number("IOWriteBytes"),
	}
}

// pamStatus is EXIT_PAM.
const pamStatus = 224

// setupSteps maps the exit statuses of systemd to the step that failed, for failures with a cause on
// the host: systemd.exec(5).
var setupSteps = map[int]string{
	203:       "cannot execute the helper of the daemon",
	204:       "out of memory",
	205:       "cannot set resource limits",
	216:       "cannot become a member of the user's groups",
	217:       "cannot become the user: unknown, or not to be changed to",
	219:       "cannot set the control group up",
	pamStatus: "PAM refused the account or its session",
}

// setupStep returns the step that failed before systemd executed a program, or "" for a status that
// does not come from systemd.
func setupStep(status int) string {
	if step, ok := setupSteps[status]; ok {
		return step
	}
	if status >= 200 && status <= 243 {
		return fmt.Sprintf("systemd could not set the process up (status %d, see systemd.exec(5))", status)
	}
	return ""
}
