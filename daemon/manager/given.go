package manager

import (
	"cmp"
	"fmt"
	"net"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/cronring/cronring/daemon/job"
)

// passedFile is a descriptor that came with the start.
type passedFile struct {
	name string
	fd   int
}

// firstPassed is SD_LISTEN_FDS_START.
const firstPassed = 3

// takePassed does the same as go-systemd's activation.Files, but without files of package os: these
// would put the pipes of jobs into Go's poller, and reset their non-blocking mode.
func takePassed() []passedFile {
	defer func() {
		for _, name := range []string{"LISTEN_PID", "LISTEN_FDS", "LISTEN_FDNAMES"} {
			_ = os.Unsetenv(name) // cannot fail for a plain name
		}
	}()
	if pid, err := strconv.Atoi(os.Getenv("LISTEN_PID")); err != nil || pid != os.Getpid() {
		return nil
	}
	n, err := strconv.Atoi(os.Getenv("LISTEN_FDS"))
	if err != nil {
		return nil
	}
	names := strings.Split(os.Getenv("LISTEN_FDNAMES"), ":")
	var all []passedFile
	for i := range n {
		syscall.CloseOnExec(firstPassed + i)
		g := passedFile{fd: firstPassed + i}
		if i < len(names) {
			g.name = names[i]
		}
		all = append(all, g)
	}
	return all
}

// Listener is the control socket that the manager opened for the daemon, or
// nil. The socket stays the manager's: closing the listener does not remove
// it.
func (m *Manager) Listener() (net.Listener, error) {
	for _, g := range m.passed {
		if _, ok := keptName(g.name); ok || !listens(g.fd) {
			continue
		}
		f := os.NewFile(uintptr(g.fd), g.name)
		defer f.Close()
		l, err := net.FileListener(f)
		if err != nil {
			return nil, fmt.Errorf("listen on the socket that the service manager gave: %w", err)
		}
		return l, nil
	}
	return nil, nil
}

func listens(fd int) bool {
	n, err := syscall.GetsockoptInt(fd, syscall.SOL_SOCKET, syscall.SO_ACCEPTCONN)
	return err == nil && n == 1
}

// Kept holds the descriptors of one run from the descriptor store. Missing descriptors are 0.
type Kept struct {
	Run                 job.RunID
	Stdout, Stderr, PID int
}

// Kept lists what the store gave back, by run. The descriptors are the
// caller's from now on, and still in the store until Forget.
func (m *Manager) Kept() []Kept {
	found := map[job.RunID]*Kept{}
	for _, g := range m.passed {
		run, ok := keptName(g.name)
		if !ok {
			continue
		}
		k := found[run]
		if k == nil {
			k = &Kept{Run: run}
			found[run] = k
			m.Remember(run)
		}
		*k.field(g.fd) = g.fd
	}
	all := make([]Kept, 0, len(found))
	for _, k := range found {
		all = append(all, *k)
	}
	slices.SortFunc(all, func(a, b Kept) int { return cmp.Compare(a.Run, b.Run) })
	return all
}

// field returns the field for a descriptor that Keep stored; see there.
func (k *Kept) field(fd int) *int {
	var st syscall.Stat_t
	if syscall.Fstat(fd, &st) != nil || st.Mode&syscall.S_IFMT != syscall.S_IFIFO {
		return &k.PID
	}
	if flags, err := unix.FcntlInt(uintptr(fd), unix.F_GETFL, 0); err == nil && flags&unix.O_APPEND != 0 {
		return &k.Stderr
	}
	return &k.Stdout
}

// keptName reads a name that Keep wrote: "run.123".
func keptName(name string) (run job.RunID, ok bool) {
	number, ok := strings.CutPrefix(name, "run.")
	n, err := strconv.ParseInt(number, 10, 64)
	return job.RunID(n), ok && err == nil && n > 0
}
