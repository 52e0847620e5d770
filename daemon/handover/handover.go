// Package handover owns the state that the daemon keeps while it replaces its own program, for
// instance in an upgrade. Package handed has the part about a running job, which also survives a
// crash.
package handover

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/cronring/cronring/daemon/atomicfile"
	"github.com/cronring/cronring/daemon/config"
	"github.com/cronring/cronring/daemon/engine/effect"
	"github.com/cronring/cronring/daemon/job"
	"github.com/cronring/cronring/daemon/recorder"
	"github.com/cronring/cronring/daemon/spawn/handed"
)

// Handover is the state that a daemon leaves to its successor when it executes its program again.
// The process stays the same, so children stay children, locks stay held, and descriptors keep
// their numbers. It does not contain what is in the history.
type Handover struct {
	Children  []handed.Run             `json:"children,omitempty"`
	Starts    []effect.Start           `json:"starts,omitempty"` // passed to the spawner, which did not begin them
	Stopping  map[job.RunID]job.Reason `json:"stopping,omitempty"`
	Socket    int                      `json:"socket"`               // the control socket, listening
	OwnSocket bool                     `json:"own_socket,omitempty"` // the daemon made it, and must remove it
	Lock      int                      `json:"lock,omitempty"`       // of all crons; 0: not held
	Beats     map[job.RunID]int        `json:"beats,omitempty"`      // the sockets of runs with watchdog=
	recorder.Unwritten
	Config *config.Config `json:"config,omitempty"` // what is in force

	Signals []os.Signal `json:"-"` // that came too late to be heeded; they travel in the environment
}

// handoverName is the variable that holds the number of the descriptor with
// the handover.
const handoverName = "CRONRING_HANDOVER"

// signalsName is the variable with the numbers of signals that came too late
// to be heeded. It is written at the last moment.
const signalsName = "CRONRING_SIGNALS"

// Take reads what the daemon before left, or returns nil.
func Take() (*Handover, error) {
	text, ok := os.LookupEnv(handoverName)
	if !ok {
		return nil, nil
	}
	late := os.Getenv(signalsName)
	if err := errors.Join(os.Unsetenv(handoverName), os.Unsetenv(signalsName)); err != nil {
		return nil, err
	}
	fd, err := strconv.Atoi(text)
	if err != nil || fd <= 2 {
		return nil, fmt.Errorf("take over: %s=%q is not a descriptor", handoverName, text)
	}
	f := os.NewFile(uintptr(fd), "handover")
	defer f.Close()
	h := &Handover{}
	for number := range strings.FieldsSeq(late) {
		if n, err := strconv.Atoi(number); err == nil {
			h.Signals = append(h.Signals, syscall.Signal(n))
		}
	}
	err = json.NewDecoder(f).Decode(h)
	if wrong, ok := errors.AsType[*json.UnmarshalTypeError](err); ok && strings.HasPrefix(wrong.Field, "roster") {
		h.Roster, err = nil, nil // of version 0.7, with other keys: the history has an older one
	}
	if err != nil {
		return nil, fmt.Errorf("take over: %w", err)
	}
	for _, fd := range h.descriptors() {
		syscall.CloseOnExec(fd)
	}
	return h, nil
}

// asked are the signals that people send to the daemon. Others must not be
// blocked in the successor: Go's runtime needs some of them.
var asked = []syscall.Signal{syscall.SIGHUP, syscall.SIGINT, syscall.SIGTERM, syscall.SIGUSR2}

const bitsPerWord = int(8 * unsafe.Sizeof(unix.Sigset_t{}.Val[0]))

// descriptors returns the descriptors that must stay open over exec, except those of Children,
// which the spawner handles.
func (h *Handover) descriptors() []int {
	all := append(slices.Collect(maps.Values(h.Beats)), h.Socket)
	if h.Lock != 0 {
		all = append(all, h.Lock)
	}
	return all
}

// Execute replaces this program by the one at path. It returns only if that failed.
//
// It blocks the signals that people send: without the successor's handlers they would end the
// process. They stay pending until the successor calls signal.Notify. Signals that other threads
// received until then are in arrived, and handed over by their numbers.
func (h *Handover) Execute(path string, arrived <-chan os.Signal) error {
	fd, err := atomicfile.Memory("handover", h)
	if err != nil {
		return err
	}
	for _, keep := range append(h.descriptors(), fd) {
		if _, err := unix.FcntlInt(uintptr(keep), unix.F_SETFD, 0); err != nil {
			return fmt.Errorf("hand over descriptor %d: %w", keep, err)
		}
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var deadly, own unix.Sigset_t
	for _, s := range asked {
		deadly.Val[(int(s)-1)/bitsPerWord] |= 1 << ((int(s) - 1) % bitsPerWord)
	}
	if err := unix.PthreadSigmask(unix.SIG_BLOCK, &deadly, &own); err != nil {
		return fmt.Errorf("block signals: %w", err)
	}
	env := append(os.Environ(), handoverName+"="+strconv.Itoa(fd))
	env = append(env, signalsName+"="+h.late(arrived))
	err = syscall.Exec(path, os.Args, env)
	_ = unix.PthreadSigmask(unix.SIG_SETMASK, &own, nil) // what was set once can be set again
	return fmt.Errorf("execute %s: %w", path, err)
}

// late returns the numbers of the signals that the successor must handle, except the signal to
// execute the program again, which is about to happen.
func (h *Handover) late(arrived <-chan os.Signal) string {
	for len(arrived) > 0 {
		h.Signals = append(h.Signals, <-arrived)
	}
	var numbers []string
	for _, s := range h.Signals {
		if n, ok := s.(syscall.Signal); ok && n != syscall.SIGUSR2 {
			numbers = append(numbers, strconv.Itoa(int(n)))
		}
	}
	return strings.Join(numbers, " ")
}

// Listener is the control socket as it was left.
func (h *Handover) Listener() (net.Listener, error) {
	f := os.NewFile(uintptr(h.Socket), "socket")
	defer f.Close()
	l, err := net.FileListener(f)
	if err != nil {
		return nil, fmt.Errorf("take over the control socket: %w", err)
	}
	if own, ok := l.(*net.UnixListener); ok {
		own.SetUnlinkOnClose(h.OwnSocket)
	}
	return l, nil
}

// PIDOf is the process that a pidfd names, or 0 when it is gone; see
// pidfd_open(2).
func PIDOf(pidfd int) int {
	info, _ := os.ReadFile("/proc/self/fdinfo/" + strconv.Itoa(pidfd))
	_, after, _ := strings.Cut(string(info), "\nPid:")
	line, _, _ := strings.Cut(after, "\n")
	pid, _ := strconv.Atoi(strings.TrimSpace(line))
	return max(pid, 0)
}
