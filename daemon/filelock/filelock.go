// Package filelock owns taking the locks of daemons, and the search for the process that holds a lock
// on a file, regardless of the content of the file.
package filelock

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/cronring/cronring/crontab/diagnostic"
)

// Process is a process that holds a lock.
type Process struct {
	PID  int
	Name string // of its program, without directory; if that is hidden, the process name; "" if it cannot be read
}

func (p Process) String() string {
	if p.Name == "" {
		return fmt.Sprintf("process %d", p.PID)
	}
	return fmt.Sprintf("process %d (%s)", p.PID, diagnostic.Harmless(p.Name))
}

// Of returns the process that holds a lock of flock(2) or fcntl(2) on a file,
// and false if there is none, or if this process may not see it.
//
// The kernel lists the process that took the lock. A lock of flock belongs to
// the open file, and outlives this process if another one has inherited the
// descriptor: then Of returns the process that inherited it, which only root can find.
func Of(f *os.File) (Process, bool) { return In("", f) }

// In is like Of, but reads /proc below another root directory.
func In(root string, f *os.File) (Process, bool) {
	proc := filepath.Join("/", root, "proc")
	var st syscall.Stat_t
	if err := syscall.Fstat(int(f.Fd()), &st); err != nil {
		return Process{}, false
	}
	file := fmt.Sprintf("%02x:%02x:%d", unix.Major(uint64(st.Dev)), unix.Minor(uint64(st.Dev)), st.Ino)
	list, err := os.ReadFile(filepath.Join(proc, "locks"))
	if err != nil {
		return Process{}, false
	}
	for line := range bytes.Lines(list) {
		if pid, ok := lockOf(line, file); ok && isAlive(proc, pid) {
			return process(proc, pid), true
		}
	}
	return inheritor(proc, file)
}

// lockOf parses a line of /proc/locks, or of a "lock:" in fdinfo:
//
//	3: FLOCK  ADVISORY  WRITE 381 00:19:1125 0 EOF
func lockOf(line []byte, file string) (pid int, ok bool) {
	words := strings.Fields(string(line))
	if len(words) < 6 || words[1] == "->" || words[5] != file {
		return 0, false
	}
	pid, err := strconv.Atoi(words[4])
	return pid, err == nil
}

// isAlive reports whether a process exists and is not a zombie.
func isAlive(proc string, pid int) bool {
	if pid <= 0 {
		return false
	}
	stat, err := os.ReadFile(filepath.Join(proc, strconv.Itoa(pid), "stat"))
	at := bytes.LastIndexByte(stat, ')')
	return err == nil && at >= 0 && !bytes.HasPrefix(stat[at:], []byte(") Z"))
}

// inheritor finds a process that has inherited the descriptor of a lock.
func inheritor(proc, file string) (Process, bool) {
	infos, _ := filepath.Glob(proc + "/[0-9]*/fdinfo/*") // the pattern is valid
	for _, path := range infos {
		text, err := os.ReadFile(path)
		if err != nil {
			continue // it ended, or is another user's
		}
		for line := range bytes.Lines(text) {
			lock, found := bytes.CutPrefix(line, []byte("lock:"))
			if _, ok := lockOf(lock, file); !found || !ok {
				continue
			}
			pid, err := strconv.Atoi(filepath.Base(filepath.Dir(filepath.Dir(path))))
			if err == nil && isAlive(proc, pid) {
				return process(proc, pid), true
			}
		}
	}
	return Process{}, false
}

func process(proc string, pid int) Process {
	program, err := os.Readlink(filepath.Join(proc, strconv.Itoa(pid), "exe"))
	if err != nil { // another user's
		name, _ := os.ReadFile(filepath.Join(proc, strconv.Itoa(pid), "comm")) // without it the name is unknown
		return Process{pid, strings.TrimSuffix(string(name), "\n")}
	}
	return Process{pid, filepath.Base(strings.TrimSuffix(program, " (deleted)"))}
}
