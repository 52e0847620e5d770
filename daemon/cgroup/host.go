package cgroup

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// v2 is the name of the hierarchy of version 2. Hierarchies of version 1 have the names of their
// controllers.
const v2 = ""

// controllers are the controllers used for limits.
var controllers = []string{"memory", "pids", "cpu", "io"}

// hierarchy is one mounted tree of groups.
type hierarchy struct {
	mount string // the mount point
	top   string // the group that is at the mount's top
	own   string // this process's group
}

// hierarchies are the hierarchies of a host by name: v2, and one for each controller of version 1.
type hierarchies map[string]hierarchy

// look returns the mounted hierarchies, and the groups of this process.
func look() (hierarchies, error) {
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return nil, fmt.Errorf("look for control groups: %w", err)
	}
	own, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		return nil, fmt.Errorf("look for control groups: %w", err)
	}
	return parse(mounts, own), nil
}

// parse parses the content of /proc/self/mountinfo and /proc/self/cgroup. It omits hierarchies
// that are not in both files.
func parse(mounts, own []byte) hierarchies {
	groups := ownGroups(own)
	all := hierarchies{}
	for lines := bufio.NewScanner(bytes.NewReader(mounts)); lines.Scan(); {
		left, right, _ := strings.Cut(lines.Text(), " - ")
		where, what := strings.Fields(left), strings.Fields(right)
		if len(where) < 5 || len(what) < 3 {
			continue
		}
		h := hierarchy{mount: where[4], top: where[3]}
		for _, name := range mounted(what[0], strings.Split(what[2], ",")) {
			if group, ok := groups[name]; ok {
				h.own = group
				all[name] = h
			}
		}
	}
	return all
}

// mounted returns the names of the hierarchies that a file system contains.
func mounted(kind string, options []string) []string {
	switch kind {
	case "cgroup2":
		return []string{v2}
	case "cgroup":
		return options // options that are not hierarchies have no line in the other file
	}
	return nil
}

func ownGroups(text []byte) map[string]string {
	groups := map[string]string{}
	for line := range strings.Lines(string(text)) {
		_, rest, _ := strings.Cut(strings.TrimSuffix(line, "\n"), ":")
		names, group, _ := strings.Cut(rest, ":")
		for _, name := range strings.Split(names, ",") {
			groups[name] = group
		}
	}
	return groups
}

// dir returns the path of a group in the file system.
func (h hierarchy) dir(group string) string {
	if h.top != "/" {
		group = strings.TrimPrefix(group, h.top)
	}
	return filepath.Join(h.mount, group)
}

// read returns the content of a group's file, or "" if it cannot be read.
func read(dir, file string) string {
	text, err := os.ReadFile(filepath.Join(dir, file))
	if err != nil {
		return ""
	}
	return string(text)
}

func write(dir, file, text string) error {
	return os.WriteFile(filepath.Join(dir, file), []byte(text), 0)
}

func exists(dir, file string) bool {
	_, err := os.Lstat(filepath.Join(dir, file))
	return err == nil
}

// used has the hierarchies in which groups are made, if they exist.
var used = []string{v2, "memory", "pids", "cpu", "blkio"}

// at returns the directories of a group, in the hierarchies that contain it.
func (all hierarchies) at(group string) place {
	p := place{}
	for _, name := range used {
		if h, ok := all[name]; ok && exists(h.dir(group), procs) {
			p[name] = h.dir(group)
		}
	}
	return p
}
