package doctor

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/cronring/cronring/daemon/display"
	"github.com/cronring/cronring/daemon/spool"
)

// The years in which a clock can be right. This program did not exist before the first.
const firstYear, lastYear = 2025, 2100

// checkClock looks at the time that the host believes in.
func checkClock(_ context.Context, e *examination) []finding {
	now := e.Now()
	if y := now.UTC().Year(); y < firstYear || y > lastYear {
		return []finding{{Grade: gradeProblem, What: fmt.Sprintf("the clock shows %s", now.UTC().Format(time.DateOnly)),
			Why: "jobs run at the wrong times until it is set", Fix: advice("timedatectl set-ntp true")}}
	}
	found := e.synchronised()
	if text, err := e.Read("/etc/adjtime"); err == nil && hardwareLocal(text) {
		found = append(found, finding{Grade: gradeWarning, What: "the hardware clock is kept in local time",
			Why: "until the clock is set after a boot it can be off by hours, and @reboot jobs see that",
			Fix: advice("timedatectl set-local-rtc 0")})
	}
	return append(found, e.hardwareClock(now)...)
}

// synchronised checks with the kernel whether the clock is synchronised.
func (e *examination) synchronised() []finding {
	t, err := e.adjtimex()
	switch {
	case err != nil:
		return []finding{{Grade: gradeUnseen, What: "the kernel does not report the state of its clock", Why: err.Error()}}
	case t.Status&unix.STA_UNSYNC != 0:
		return []finding{{Grade: gradeWarning, What: "the clock is not synchronised", Why: "no NTP service keeps it right",
			Fix: advice("timedatectl set-ntp true    or install chrony")}}
	}
	most := time.Duration(t.Maxerror) * time.Microsecond
	return []finding{{Grade: gradeOK, What: "the clock is synchronised, to " + display.Brief(most) + " at worst"}}
}

// hardwareLocal reads the third line of /etc/adjtime.
func hardwareLocal(text string) bool {
	lines := strings.Split(text, "\n")
	return len(lines) > 2 && strings.TrimSpace(lines[2]) == "LOCAL"
}

// hardwareClock compares the clock that outlives a power cut.
func (e *examination) hardwareClock(now time.Time) []finding {
	text, err := e.Read("/sys/class/rtc/rtc0/since_epoch")
	if err != nil {
		return []finding{{Grade: gradeOK, What: "no hardware clock is seen: after a boot the time is not known until it comes over the network"}}
	}
	seconds, err := strconv.ParseInt(strings.TrimSpace(text), 10, 64)
	if err != nil {
		return nil
	}
	off := time.Unix(seconds, 0).Sub(now).Abs()
	if adjust, _ := e.Read("/etc/adjtime"); hardwareLocal(adjust) || off < time.Minute {
		return nil
	}
	return []finding{{Grade: gradeWarning, What: "the hardware clock differs by " + display.Brief(off.Round(time.Second)),
		Why: "the next boot begins with that time", Fix: advice("hwclock --systohc")}}
}

// checkZone looks at the zone that local times are read in.
func checkZone(_ context.Context, e *examination) []finding {
	target, err := os.Readlink(e.Path("/etc/localtime"))
	_, name, linked := strings.Cut(target, "zoneinfo/")
	switch {
	case os.IsNotExist(err):
		return []finding{{Grade: gradeOK, What: "/etc/localtime does not exist: times are UTC"}}
	case err != nil || !linked:
		return []finding{{Grade: gradeWarning, What: "/etc/localtime is not a link to a zone: the name of the zone is unknown",
			Fix: advice("timedatectl set-timezone ZONE")}}
	}
	if _, err := spool.LoadZone(name); err != nil {
		return []finding{{Grade: gradeProblem, What: fmt.Sprintf("/etc/localtime leads to %s, which cannot be loaded", display.Quote(name)),
			Why: "times are read as UTC", Fix: advice("timedatectl set-timezone ZONE    or install tzdata")}}
	}
	if text, err := e.Read("/etc/timezone"); err == nil {
		if other := strings.TrimSpace(text); other != "" && other != name {
			return []finding{{Grade: gradeWarning, What: fmt.Sprintf("/etc/localtime is %s, /etc/timezone is %s", display.Quote(name), display.Quote(other)),
				Why: "cronringd uses /etc/localtime", Fix: advice("timedatectl set-timezone " + display.Quote(name))}}
		}
	}
	return []finding{{Grade: gradeOK, What: "local time is that of " + name}}
}

// checkTimers looks at the timers of the kernel that outlive a suspend and a
// change of the clock.
func checkTimers(_ context.Context, e *examination) []finding {
	for _, clock := range []struct {
		name string
		id   int
	}{{"CLOCK_BOOTTIME", unix.CLOCK_BOOTTIME}, {"CLOCK_REALTIME", unix.CLOCK_REALTIME}} {
		if err := e.timerfd(clock.id); err != nil {
			return []finding{{Grade: gradeProblem, What: "the kernel does not provide timers of " + clock.name, Why: err.Error()}}
		}
	}
	return []finding{{Grade: gradeOK, What: "timers count time in suspend; nothing wakes the host, and missed runs are caught up"}}
}
