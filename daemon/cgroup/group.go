package cgroup

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/cronring/cronring/daemon/job"
)

// Group is the control group of one run: a directory in each hierarchy that limits the run or
// tracks its processes. It exists until Remove.
type Group struct{ dirs place }

// MarshalJSON and UnmarshalJSON pass a group to the daemon that replaces this one.
func (g *Group) MarshalJSON() ([]byte, error) { return json.Marshal(g.dirs) }

func (g *Group) UnmarshalJSON(text []byte) error { return json.Unmarshal(text, &g.dirs) }

// Dir returns the group's directory if clone3(2) can start a process in it: if it is a directory of
// version 2, and the only one. Otherwise it returns "".
func (g *Group) Dir() string {
	if len(g.dirs) == 1 {
		return g.dirs[v2]
	}
	return ""
}

// ProcsFiles returns the files to which a process writes 0 to enter the group.
func (g *Group) ProcsFiles() (files []string) {
	for _, dir := range g.dirs {
		files = append(files, filepath.Join(dir, procs))
	}
	return files
}

const procs = "cgroup.procs"

// Kill kills the processes in the group. It can miss a process that is being forked, even with
// cgroup.kill (seen with Linux 6.18). The caller therefore repeats Kill until Remove succeeds.
func (g *Group) Kill() {
	dir, v := g.watched()
	switch {
	case v == v2 && write(dir, "cgroup.kill", "1") == nil:
	case v == v2:
		_ = write(dir, "cgroup.freeze", "1") // since Linux 5.2; frozen processes can be killed
		killAll(dir)
	case v == freezer:
		for range killRounds {
			_ = write(dir, freezerState, "FROZEN")
			left := killOnce(dir)
			_ = write(dir, freezerState, "THAWED")
			if left == 0 {
				return
			}
		}
	default:
		killAll(dir)
	}
}

// freezer is the controller that stops processes in version 1.
const (
	freezer      = "freezer"
	freezerState = "freezer.state"
)

// watched returns the hierarchy that tracks the group's processes.
func (g *Group) watched() (dir, hierarchy string) {
	for _, name := range []string{v2, freezer, "pids", "memory", "cpu", "blkio"} {
		if dir, ok := g.dirs[name]; ok {
			return dir, name
		}
	}
	return "", ""
}

// killRounds is the maximum number of attempts to kill a group whose processes keep forking.
const killRounds = 1000

func killAll(dir string) {
	for range killRounds {
		if killOnce(dir) == 0 {
			return
		}
	}
}

// killOnce kills the processes of a group, and returns their number.
func killOnce(dir string) (n int) {
	for _, field := range strings.Fields(read(dir, procs)) {
		pid, err := strconv.Atoi(field)
		if err == nil && pid > 1 {
			n++
			killIn(dir, pid)
		}
	}
	return n
}

// killIn kills a process if it is certainly in a group. The PID may belong to another process by
// now. Therefore killIn first opens a pidfd, which always refers to the same process, and then
// checks that the group contains the PID.
func killIn(dir string, pid int) {
	fd, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		return
	}
	defer unix.Close(fd)
	for _, field := range strings.Fields(read(dir, procs)) {
		if field == strconv.Itoa(pid) {
			_ = unix.PidfdSendSignal(fd, unix.SIGKILL, nil, 0) // it may have ended
			return
		}
	}
}

// Usage returns the resource usage of the group's processes, as far as it is known.
func (g *Group) Usage() (u job.Usage) {
	if dir, ok := g.dirs[v2]; ok {
		u.CPU = time.Duration(number(read(dir, "cpu.stat"), "usage_usec")) * time.Microsecond
		u.Memory = plain(read(dir, "memory.peak"))
		for _, field := range strings.Fields(read(dir, "io.stat")) {
			key, value, _ := strings.Cut(field, "=")
			n, _ := strconv.ParseInt(value, 10, 64)
			switch key {
			case "rbytes":
				u.Read += n
			case "wbytes":
				u.Write += n
			}
		}
	}
	if dir, ok := g.dirs["memory"]; ok {
		u.Memory = plain(read(dir, "memory.max_usage_in_bytes"))
	}
	return u
}

// Limit returns the limit that the group has reached, if any.
func (g *Group) Limit() job.Reason {
	switch {
	case g.killedForMemory():
		return job.OverMemory
	case g.count("pids", "pids.events", "max") > 0:
		return job.OverTasks
	}
	return ""
}

func (g *Group) killedForMemory() bool {
	return g.count(v2, "memory.events", "oom_kill") > 0 || g.count("memory", "memory.oom_control", "oom_kill") > 0
}

// count returns an event counter of a controller, from the given hierarchy or version 2.
func (g *Group) count(hierarchy, file, event string) int64 {
	for _, name := range []string{hierarchy, v2} {
		if dir, ok := g.dirs[name]; ok {
			if n := number(read(dir, file), event); n > 0 {
				return n
			}
		}
	}
	return 0
}

// number returns the value after a word at the beginning of a line.
func number(text, word string) int64 {
	for line := range strings.Lines(text) {
		if key, value, ok := strings.Cut(line, " "); ok && key == word {
			return plain(value)
		}
	}
	return 0
}

func plain(text string) int64 {
	n, _ := strconv.ParseInt(strings.TrimSpace(text), 10, 64)
	return n
}

// Remove removes the group. It returns false if that fails, for example because a process is left
// in the group.
func (g *Group) Remove() bool {
	gone := true
	for _, dir := range g.dirs {
		gone = removeTree(dir) && gone
	}
	return gone
}

// removeTree removes a group, including groups that root's jobs have made in it.
func removeTree(dir string) bool {
	err := syscall.Rmdir(dir)
	if err == nil || errors.Is(err, fs.ErrNotExist) {
		return true
	}
	below, _ := os.ReadDir(dir)
	for _, entry := range below {
		if entry.IsDir() && !removeTree(filepath.Join(dir, entry.Name())) {
			return false
		}
	}
	return syscall.Rmdir(dir) == nil
}
