package starter

import (
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// memory determines which pages of this process a new process receives. To fork, the kernel copies
// the entries of all pages, and then this process takes a page fault for each page that it writes
// to. Until it executes its command, a new process needs a few pages only, so the others are left
// out (MADV_DONTFORK). Half of the processor time of a start is saved by that.
//
// The zero value leaves nothing out.
type memory struct {
	limited bool
	shared  []span // received by the new process all the same
}

// span is a range of whole pages.
type span struct{ from, to uintptr }

// limit leaves out everything except code and constants. With the C library, or if a new process
// cannot run that way, nothing is left out.
func (m *memory) limit() {
	if cLibrary {
		return
	}
	maps, err := os.ReadFile("/proc/self/maps")
	if err != nil {
		return // without /proc a start costs more
	}
	variable := variableMemory(string(maps))
	for _, s := range variable {
		s.advise(unix.MADV_DONTFORK)
	}
	m.limited = true
	m.shareStack()
	if canFork() {
		return
	}
	*m = memory{}
	for _, s := range variable {
		s.advise(unix.MADV_DOFORK)
	}
}

// variableMemory returns the mappings of /proc/PID/maps that can be written to, and those that only
// reserve addresses.
func variableMemory(maps string) (all []span) {
	for line := range strings.Lines(maps) {
		fields := strings.Fields(line)
		from, to, _ := strings.Cut(fields[0], "-")
		first, err1 := strconv.ParseUint(from, 16, strconv.IntSize)
		last, err2 := strconv.ParseUint(to, 16, strconv.IntSize)
		if permissions := fields[1]; err1 == nil && err2 == nil && (permissions == "rw-p" || permissions == "---p") {
			all = append(all, span{uintptr(first), uintptr(last)})
		}
	}
	return all
}

func (s span) advise(advice uintptr) {
	_, _, _ = syscall.RawSyscall(unix.SYS_MADVISE, s.from, s.to-s.from, advice) // advice only; canFork checks the effect
}

// canFork reports whether a new process can run.
//
//go:nosplit
//go:norace
func canFork() bool {
	pid, _, e := syscall.RawSyscall6(unix.SYS_CLONE, uintptr(unix.SIGCHLD), 0, 0, 0, 0, 0)
	if pid == 0 && e == 0 {
		raw(unix.SYS_EXIT_GROUP, 0, 0, 0)
	}
	return e == 0 && awaitChild(int(pid))
}

func awaitChild(pid int) bool {
	var status syscall.WaitStatus
	for {
		if _, err := syscall.Wait4(pid, &status, 0, nil); err != syscall.EINTR {
			return err == nil && status == 0
		}
	}
}

// shareFor shares with the next new process what it needs: p, its request, and the stack of the
// caller.
func (m *memory) shareFor(p *process, request []byte) {
	if !m.limited {
		return
	}
	if len(m.shared) > maxShared {
		for _, s := range m.shared {
			s.advise(unix.MADV_DONTFORK)
		}
		m.shared = m.shared[:0]
	}
	m.shareStack()
	m.share(uintptr(unsafe.Pointer(p)), unsafe.Sizeof(*p))
	shareAll(m, request)
	shareAll(m, p.files)
	shareAll(m, p.groups)
	shareAll(m, p.limits)
	shareAll(m, p.nice)
	shareAll(m, p.argv)
	shareAll(m, p.env)
	shareAll(m, p.groupFiles)
}

// maxShared is the maximum number of spans that are kept for the next request: requests of many
// sizes use different memory.
const maxShared = 64

// stackSize is more than functions that are marked nosplit can use, in bytes.
const stackSize = 4096

func (m *memory) shareStack() {
	var here byte
	m.share(uintptr(unsafe.Pointer(&here))-stackSize, 2*stackSize)
}

func shareAll[T any](m *memory, all []T) {
	var one T
	m.share(uintptr(unsafe.Pointer(unsafe.SliceData(all))), uintptr(len(all))*unsafe.Sizeof(one))
}

func (m *memory) share(first, size uintptr) {
	page := uintptr(os.Getpagesize())
	s := span{first &^ (page - 1), (first + size + page - 1) &^ (page - 1)}
	if size == 0 || slices.ContainsFunc(m.shared, func(old span) bool { return old.from <= s.from && s.to <= old.to }) {
		return
	}
	s.advise(unix.MADV_DOFORK)
	m.shared = append(m.shared, s)
}
