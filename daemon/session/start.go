package session

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/coreos/go-systemd/v22/dbus"
	godbus "github.com/godbus/dbus/v5"

	"github.com/cronring/cronring/crontab/option"
	"github.com/cronring/cronring/daemon/job"
	"github.com/cronring/cronring/daemon/sandbox"
)

// Spec is a job to be started.
type Spec struct {
	Name        string // of the unit, with ".service" at the end; the unit must not exist
	Description string // all users can read it
	User        string
	PAMName     string // the service in /etc/pam.d
	Argv        []string
	Env         []string // NAME=value, overrides PAM's
	Dir         string
	Fallback    bool          // run in / if Dir cannot be entered
	Umask       uint32        // which PAM can replace
	OwnUmask    *uint32       // replaces both; nil: does not
	Groups      []string      // numbers of the groups, the primary one first; nil: those of the user
	EnvFile     string        // file of variables, which the helper reads as the user; "": none
	Kept        []string      // variables that EnvFile does not change
	Sandbox     *sandbox.Plan // the helper applies it as the user; nil: none
	NoNetwork   bool
	Resources   *option.Resources // nil: no limits
	Identifier  string            // in the journal, of messages that PAM's modules print
	// Files become standard input, output and error. Start does not close them.
	Files [3]*os.File
}

// Process is a job that runs, or has run.
type Process struct {
	PID  int
	Unit string
	Note string // a problem with the job's environment, or ""
}

// NotStartedError is the reason why no process exists. The unit is released already.
type NotStartedError struct {
	Reason string
	Unrun  bool // the job was certainly not executed; otherwise the unit may have been killed just after that
}

func (e *NotStartedError) Error() string { return e.Reason }

func notStarted(err error, unrun bool) error { return &NotStartedError{plain(err.Error()), unrun} }

// Start starts a job and returns when its command is executed. That takes as long as the modules
// of PAM do. The error is a *NotStartedError. If ctx is done first, Start kills the unit and returns
// an error.
func (m *Manager) Start(ctx context.Context, spec Spec) (Process, error) {
	e, err := newHelperConn(spec)
	if err != nil {
		return Process{}, notStarted(err, true)
	}
	defer e.close()
	if unrun, err := m.startUnit(ctx, spec, e); err != nil {
		return Process{}, notStarted(err, unrun)
	}
	note, err := m.await(ctx, spec, e)
	if err != nil {
		m.discard(spec.Name)
		return Process{}, notStarted(err, ctx.Err() == nil)
	}
	s, _ := m.observe(ctx, spec.Name) // the job runs, even if systemd does not answer
	return Process{PID: int(value[uint32](s, "ExecMainPID")), Unit: spec.Name, Note: note}, nil
}

func (s Spec) check() error {
	switch {
	case !strings.HasSuffix(s.Name, ".service") || strings.ContainsAny(s.Name, "/ \n"):
		return fmt.Errorf("%q is not the name of a service", s.Name)
	case len(s.Argv) == 0 || s.Argv[0] == "" || s.Argv[0][0] != '/':
		return errors.New("the command has no absolute path")
	case strings.Trim(s.User, "0123456789") == "":
		return fmt.Errorf("systemd would take the user name %q for a number", s.User)
	case s.PAMName == "":
		return errors.New("no PAM service is named")
	}
	for _, file := range s.Files {
		if file == nil {
			return errors.New("a standard descriptor is missing")
		}
	}
	return nil
}

// await waits until the job is executed, or for the reason why it is not. Most reasons are in the
// helper's report. If systemd failed before it started the helper, the unit ends, but the report
// may not: systemd holds the order, and with it the report, open.
func (m *Manager) await(ctx context.Context, spec Spec, e *helperConn) (note string, err error) {
	for pause := 10 * firstLook; ; pause = min(2*pause, lastLook) {
		e.read(pause)
		var s state
		if said := parseReport(e.text); !e.over || !said.ready {
			s, _ = m.observe(ctx, spec.Name) // no answer counts as not ended
		}
		ended := s.hasEnded()
		if ended {
			e.read(0) // the rest of its report
		}
		switch said := parseReport(e.text); {
		case said.failure != "":
			return "", errors.New(said.failure)
		case said.ready && (e.over || ended):
			return said.note, nil
		case ended:
			return "", startError(s, spec.PAMName)
		case ctx.Err() != nil:
			return "", fmt.Errorf("PAM did not open the session of %s in time: %w", spec.User, ctx.Err())
		}
	}
}

// startError returns an error that explains why a unit ended before it executed the job.
func startError(s state, pamName string) error {
	o := s.outcome(false) // for systemd, every exit status is a success
	switch {
	case o.Kind == job.NotStarted && o.Error == setupStep(pamStatus):
		return fmt.Errorf("%s: see its messages about %s in the journal", o.Error, pamName)
	case o.Error != "":
		return errors.New(o.Error)
	}
	return fmt.Errorf("the helper of the daemon ended: %s", o)
}

// discard removes a unit whose job was not executed. It has its own timeout, because the caller's
// context may be done. If systemd does not answer, the rest of the unit ends with the time limit of
// its start.
func (m *Manager) discard(unit string) {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	m.killAll(ctx, unit)
	_ = m.Release(ctx, unit)
}

// startUnit starts a unit exactly once. If the connection ends before the answer arrives, startUnit
// checks whether the unit exists: then systemd has received the request. Therefore a unit of that
// name must not exist before. unrun reports that an error is certain to mean that no unit was
// started: systemd received no request, or rejected the first one.
func (m *Manager) startUnit(ctx context.Context, spec Spec, e *helperConn) (unrun bool, err error) {
	switch s, err := m.observe(ctx, spec.Name); {
	case err != nil:
		return true, err
	case s.exists():
		return true, fmt.Errorf("there is a unit %s already", spec.Name)
	}
	for unrun = true; ; unrun = false {
		conn, err := m.link.get(ctx)
		if err != nil {
			return unrun, err
		}
		_, err = conn.StartTransientUnitContext(ctx, spec.Name, "fail", m.properties(spec, e), nil)
		if !isLost(err) {
			return unrun && isRejected(err), err
		}
		conn.Close()
		if s, err := m.observe(ctx, spec.Name); err != nil || s.exists() {
			return false, err
		}
	}
}

func (s state) exists() bool { return value[string](s, "LoadState") != notFound }

// shutdown limits the time that the host waits for a job to end before it continues to shut down.
const shutdown = 10 * time.Second

// properties returns the properties of the unit: systemd.exec(5), systemd.service(5).
func (m *Manager) properties(spec Spec, e *helperConn) []dbus.Property {
	all := []dbus.Property{
		property("Description", spec.Description),
		property("Type", "exec"),
		property("ExecStart", []command{{m.helper[0], m.helper, false}}),
		property("User", spec.User),
		property("PAMName", spec.PAMName),
		property("UMask", spec.Umask),
		property("StandardInputFileDescriptor", godbus.UnixFD(e.socket.Fd())),
		// The name that cron uses for its terminal (PAM_TTY), which pam_access, pam_group and
		// pam_time expect. systemd needs a path, which they remove.
		property("TTYPath", "/dev/cron"),
		property("Environment", cronSession),
		property("SyslogIdentifier", cmp.Or(spec.Identifier, "cronring")),
		property("IgnoreSIGPIPE", false),
		// Background processes of a job continue after its end, as under cron. KillMode=process
		// would do that, but systemd rejects it together with PAMName.
		property("KillMode", "mixed"),
		property("SendSIGKILL", false),
		// The rest of a job also continues if the kernel kills one of its processes for lack of
		// memory. systemd then reports signal 9 here, and the lack of memory only in the journal.
		property("OOMPolicy", "continue"),
		property("TimeoutStopUSec", uint64(shutdown.Microseconds())),
		// The unit stays until Release, and a job that fails does not make it a failed unit, so the
		// host's state does not become "degraded".
		property("RemainAfterExit", true),
		property("SuccessExitStatus", everything()),
	}
	if r := spec.Resources; r != nil && r.Slice != "" { // else system.slice
		all = append(all, property("Slice", r.Slice))
	}
	all = append(all, limits(spec.Resources)...)
	if len(spec.Groups) > 0 {
		all = append(all, property("Group", spec.Groups[0]), property("SupplementaryGroups", spec.Groups[1:]))
	}
	if spec.NoNetwork {
		all = append(all, property("PrivateNetwork", true))
	}
	for _, entry := range spec.Env {
		if isSessionClass(entry) { // PAM needs this variable, and all users may see it
			all = append(all, property("Environment", []string{entry}))
		}
	}
	return all
}

// cronSession has the values that pam_systemd uses by default for a session whose terminal is
// "cron", without a path.
var cronSession = []string{"XDG_SESSION_CLASS=background", "XDG_SESSION_TYPE=unspecified"}

// exitStatusSet is the type of SuccessExitStatus.
type exitStatusSet struct{ Status, Signals []int32 }

// everything returns all exit statuses and all signals.
func everything() exitStatusSet {
	var all exitStatusSet
	for status := int32(1); status <= 255; status++ {
		all.Status = append(all.Status, status)
	}
	for signal := int32(1); signal <= 64; signal++ {
		if signal != 32 && signal != 33 { // reserved for the C library, and without names
			all.Signals = append(all.Signals, signal)
		}
	}
	return all
}

func isSessionClass(entry string) bool {
	class, ok := strings.CutPrefix(entry, "XDG_SESSION_CLASS=")
	return ok && class != "" && strings.Trim(class, "abcdefghijklmnopqrstuvwxyz-") == ""
}
