package spool

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/cronring/cronring/crontab/timetable"
	"github.com/cronring/cronring/daemon/atomicfile"
)

// maxZone is the largest size of the files of the zone, in bytes.
const maxZone = 1 << 20

// hostZone is the host's time zone, as it changes. Go reads the zone once for
// the life of a process; a daemon lives longer.
type hostZone struct {
	localtime, timezone string // /etc/localtime, /etc/timezone
	location            *time.Location
	looks               [2]pathFingerprint
	fresh               bool
}

// refresh reads the zone again if it may have changed. It reports whether
// anything was changed, be it only the file of rules behind the same name.
func (z *hostZone) refresh(now time.Time) bool {
	if tz, set := os.LookupEnv("TZ"); set {
		// The zone of the process was chosen on purpose and stays.
		if z.location == nil {
			z.location = zoneOfTZ(tz)
			return true
		}
		return false
	}
	var looks [2]pathFingerprint
	looks[0], _ = lookAt(unix.AT_FDCWD, z.localtime)
	looks[1], _ = lookAt(unix.AT_FDCWD, z.timezone)
	if z.location != nil && !z.fresh && looks == z.looks {
		return false
	}
	changed := looks != z.looks || z.location == nil
	z.looks, z.fresh = looks, looks[0].fresh(now, freshness) || looks[1].fresh(now, freshness)
	location := z.read()
	if z.location == nil || location.String() != z.location.String() || !sameClock(location, z.location) {
		z.location = location
		return true
	}
	return changed
}

func zoneOfTZ(tz string) *time.Location {
	if tz == "" {
		return time.UTC
	}
	tz = strings.TrimPrefix(tz, ":")
	if _, name, ok := strings.Cut(tz, "zoneinfo/"); ok && filepath.IsAbs(tz) {
		tz = name
	}
	if location, err := LoadZone(tz); err == nil {
		return location
	}
	return time.Local
}

// read finds the zone under its real name if it has one; Go's name "Local" is not useful. A host
// without a zone uses UTC.
func (z *hostZone) read() *time.Location {
	if location := z.linked(); location != nil {
		return location
	}
	data, err := atomicfile.ReadRegular(z.localtime, maxZone)
	if err != nil {
		return time.UTC
	}
	location, err := time.LoadLocationFromTZData("Local", []byte(data))
	if err != nil {
		return time.UTC
	}
	// A copy has no name. /etc/timezone may hold one, but the file rules: the
	// name is believed only if it keeps the same time.
	name, _ := atomicfile.ReadRegular(z.timezone, maxZone)
	if named, err := LoadZone(strings.TrimSpace(name)); err == nil && sameClock(named, location) {
		return named
	}
	return location
}

// linked is the zone whose file /etc/localtime links to, or nil.
func (z *hostZone) linked() *time.Location {
	target, err := os.Readlink(z.localtime)
	if err != nil {
		return nil
	}
	_, name, ok := strings.Cut(target, "zoneinfo/")
	if !ok {
		if target, err = filepath.EvalSymlinks(z.localtime); err != nil {
			return nil
		}
		if _, name, ok = strings.Cut(target, "zoneinfo/"); !ok {
			return nil
		}
	}
	location, err := LoadZone(name)
	if err != nil {
		return nil
	}
	return location
}

// sameClock reports whether two zones show the same time from 1970 to 2100.
func sameClock(a, b *time.Location) bool {
	from, to := time.Unix(0, 0), time.Date(2100, 1, 1, 0, 0, 0, 0, time.UTC)
	_, offsetA := from.In(a).Zone()
	_, offsetB := from.In(b).Zone()
	return offsetA == offsetB && slices.EqualFunc(
		timetable.NewZone(a).Changes(from, to), timetable.NewZone(b).Changes(from, to),
		func(x, y timetable.Change) bool {
			return x.At.Equal(y.At) && x.Before == y.Before && x.After == y.After
		},
	)
}
