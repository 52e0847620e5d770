package session

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/godbus/dbus/v5"

	"github.com/cronring/cronring/daemon/job"
)

// state is what systemd says about a unit.
type state struct {
	load     string // not known while the unit is pending
	active   string
	sub      string
	job      uint32 // number of the start that is queued; 0: none is
	wasUp    bool   // its program may have been executed
	pid      int    // of the main process, also when it has ended
	code     int32  // waitid's: how the main process ended
	status   int32  // exit status or signal
	result   string
	exitedAt time.Time
	used     job.Usage
}

// notFound is what load says of a unit that systemd does not have.
const notFound = "not-found"

// observe asks for a unit's state. It asks for as little as it can, as each
// property is a call.
//
// What systemd refuses to speak of is a unit that it does not know.
func (b *bus) observe(ctx context.Context, unit string) (state, error) {
	s, err := b.ask(ctx, unit)
	var refusal dbus.Error
	if errors.As(err, &refusal) {
		return state{load: notFound}, nil
	}
	return s, err
}

func (b *bus) ask(ctx context.Context, unit string) (state, error) {
	g := &getter{ctx: ctx, bus: b, path: pathOf(unit)}
	s := state{
		active: value[string](g, unitInterface, "ActiveState"),
		sub:    value[string](g, unitInterface, "SubState"),
		job:    queued(value[[]any](g, unitInterface, "Job")),
	}
	if s.isPending() {
		return s, g.err
	}
	s.load = value[string](g, unitInterface, "LoadState")
	s.wasUp = value[uint64](g, unitInterface, "ActiveEnterTimestampMonotonic") != 0
	if s.load == notFound {
		return s, g.err
	}
	s.pid = int(value[uint32](g, serviceInterface, "ExecMainPID"))
	s.code = value[int32](g, serviceInterface, "ExecMainCode")
	s.status = value[int32](g, serviceInterface, "ExecMainStatus")
	s.result = value[string](g, serviceInterface, "Result")
	if at := value[uint64](g, serviceInterface, "ExecMainExitTimestamp"); at != 0 {
		s.exitedAt = time.UnixMicro(int64(at)).UTC()
	}
	if g.err == nil && s.hasEnded() {
		b.used(*g, &s)
	}
	return s, g.err
}

// limit is what the unit ran into: of its memory systemd tells, and of nothing
// else.
func (s state) limit() job.Reason {
	if s.result == "oom-kill" {
		return job.OverMemory
	}
	return ""
}

func queued(job []any) uint32 {
	if len(job) == 0 {
		return 0
	}
	id, _ := job[0].(uint32)
	return id
}

// isPending: neither up nor ended; systemd will say more.
func (s state) isPending() bool {
	switch s.active {
	case "activating", "deactivating", "reloading":
		return true
	case "inactive", "failed":
		return s.job != 0
	}
	return false
}

// hasEnded: the main process is gone, and the rest of the unit is of no
// interest.
func (s state) hasEnded() bool {
	return !s.isPending() && (s.active != "active" || s.sub == "exited")
}

// waitid's codes, as in ExecMainCode.
const (
	exited = 1 // CLD_EXITED
	killed = 2 // CLD_KILLED
	dumped = 3 // CLD_DUMPED
)

// outcome is how a unit ended. Without wasUp, an exit status is that of what
// systemd does before it executes a program. With it, the status is the job's:
// Start makes sure of that. For a unit that was adopted, a daemon that was
// replaced within its Start leaves it open, and 224, say, is then reported as
// what the job itself has ended with.
func (s state) outcome() job.Outcome {
	switch {
	case s.load == notFound && !s.wasUp:
		return job.Outcome{Kind: job.Lost, Error: "systemd no longer knows the unit"}
	case s.code == exited && !s.wasUp && setupStep(int(s.status)) != "":
		return job.Outcome{Kind: job.NotStarted, Error: setupStep(int(s.status))}
	case s.code == exited:
		return job.Outcome{Kind: job.Exited, Code: int(s.status)}
	case s.code == killed || s.code == dumped:
		return job.Outcome{Kind: job.Signalled, Signal: int(s.status)}
	case !s.wasUp:
		return job.Outcome{Kind: job.NotStarted, Error: fmt.Sprintf("systemd did not start the unit (%s)", s.result)}
	}
	return job.Outcome{Kind: job.Lost, Error: fmt.Sprintf("systemd does not say how the process ended (%s)", s.result)}
}

// unitOf is the unit that may have another state after a signal; empty for
// signals of other kinds.
func unitOf(signal *dbus.Signal) string {
	switch signal.Name {
	case jobRemoved: // job number, job, unit, result
		if len(signal.Body) > 2 {
			unit, _ := signal.Body[2].(string)
			return unit
		}
	case propertiesChanged:
		return unitAt(signal.Path)
	}
	return ""
}

// setupStep says what systemd was about to do, before it executed a program,
// when that ended with an exit status: systemd.exec(5). Empty: the status is
// not one of these.
func setupStep(status int) string {
	if step, ok := setupSteps[status]; ok {
		return step
	}
	if status >= 200 && status <= 243 {
		return fmt.Sprintf("systemd could not set the process up (status %d)", status)
	}
	return ""
}

// pamStatus is EXIT_PAM.
const pamStatus = 224

var setupSteps = map[int]string{
	200:       "cannot change to the working directory",
	201:       "cannot set the nice value",
	202:       "cannot set descriptors up",
	203:       "cannot execute the helper of the daemon",
	204:       "out of memory",
	205:       "cannot set resource limits",
	206:       "cannot adjust the OOM score",
	207:       "cannot set the signal mask",
	208:       "cannot set standard input up",
	209:       "cannot set standard output up",
	210:       "cannot change the root directory",
	211:       "cannot set the I/O priority",
	212:       "cannot set the timer slack",
	213:       "cannot set the secure bits",
	214:       "cannot set the CPU scheduling",
	215:       "cannot set the CPU affinity",
	216:       "cannot become a member of the user's groups",
	217:       "cannot become the user: unknown, or not to be changed to",
	218:       "cannot set capabilities",
	219:       "cannot set the control group up",
	220:       "cannot create a session",
	222:       "cannot set standard error up",
	pamStatus: "PAM refused the account or its session",
	225:       "cannot set the network up",
	226:       "cannot set mount namespaces up",
	227:       "cannot disable new privileges",
	228:       "cannot set system call filters",
	229:       "cannot change the SELinux context",
	230:       "cannot set the personality",
	231:       "cannot change the AppArmor profile",
	232:       "cannot restrict address families",
	233:       "cannot create the runtime directory",
	235:       "cannot change the owner of the terminal",
	236:       "cannot change the SMACK label",
	237:       "cannot set the keyring up",
	238:       "cannot create the state directory",
	239:       "cannot create the cache directory",
	240:       "cannot create the logs directory",
	241:       "cannot create the configuration directory",
	242:       "cannot set the NUMA policy",
	243:       "cannot set credentials up",
}
