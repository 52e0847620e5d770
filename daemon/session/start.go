package session

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/godbus/dbus/v5"
	"golang.org/x/sys/unix"

	"github.com/cronring/cronring/crontab"
	"github.com/cronring/cronring/daemon/job"
)

// Spec is a job to be started.
type Spec struct {
	Name        string // of the unit, ".service" at the end; of no unit that there is
	Description string // everybody can read it
	User        string
	PAMName     string // the service in /etc/pam.d
	Argv        []string
	Env         []string // NAME=value, over what PAM gives
	Dir         string
	Fallback    bool // run in / where Dir cannot be entered
	Umask       uint32
	Resources   *crontab.Resources // nil: no limits
	Identifier  string             // of what PAM's modules print, in the journal
	// Files become standard input, output and error. Start does not close them.
	Files [3]*os.File
}

// Process is a job that runs, or has run.
type Process struct {
	PID  int
	Unit string
	Note string // what the job's environment had to do without; may be empty
}

// NotStartedError says that there is no process, and why. The unit is released
// already.
type NotStartedError struct{ Reason string }

func (e *NotStartedError) Error() string { return e.Reason }

func notStarted(err error) error { return &NotStartedError{plain(err.Error())} }

// Outcome is what the run's record says.
func (e *NotStartedError) Outcome() job.Outcome {
	return job.Outcome{Kind: job.NotStarted, Error: e.Reason}
}

// Start starts a job and returns when its command is executed. That takes as
// long as the modules of PAM do. The error is a *NotStartedError, also when ctx
// is done first: the unit is killed then.
func (m *Manager) Start(ctx context.Context, spec Spec) (Process, error) {
	e, err := m.newErrand(spec)
	if err != nil {
		return Process{}, notStarted(err)
	}
	defer e.close()
	f, err := m.hold(spec.Name)
	if err != nil {
		return Process{}, notStarted(err)
	}
	defer m.unhold(spec.Name, f)
	if err := m.startUnit(ctx, spec, e); err != nil {
		m.forget(spec.Name)
		return Process{}, notStarted(err)
	}
	m.follow(ctx, spec.Name, f)
	note, err := e.await(ctx, f)
	if err != nil {
		m.forget(spec.Name)
		m.discard(spec.Name)
		return Process{}, notStarted(err)
	}
	return Process{PID: m.pid(ctx, spec.Name), Unit: spec.Name, Note: note}, nil
}

func (s Spec) check() error {
	switch {
	case !strings.HasSuffix(s.Name, ".service") || strings.ContainsAny(s.Name, "/ \n"):
		return fmt.Errorf("%q is no name of a service", s.Name)
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

func (m *Manager) hold(unit string) (*follow, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.units[unit] != nil {
		return nil, fmt.Errorf("there is a unit %s already", unit)
	}
	f := &follow{over: make(chan struct{}), held: true}
	m.units[unit] = f
	return f, nil
}

// unhold lets the end be reported, which may have come already.
func (m *Manager) unhold(unit string, f *follow) {
	m.mu.Lock()
	defer m.mu.Unlock()
	f.held = false
	if f.ended && m.units[unit] == f {
		m.report(unit, f)
	}
}

// follow lets Run look at the unit, and looks first, as what happened to it so
// far went unnoticed.
func (m *Manager) follow(ctx context.Context, unit string, f *follow) {
	m.mu.Lock()
	f.asked = true
	m.mu.Unlock()
	_ = m.lookNow(ctx, unit) // an error: await ends with ctx
}

func (m *Manager) forget(unit string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.units, unit)
}

// discard gets rid of a unit whose job was not executed, in its own time: the
// caller's may be over.
func (m *Manager) discard(unit string) {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	b, err := m.connected(ctx)
	if err != nil {
		return // what is left of it ends with the time limit of its start
	}
	_, _ = b.call(ctx, root, managerInterface+".KillUnit", unit, "all", int32(unix.SIGKILL)) // refused where nothing is left
	b.stop(ctx, unit)
}

// pid is zero when the connection ends just now, and the job runs nevertheless.
func (m *Manager) pid(ctx context.Context, unit string) int {
	b, err := m.connected(ctx)
	if err != nil {
		return 0
	}
	g := &getter{ctx: ctx, bus: b, path: pathOf(unit)}
	return int(value[uint32](g, serviceInterface, "ExecMainPID"))
}

// startUnit starts a unit once. When the connection ends before the answer
// comes, whether there is such a unit tells if systemd got the question. As
// somebody else's unit would tell the same, it must not be there before.
func (m *Manager) startUnit(ctx context.Context, spec Spec, e *errand) error {
	switch there, err := m.has(ctx, spec.Name); {
	case err != nil:
		return err
	case there:
		return fmt.Errorf("there is a unit %s already", spec.Name)
	}
	for {
		b, err := m.connected(ctx)
		if err != nil {
			return err
		}
		if err = b.start(ctx, spec.Name, m.properties(spec, e)); !isClosed(err) {
			return err
		}
		m.lost(b)
		if there, err := m.has(ctx, spec.Name); there || err != nil {
			return err
		}
	}
}

func (m *Manager) has(ctx context.Context, unit string) (bool, error) {
	for {
		b, err := m.connected(ctx)
		if err != nil {
			return false, err
		}
		there, err := b.has(ctx, unit)
		if !isClosed(err) {
			return there, err
		}
		m.lost(b)
	}
}

// shutdown is how long a job has to end when the host goes down, before that
// goes on without it.
const shutdown = 10 * time.Second

// properties are those of the unit; systemd.exec(5), systemd.service(5).
func (m *Manager) properties(spec Spec, e *errand) []property {
	type command struct {
		Path  string
		Argv  []string
		Clean bool // ignore a failure
	}
	all := []property{
		{"Description", dbus.MakeVariant(spec.Description)},
		{"Type", dbus.MakeVariant("exec")},
		{"ExecStart", dbus.MakeVariant([]command{{m.options.Helper[0], m.options.Helper, false}})},
		{"User", dbus.MakeVariant(spec.User)},
		{"PAMName", dbus.MakeVariant(spec.PAMName)},
		{"UMask", dbus.MakeVariant(spec.Umask)},
		{"StandardInputFileDescriptor", dbus.MakeVariant(dbus.UnixFD(e.socket.Fd()))},
		{"SyslogIdentifier", dbus.MakeVariant(cmp.Or(spec.Identifier, "cronring"))},
		{"IgnoreSIGPIPE", dbus.MakeVariant(false)},
		// What a job leaves behind on purpose goes on after its end, as under cron.
		// KillMode=process would say so, but systemd refuses it beside PAMName.
		{"KillMode", dbus.MakeVariant("mixed")},
		{"SendSIGKILL", dbus.MakeVariant(false)},
		// So does the rest of a job of which the kernel kills one process for want
		// of memory. systemd then speaks of signal 9 here, and of the memory in the
		// journal alone.
		{"OOMPolicy", dbus.MakeVariant("continue")},
		{"TimeoutStopUSec", dbus.MakeVariant(uint64(shutdown.Microseconds()))},
		// The unit stays until Release, and a job that fails is no failed unit:
		// the state of the host is not "degraded" by it.
		{"RemainAfterExit", dbus.MakeVariant(true)},
		{"SuccessExitStatus", dbus.MakeVariant(everything())},
	}
	if r := spec.Resources; r != nil && r.Slice != "" { // else system.slice
		all = append(all, property{"Slice", dbus.MakeVariant(r.Slice)})
	}
	all = append(all, limits(spec.Resources)...)
	for _, entry := range spec.Env {
		if isSessionClass(entry) { // the one that PAM has to see, and anybody may
			all = append(all, property{"Environment", dbus.MakeVariant([]string{entry})})
		}
	}
	return all
}

// exitStatusSet is the type of SuccessExitStatus.
type exitStatusSet struct{ Status, Signals []int32 }

// everything is all exit statuses and all signals.
func everything() exitStatusSet {
	var all exitStatusSet
	for status := int32(1); status <= 255; status++ {
		all.Status = append(all.Status, status)
	}
	for signal := int32(1); signal <= 64; signal++ {
		if signal != 32 && signal != 33 { // the C library's, which have no name
			all.Signals = append(all.Signals, signal)
		}
	}
	return all
}

func isSessionClass(entry string) bool {
	class, ok := strings.CutPrefix(entry, "XDG_SESSION_CLASS=")
	return ok && class != "" && strings.Trim(class, "abcdefghijklmnopqrstuvwxyz-") == ""
}
