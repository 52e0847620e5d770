package option

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/cronring/cronring/crontab/diagnostic"
)

// Conditions are what an entry requires of the host before a run starts.
type Conditions struct {
	Load     float64 // the load average of one minute must be below; 0: any
	Memory   int64   // bytes of memory that must be available
	Disks    []Space // each path once
	Pressure Pressure
	Battery  Battery
	Skip     bool // an occurrence whose conditions do not hold is skipped, and does not wait
}

// Space is free space that a file system must have.
type Space struct {
	Bytes int64
	Path  string // in the file system
}

// Pressure is the percentage of the last ten seconds in which some process lacked a resource;
// that of the host must be below. 0: any.
type Pressure struct{ CPU, IO, Memory float64 }

// Battery is what an occurrence does while the host runs on battery.
type Battery uint8

// The values of on-battery=.
const (
	BatteryRun Battery = iota
	BatterySkip
	BatteryWait
)

var batteries = map[string]Battery{"run": BatteryRun, "skip": BatterySkip, "wait": BatteryWait}

// unmets are the values of unmet=, true for skip.
var unmets = map[string]bool{"wait": false, "skip": true}

// mostDisks is the highest number of paths of need-disk=.
const mostDisks = 8

// IsEmpty reports whether a run can always start.
func (c *Conditions) IsEmpty() bool {
	return c.Load == 0 && c.Memory == 0 && c.Disks == nil && c.Pressure == Pressure{} && c.Battery == BatteryRun
}

// Waits reports whether an occurrence can wait for a condition.
func (c *Conditions) Waits() bool {
	other := Conditions{Load: c.Load, Memory: c.Memory, Disks: c.Disks, Pressure: c.Pressure}
	return c.Battery == BatteryWait || !c.Skip && !other.IsEmpty()
}

// conditions returns the conditions of the entry alone, to be changed.
func (p *Plan) conditions() *Conditions {
	if p.Conditions == nil {
		p.Conditions = &Conditions{}
	}
	return p.Conditions
}

// parseBelow reads <N: a number above 0 and up to most.
func parseBelow(text string, most float64) (float64, error) {
	number, ok := strings.CutPrefix(text, "<")
	n, err := strconv.ParseFloat(number, 64)
	if !ok || err != nil || !(n > 0 && n <= most) {
		return 0, fmt.Errorf("%s is not < and a number above 0, up to %g", diagnostic.Quote(text), most)
	}
	return n, nil
}

// highestLoad is far above the load of any host.
const highestLoad = 100_000

// parsePressure reads cpu<N,io<N,memory<N.
func parsePressure(text string) (p Pressure, err error) {
	for item := range strings.SplitSeq(text, ",") {
		at := strings.IndexByte(item, '<')
		if at < 0 {
			return p, fmt.Errorf("%s is not cpu<N, io<N or memory<N", diagnostic.Quote(item))
		}
		field, ok := map[string]*float64{"cpu": &p.CPU, "io": &p.IO, "memory": &p.Memory}[item[:at]]
		switch {
		case !ok:
			return p, fmt.Errorf("%s is not cpu, io or memory", diagnostic.Quote(item[:at]))
		case *field != 0:
			return p, fmt.Errorf("%s is given twice", item[:at])
		}
		if *field, err = parseBelow(item[at:], 100); err != nil {
			return p, err
		}
	}
	return p, nil
}

// parseDisks reads SIZE:PATH,...
func parseDisks(text string) ([]Space, error) {
	return parseList(text, "paths", mostDisks, func(before []Space, item string) (s Space, err error) {
		size, path, ok := strings.Cut(item, ":")
		if !ok {
			return s, fmt.Errorf("%s is not SIZE:PATH", diagnostic.Quote(item))
		}
		bytes, err := parseMemory(size)
		if err := errors.Join(err, checkOwnPath(path)); err != nil {
			return s, err
		}
		if slices.ContainsFunc(before, func(s Space) bool { return s.Path == path }) {
			return s, fmt.Errorf("%s is given twice", diagnostic.Quote(path))
		}
		return Space{bytes, path}, nil
	})
}
