// Package conditions owns the measurement of the load, memory, disk space and power of the host that
// entries require before a run starts.
package conditions

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/cronring/cronring/crontab/option"
	"github.com/cronring/cronring/daemon/display"
	"github.com/cronring/cronring/daemon/engine/event"
	"github.com/cronring/cronring/daemon/job"
)

// space returns how many bytes of the file system of a path ordinary users can use.
type space func(path string) (int64, error)

// measure returns the conditions that do not hold. The files of the host's kernel are in root.
func measure(root fs.FS, c *option.Conditions, free space) (u event.Unmet) {
	var keys []string
	var details []job.Detail
	add := func(key string, detail job.Detail) {
		details = append(details, detail)
		if !slices.Contains(keys, key) {
			keys = append(keys, key)
		}
	}
	numbers := func(key, name, unit string, limit float64, read func() (float64, error)) {
		if limit == 0 {
			return
		}
		switch n, err := read(); {
		case err != nil:
			add(key, job.DetailNotMeasured(key, name, err))
		case n >= limit:
			add(key, job.DetailNotBelow(key, name, n, limit, unit))
		}
	}
	sizes := func(key, name string, least int64, read func() (int64, error)) {
		if least == 0 {
			return
		}
		switch n, err := read(); {
		case err != nil:
			add(key, job.DetailNotMeasured(key, name, err))
		case n < least:
			add(key, job.DetailTooSmall(key, name, display.Bytes(n), display.Bytes(least)))
		}
	}
	numbers("load", "", "", c.Load, func() (float64, error) { return load(root) })
	for _, p := range []struct {
		name  string
		limit float64
	}{{"cpu", c.Pressure.CPU}, {"io", c.Pressure.IO}, {"memory", c.Pressure.Memory}} {
		numbers("pressure", p.name, " %", p.limit, func() (float64, error) { return pressure(root, p.name) })
	}
	sizes("need-memory", "", c.Memory, func() (int64, error) { return memory(root) })
	for _, d := range c.Disks {
		sizes("need-disk", d.Path, d.Bytes, func() (int64, error) { return free(d.Path) })
	}
	u.Skip = c.Skip && len(keys) > 0
	if c.Battery != option.BatteryRun && onBattery(root) {
		add("on-battery", job.DetailOnBattery)
		u.Skip = u.Skip || c.Battery == option.BatterySkip
	}
	u.Options, u.Detail = strings.Join(keys, ", "), job.JoinDetails(details)
	return u
}

// load returns the load average of one minute.
func load(root fs.FS) (float64, error) {
	text, err := fs.ReadFile(root, "proc/loadavg")
	if err != nil {
		return 0, err
	}
	first, _, _ := bytes.Cut(text, []byte(" "))
	return strconv.ParseFloat(string(first), 64)
}

// memory returns the bytes that the kernel could give to a new program without swapping.
func memory(root fs.FS) (int64, error) {
	text, err := fs.ReadFile(root, "proc/meminfo")
	if err != nil {
		return 0, err
	}
	for lines := bufio.NewScanner(bytes.NewReader(text)); lines.Scan(); {
		if rest, ok := strings.CutPrefix(lines.Text(), "MemAvailable:"); ok {
			n, err := strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(rest), " kB"), 10, 64)
			return n << 10, err
		}
	}
	return 0, errors.New("/proc/meminfo has no MemAvailable")
}

// pressure returns the percentage of the last ten seconds in which some process waited for a
// resource: see proc/pressure in the kernel's documentation of PSI.
func pressure(root fs.FS, resource string) (float64, error) {
	text, err := fs.ReadFile(root, "proc/pressure/"+resource)
	if err != nil {
		return 0, err
	}
	var percent float64
	_, err = fmt.Sscanf(string(text), "some avg10=%f", &percent)
	return percent, err
}

// onBattery reports whether a battery of the host is discharging and no power supply is online.
// Batteries of mice and other devices do not count.
func onBattery(root fs.FS) (discharging bool) {
	dirs, _ := fs.Glob(root, "sys/class/power_supply/*")
	for _, dir := range dirs {
		is := func(file, value string) bool {
			text, err := fs.ReadFile(root, path.Join(dir, file))
			return err == nil && strings.TrimSpace(string(text)) == value
		}
		switch {
		case is("scope", "Device"):
		case is("type", "Battery"):
			discharging = discharging || is("status", "Discharging")
		case is("online", "1"):
			return false
		}
	}
	return discharging
}

// Unfit returns why this host cannot measure the conditions of an entry, or "".
func Unfit(o *option.Options) string { return unfit(host, o) }

func unfit(root fs.FS, o *option.Options) string {
	if o.Conditions == nil || o.Conditions.Pressure == (option.Pressure{}) {
		return ""
	}
	if _, err := fs.Stat(root, "proc/pressure"); err != nil {
		return "pressure= requires a kernel that measures pressure: there is no /proc/pressure."
	}
	return ""
}
