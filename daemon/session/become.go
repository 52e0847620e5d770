package session

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/cronring/cronring/daemon/envfile"
	"github.com/cronring/cronring/daemon/sandbox"
)

// order is the helper's input. It has byte slices, because a crontab can contain invalid UTF-8, and
// JSON strings cannot.
type order struct {
	Argv       [][]byte
	Env        [][]byte
	Dir        []byte
	Fallback   bool
	Umask      *uint32       `json:",omitempty"` // replaces that of PAM
	EnvFile    []byte        `json:",omitempty"`
	Kept       []string      `json:",omitempty"` // variables that EnvFile does not change
	Sandbox    *sandbox.Plan `json:",omitempty"`
	NotNetwork uint64        `json:",omitempty"` // the number of the network that the job must not be in; 0: any
	Wants      userSettings
}

// The descriptors that come with an order.
const (
	orderFile  = iota // the order itself, as JSON
	reportPipe        // receives the helper's report
	stdin
	stdout
	stderr
	orderFiles
)

// The first byte of each line of a report. After a line of reportReady, the end
// of the report means that the job runs.
const (
	reportNote  = 'N'
	reportError = 'E'
	reportReady = 'R'
)

// reportLimit is the maximum length of a report. Longer reports are cut, because the process that
// writes them belongs to the user.
const reportLimit = 4 << 10

// orderLimit is above the kernel's limit for a command and its environment.
const orderLimit = 64 << 20

// failed is the helper's exit status if it could not execute the job.
const failed = 203

// Become turns the process into the job that is described on its standard input. The program of
// Options.Helper must call it first, and it never returns. A process without an order ends with
// status 203.
func Become() {
	runtime.LockOSThread() // exec passes on the signal mask of its thread
	var report io.Writer = io.Discard
	fds, err := receive(0)
	if err == nil {
		report = os.NewFile(uintptr(fds[reportPipe]), "report")
		err = become(fds, report)
	}
	writeReport(report, reportError, err.Error())
	fmt.Fprintln(os.Stderr, "become a job:", err) // to the journal, or to the job's output if that is set up already
	os.Exit(failed)
}

// become executes the job. It returns only if that fails.
func become(fds []int, report io.Writer) error {
	var o order
	file := os.NewFile(uintptr(fds[orderFile]), "order")
	if err := json.NewDecoder(io.NewSectionReader(file, 0, orderLimit)).Decode(&o); err != nil {
		return fmt.Errorf("read order: %w", err)
	}
	for standard, fd := range fds[stdin:] {
		// The creator of the pipe may use it through a poller, but few programs can.
		err := errors.Join(unix.SetNonblock(fd, false), unix.Dup3(fd, standard, 0))
		if err != nil {
			return fmt.Errorf("set descriptor %d up: %w", standard, err)
		}
	}
	if err := errors.Join(enter(o, report), o.Wants.do()); err != nil {
		return err
	}
	argv := asStrings(o.Argv)
	if len(argv) == 0 {
		return errors.New("the order has no command")
	}
	env := merge(os.Environ(), asStrings(o.Env))
	if o.Umask != nil {
		syscall.Umask(int(*o.Umask))
	}
	if len(o.EnvFile) > 0 {
		var err error
		if env, err = envfile.Apply(env, string(o.EnvFile), o.Kept); err != nil {
			return err
		}
	}
	if err := o.isolate(); err != nil {
		return err
	}
	defaultReserved()
	writeReport(report, reportReady, "")
	err := syscall.Exec(argv[0], argv, env) // closes the report
	return fmt.Errorf("run SHELL %s: %w", argv[0], err)
}

// isolate checks that the job has a network of its own, because systemd continues without one where
// it cannot make one, and keeps the job from leaving it. Then it applies the sandbox.
func (o *order) isolate() error {
	if o.NotNetwork != 0 {
		switch own, err := network(); {
		case err != nil:
			return err
		case own == o.NotNetwork:
			return errors.New("network=no: systemd could not give the job a network of its own")
		}
		if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
			return fmt.Errorf("network=no: %w", err)
		}
	}
	if o.Sandbox != nil {
		return o.Sandbox.Apply()
	}
	return nil
}

// network returns the number of the network of this process.
func network() (uint64, error) {
	var status unix.Stat_t
	err := unix.Stat("/proc/self/ns/net", &status)
	if err != nil {
		err = fmt.Errorf("network=no: find the network: %w", err)
	}
	return status.Ino, err
}

// defaultReserved sets the default action of the signals that the C library reserves for itself.
// glibc's posix_spawn leaves them ignored in its children, exec passes that on, and package signal
// cannot set them. Go itself uses one of them before, for a sandbox. All of struct sigaction is zero
// for that, on every architecture.
func defaultReserved() {
	const first, last, maskSize = 32, 34, 8
	var action [4]uint64
	for sig := uintptr(first); sig <= last; sig++ {
		_, _, _ = syscall.RawSyscall6(syscall.SYS_RT_SIGACTION, sig, uintptr(unsafe.Pointer(&action)), 0, maskSize, 0, 0)
	}
}

// receive receives the descriptors of an order from a socket. exec closes all of them, except the
// copies at the standard descriptors.
func receive(socket int) ([]int, error) {
	control := make([]byte, unix.CmsgSpace(orderFiles*4))
	_, n, _, _, err := unix.Recvmsg(socket, make([]byte, 1), control, unix.MSG_CMSG_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("receive order: %w", err)
	}
	messages, err := unix.ParseSocketControlMessage(control[:n])
	if err != nil || len(messages) != 1 {
		return nil, errors.New("receive order: no descriptors came with it")
	}
	fds, err := unix.ParseUnixRights(&messages[0])
	if err != nil || len(fds) != orderFiles {
		return nil, errors.New("receive order: other descriptors came with it than there should be")
	}
	return fds, nil
}

// enter changes to the job's directory as the user, because a user can enter some directories
// that root cannot.
func enter(o order, report io.Writer) error {
	err := os.Chdir(string(o.Dir))
	switch {
	case err == nil:
		return nil
	case !o.Fallback:
		return fmt.Errorf("cannot enter %s: %w", o.Dir, errors.Unwrap(err))
	}
	writeReport(report, reportNote, fmt.Sprintf("cannot enter %s: %v; running in /", o.Dir, errors.Unwrap(err)))
	return os.Chdir("/")
}

// writeReport writes a line of the report. If the report is no longer read, the line is dropped.
func writeReport(report io.Writer, kind byte, text string) {
	line := append([]byte{kind}, strings.ReplaceAll(text, "\n", " ")...)
	_, _ = report.Write(append(line, '\n'))
}

// fromSystemd are the variables that systemd itself adds. Jobs of cron never had them, and some
// programs assume from them that they are the service itself.
var fromSystemd = []string{
	"INVOCATION_ID", "JOURNAL_STREAM", "SYSTEMD_EXEC_PID", "MEMORY_PRESSURE_WATCH", "MEMORY_PRESSURE_WRITE",
	"NOTIFY_SOCKET", "MAINPID", "LISTEN_FDS", "LISTEN_PID", "LISTEN_FDNAMES", "MANAGERPID", "TERM",
}

// merge combines the variables of PAM and of the job. The job's variables override PAM's.
func merge(session, job []string) []string {
	inLogind := slices.ContainsFunc(session, func(entry string) bool { return strings.HasPrefix(entry, "XDG_SESSION_ID=") })
	var env []string
	for _, entry := range session {
		name, _, _ := strings.Cut(entry, "=")
		isSet := func(entry string) bool { return strings.HasPrefix(entry, name+"=") }
		if !slices.Contains(fromSystemd, name) && !slices.ContainsFunc(job, isSet) && (inLogind || !slices.Contains(cronSession, entry)) {
			env = append(env, entry)
		}
	}
	return append(env, job...)
}

func asStrings(all [][]byte) []string {
	texts := make([]string, len(all))
	for i, b := range all {
		texts[i] = string(b)
	}
	return texts
}

func asBytes(all []string) [][]byte {
	texts := make([][]byte, len(all))
	for i, s := range all {
		texts[i] = []byte(s)
	}
	return texts
}
