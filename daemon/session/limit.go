package session

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"syscall"

	"github.com/coreos/go-systemd/v22/dbus"
	"golang.org/x/sys/unix"

	"github.com/cronring/cronring/crontab/option"
)

// The processes and threads of a unit in addition to the job's.
const (
	sessionProcesses = 1  // systemd's process that keeps the PAM session open
	helpers          = 10 // maximum number of the helper's threads before it executes the job
)

// limits returns the properties of a unit that set a run's limits: systemd.resource-control(5).
// memory= includes swap, and a run that exceeds it is killed as a whole.
func limits(r *option.Resources) (all []dbus.Property) {
	if r == nil {
		return nil
	}
	add := func(name string, value int64) {
		if value > 0 {
			all = append(all, property(name, uint64(value)))
		}
	}
	add("MemoryMax", r.Memory)
	add("MemoryHigh", r.MemoryHigh)
	add("CPUQuotaPerSecUSec", int64(r.CPU)*1000)
	add("CPUWeight", int64(r.CPUWeight))
	add("IOWeight", int64(r.IOWeight))
	if r.Tasks > 0 {
		add("TasksMax", int64(max(r.Tasks+sessionProcesses, helpers)))
	}
	if r.Memory > 0 {
		all = append(all, property("MemorySwapMax", uint64(0)), property("OOMPolicy", "kill"))
	}
	return all
}

// userSettings has the settings that the helper applies itself, with only the user's privileges.
type userSettings struct {
	NoFile int  `json:",omitempty"`
	Nice   *int `json:",omitempty"`
	Idle   bool `json:",omitempty"`

	// Unit is the unit that limits the job, if any: PAM may have moved the process to another unit
	// without limits.
	Unit string `json:",omitempty"`
}

func wanted(spec Spec) (w userSettings) {
	r := spec.Resources
	if r == nil {
		return w
	}
	w = userSettings{NoFile: r.NoFile, Nice: r.Nice, Idle: r.Idle}
	if len(limits(r)) > 0 {
		w.Unit = spec.Name
	}
	return w
}

const (
	schedIdle      = 5
	ioprioProcess  = 1
	ioprioIdleOnly = 3 << 13
)

// do applies the settings. It must run on the thread that executes the job.
func (w userSettings) do() error {
	if w.Unit != "" {
		if err := isIn(w.Unit); err != nil {
			return err
		}
	}
	if w.NoFile > 0 {
		if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: uint64(w.NoFile), Max: uint64(w.NoFile)}); err != nil {
			return fmt.Errorf("set nofile=: %w; request at most the user's hard limit, see ulimit -Hn", err)
		}
	}
	if w.Nice != nil {
		if err := unix.Setpriority(unix.PRIO_PROCESS, 0, *w.Nice); err != nil {
			return fmt.Errorf("set nice=: %w; a user must not raise their own priority", err)
		}
	}
	if w.Idle {
		attr := unix.SchedAttr{Size: unix.SizeofSchedAttr, Policy: schedIdle}
		if err := unix.SchedSetAttr(0, &attr, 0); err != nil {
			return fmt.Errorf("set idle: %w", err)
		}
		if _, _, e := syscall.RawSyscall(unix.SYS_IOPRIO_SET, ioprioProcess, 0, ioprioIdleOnly); e != 0 {
			return fmt.Errorf("set idle: %w", e)
		}
	}
	return nil
}

// isIn returns an error unless this process is in a unit.
func isIn(unit string) error {
	text, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		return fmt.Errorf("look for the unit: %w", err)
	}
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSuffix(line, "\n")
		_, rest, _ := strings.Cut(line, ":")
		name, group, _ := strings.Cut(rest, ":")
		if (name == "" || name == "name=systemd") && strings.HasSuffix(group, "/"+unit) {
			return nil
		}
	}
	return errors.New("PAM moved the session out of its unit, where its limits hold nothing; see session in cronring.toml(5)")
}
