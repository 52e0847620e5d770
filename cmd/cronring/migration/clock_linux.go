package migration

import "golang.org/x/sys/unix"

// bootClock is the clock that includes suspends and is never set.
const bootClock = unix.CLOCK_BOOTTIME
