package proc

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// StartTicks returns when a process started, in ticks since the kernel started,
// or "" if there is none.
func StartTicks(pid int) string {
	if s := statOf(pid); s != nil {
		return s[statStart]
	}
	return ""
}

// stat is the fields of /proc/PID/stat from the third one on; see proc(5).
type stat []string

// Indexes into stat: the numbers of the fields in proc(5) minus 3.
const (
	statState   = 0
	statParent  = 1
	statGroup   = 2
	statSession = 3
	statStart   = 19
	statExit    = 49
)

// statOf returns nil if there is no such process.
func statOf(pid int) stat {
	text, _ := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	return parseStat(text)
}

// parseStat skips the second field, the name of the process in parentheses, which may have blanks and
// more of them.
func parseStat(text []byte) stat {
	fields := strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:]))
	if len(fields) <= statExit {
		return nil
	}
	return fields
}

// IsAlive reports whether there is a process with a number that has not ended.
func IsAlive(pid int) bool {
	s := statOf(pid)
	return s != nil && !s.isDead()
}

// isDead reports whether the process has ended and only waits to be reaped.
func (s stat) isDead() bool { return s[statState] == "Z" || s[statState] == "X" }

func (s stat) number(field int) int {
	n, _ := strconv.Atoi(s[field]) // the kernel wrote it
	return n
}

// StartOf returns the time since boot at which a process started; false means
// that there is none.
func StartOf(pid int) (up time.Duration, ok bool) {
	s := statOf(pid)
	if s == nil {
		return 0, false
	}
	return s.start(), true
}

func (s stat) start() time.Duration {
	const perSecond = 100                              // USER_HZ, which is 100 on every architecture that Go runs on
	ticks, _ := strconv.ParseInt(s[statStart], 10, 64) // the kernel wrote it
	return time.Duration(ticks) * (time.Second / perSecond)
}

// Uptime returns the time since boot.
func Uptime() time.Duration {
	var t unix.Timespec
	_ = unix.ClockGettime(unix.CLOCK_BOOTTIME, &t) // every kernel has it
	return time.Duration(t.Nano())
}

// LivingGroups returns the numbers of all process groups with a member that is not
// a zombie: those may wait for long, for a parent that does not reap them.
func LivingGroups() (map[int]bool, error) {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil, fmt.Errorf("list processes: %w", err)
	}
	groups := map[int]bool{}
	for _, entry := range entries {
		pid, err := strconv.Atoi(entry.Name())
		if err != nil {
			continue
		}
		if s := statOf(pid); s != nil && !s.isDead() {
			groups[s.number(statGroup)] = true
		}
	}
	return groups, nil
}

// GroupLives reports whether a process that existed at a time since boot is in a
// process group. If the number were of another group by now, its members would be
// younger.
func GroupLives(group int, up time.Duration) bool {
	entries, _ := os.ReadDir("/proc") // without it there is nothing to end
	for _, entry := range entries {
		pid, err := strconv.Atoi(entry.Name())
		if err != nil {
			continue
		}
		if s := statOf(pid); s != nil && !s.isDead() && s.number(statGroup) == group && s.start() <= up {
			return true
		}
	}
	return false
}

// ZombieStatus returns the exit status of a process that has ended and is not reaped.
// The kernel shows the status 0 to a process that may not read it. Such a process may
// not read the link to the program either.
func ZombieStatus(pid, pidfd int) (syscall.WaitStatus, bool) {
	s := statOf(pid)
	if s == nil || !s.isDead() {
		return 0, false
	}
	_, err := os.Readlink("/proc/" + strconv.Itoa(pid) + "/exe")
	mayRead := errors.Is(err, fs.ErrNotExist)
	unreaped := unix.PidfdSendSignal(pidfd, 0, nil, 0) == nil // until here the number was this process's
	return syscall.WaitStatus(s.number(statExit)), mayRead && unreaped
}
