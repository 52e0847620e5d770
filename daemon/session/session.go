package session

import (
	"context"
	"errors"
	"fmt"
	"os"
	"syscall"
	"time"

	"github.com/coreos/go-systemd/v22/dbus"
	"golang.org/x/sys/unix"

	"github.com/cronring/cronring/daemon/job"
	"github.com/cronring/cronring/daemon/wake"
)

// Manager starts units and waits for their ends. Its methods may be called
// concurrently. Each of them tries to reach systemd until its context is done.
type Manager struct {
	helper []string
	link   link
}

// New makes a Manager. helper is the argument list of a program that calls
// Become, by its absolute path. Every user must be allowed to execute it.
func New(helper ...string) *Manager {
	return &Manager{helper: helper, link: link{semaphore: make(chan struct{}, 1)}}
}

// End describes how the main process of a unit ended.
type End struct {
	PID     int // 0: no process existed
	Outcome job.Outcome
	At      time.Time
	Usage   job.Usage  // of all its processes, as far as systemd reports it
	Limit   job.Reason // job.OverMemory, if the memory limit ended it
}

// The time between two queries of a unit, for the moment until systemd notices the end of its
// process, or without a pidfd to wait for.
const (
	firstLook = 2 * time.Millisecond
	lastLook  = time.Second
)

// Wait waits until the process of a unit has ended. The unit may have been
// started by another process. Wait returns an error only if ctx is done.
func (m *Manager) Wait(ctx context.Context, unit string) (End, error) {
	for pause := firstLook; ; pause = min(2*pause, lastLook) {
		pid := 0
		s, err := m.observe(ctx, unit)
		if err == nil && s.hasEnded() {
			return s.end(), nil
		}
		if err == nil {
			pid = int(value[uint32](s, "MainPID"))
		}
		if m.awaitExit(ctx, unit, pid) {
			pause = firstLook
		}
		if err := wake.Sleep(ctx, pause); err != nil {
			return End{}, fmt.Errorf("wait for %s: %w", unit, err)
		}
	}
}

// awaitExit waits until the process of a unit has ended. It returns false if it cannot wait.
func (m *Manager) awaitExit(ctx context.Context, unit string, pid int) bool {
	if pid <= 1 {
		return false
	}
	fd, err := unix.PidfdOpen(pid, unix.PIDFD_NONBLOCK)
	if err != nil {
		return false
	}
	f := os.NewFile(uintptr(fd), "pidfd")
	defer f.Close()
	// systemd reaps the process. If systemd still reports it, the pidfd refers to the right process.
	if s, err := m.observe(ctx, unit); err != nil || value[uint32](s, "MainPID") != uint32(pid) {
		return false
	}
	stop := context.AfterFunc(ctx, func() { _ = f.SetReadDeadline(time.Unix(0, 1)) }) // a pidfd takes deadlines
	defer stop()
	conn, err := f.SyscallConn()
	if err == nil {
		err = conn.Read(func(fd uintptr) bool {
			n, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, 0)
			return n > 0 || err != nil && err != unix.EINTR
		})
	}
	return err == nil
}

// ErrEnded reports that a unit no longer has a process.
var ErrEnded = errors.New("the process has ended")

// Kill sends a signal to the process of a unit and its process group, like a time
// limit does for other jobs. systemd itself would miss processes that PAM has moved
// to another control group, and would include background processes that the job left
// on purpose. SIGKILL also goes to the whole unit, even after the end of its process,
// because a process that left the process group must not survive it.
func (m *Manager) Kill(ctx context.Context, unit string, signal syscall.Signal) error {
	s, err := m.observe(ctx, unit)
	if err != nil {
		return fmt.Errorf("kill %s: %w", unit, err)
	}
	if signal == unix.SIGKILL {
		defer m.killAll(ctx, unit)
	}
	pid := int(value[uint32](s, "MainPID"))
	if pid <= 1 {
		return fmt.Errorf("kill %s: %w", unit, ErrEnded)
	}
	// systemd reports the process until it has reaped it, so the PID cannot belong to another
	// process. The process is a session leader from its start.
	if err := unix.Kill(-pid, signal); err != nil {
		return fmt.Errorf("kill %s: %w", unit, err)
	}
	return nil
}

// killAll kills all processes of a unit, if there are any.
func (m *Manager) killAll(ctx context.Context, unit string) {
	if conn, err := m.link.get(ctx); err == nil {
		_ = conn.KillUnitWithTarget(ctx, unit, dbus.All, int32(unix.SIGKILL))
	}
}

// Release makes systemd unload a unit that has ended. Callers must record the end first, because
// another daemon can Wait for the unit until Release. Background processes of the job continue.
func (m *Manager) Release(ctx context.Context, unit string) error {
	conn, err := m.link.get(ctx)
	if err != nil {
		return fmt.Errorf("release %s: %w", unit, err)
	}
	// The first call is for a failed unit, the second for any other. systemd rejects the call that
	// does not apply.
	_ = conn.ResetFailedUnitContext(ctx, unit)
	_, _ = conn.StopUnitContext(ctx, unit, "replace", nil)
	return nil
}

// Discard kills the remaining processes of a unit, and waits until systemd has unloaded it.
func (m *Manager) Discard(ctx context.Context, unit string) error {
	m.killAll(ctx, unit)
	for pause := firstLook; ; pause = min(2*pause, lastLook) {
		if err := m.Release(ctx, unit); err != nil {
			return err
		}
		if s, err := m.observe(ctx, unit); err != nil || !s.exists() {
			return err
		}
		time.Sleep(pause)
	}
}
