package cgroup

import (
	"fmt"
	"io"
	"os"
	"path"
	"strings"
	"syscall"
	"time"
)

// Hold is the main function of a unit's holder. It waits for the end of its standard input, which
// the daemon keeps open, and then for the last process of all groups that were made beside it. It
// removes empty groups.
func Hold(unit string) error {
	host, err := look()
	if err != nil {
		return err
	}
	group, ok := host.group(unit)
	if !ok {
		return fmt.Errorf("hold control groups: this is not the unit %s", unit)
	}
	p := host.at(group)
	if h, ok := host[freezer]; ok && exists(h.dir(group), procs) {
		p[freezer] = h.dir(group)
	}
	_, _ = io.Copy(io.Discard, os.Stdin) // however it ends
	for p.sweep() {
		time.Sleep(holdPause)
	}
	if dir := p[freezer]; dir != "" { // systemd removes the others
		_ = syscall.Rmdir(dir)
	}
	return nil
}

// holdPause is the time between two checks of groups that are not empty.
const holdPause = 5 * time.Second

// group returns the group of a unit, if this process is in it. Groups of other units must not be
// removed.
func (all hierarchies) group(unit string) (string, bool) {
	for _, name := range []string{v2, "name=systemd"} {
		h, ok := all[name]
		group := strings.TrimSuffix(h.own, "/"+holderGroup)
		if ok && path.Base(group) == unit {
			return group, true
		}
	}
	return "", false
}
