package proc

import (
	"bytes"
	"os"
	"strconv"
)

// mostParents limits how many parents IsOf follows.
const mostParents = 64

// IsOf reports whether a process belongs to a run, whose first process is leader. It does if it is
// in the leader's session or process group, descends from the leader, or is in the leader's
// control group while this program is not. No process can join the session, process group or
// descendants of a leader from outside, and only root can move one into its control group.
func IsOf(pid, leader int) bool {
	if pid <= 0 || leader <= 1 || !IsAlive(leader) {
		return false
	}
	if s := statOf(pid); s != nil && (s.number(statSession) == leader || s.number(statGroup) == leader) {
		return true
	}
	return descends(pid, leader) || sharesGroup(pid, leader)
}

func descends(pid, leader int) bool {
	for range mostParents {
		if pid == leader {
			return true
		}
		s := statOf(pid)
		if s == nil || s.number(statParent) <= 1 {
			return false
		}
		pid = s.number(statParent)
	}
	return false
}

func sharesGroup(pid, leader int) bool {
	group := controlGroup(strconv.Itoa(leader))
	return group != "" && group != controlGroup("self") && group == controlGroup(strconv.Itoa(pid))
}

// controlGroup returns the path of a process's control group, or "" without version 2.
func controlGroup(pid string) string {
	text, _ := os.ReadFile("/proc/" + pid + "/cgroup")
	return parseControlGroup(text)
}

func parseControlGroup(text []byte) string {
	for line := range bytes.Lines(text) {
		if path, ok := bytes.CutPrefix(line, []byte("0::")); ok {
			return string(bytes.TrimSuffix(path, []byte("\n")))
		}
	}
	return ""
}
