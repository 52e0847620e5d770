package clock

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/cronring/cronring/daemon/descriptor"
	"github.com/cronring/cronring/daemon/job"
	"github.com/cronring/cronring/daemon/wake"
)

// Clock reads the time and keeps one alarm. Its methods may be called from
// any goroutine.
type Clock struct {
	c     chan struct{}
	timer *os.File // expires when the present stage of the wait is over
	set   *os.File // cancelled by the kernel when the wall clock is set

	mu     sync.Mutex
	at     time.Time  // the alarm; zero: none
	armed  job.Moment // when the present stage began
	closed bool
}

// Open makes a Clock with no alarm. Run releases what it holds.
func Open() (*Clock, error) {
	timer, err := openTimer(unix.CLOCK_BOOTTIME)
	if err != nil {
		return nil, err
	}
	set, err := openTimer(unix.CLOCK_REALTIME)
	if err != nil {
		return nil, errors.Join(err, timer.Close())
	}
	c := &Clock{c: make(chan struct{}, 1), timer: timer, set: set}
	if err := c.watchSet(); err != nil {
		return nil, errors.Join(err, timer.Close(), set.Close())
	}
	return c, nil
}

// openTimer makes a timer that Go's poller waits for, so that no thread does.
func openTimer(clockid int) (*os.File, error) {
	fd, err := unix.TimerfdCreate(clockid, unix.TFD_NONBLOCK|unix.TFD_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("create timer: %w", err)
	}
	return os.NewFile(uintptr(fd), "timerfd"), nil
}

// Now reads the clocks.
func (c *Clock) Now() job.Moment { return read() }

// mostBetween limits the time between the readings of a Moment.
const mostBetween = 250 * time.Millisecond

// read reads the clocks.
func read() job.Moment { return readFrom(gettime) }

// readFrom reads all clocks again if the thread was stopped between two readings: the time that the
// thread did not run would count as a suspend of the host, or as a change of the wall clock.
func readFrom(clock func(id int32) time.Duration) job.Moment {
	for {
		up, awake, wall := clock(unix.CLOCK_BOOTTIME), clock(unix.CLOCK_MONOTONIC), clock(unix.CLOCK_REALTIME)
		if clock(unix.CLOCK_BOOTTIME)-up < mostBetween {
			return job.Moment{Wall: time.Unix(0, int64(wall)).UTC(), Up: up, Slept: up - awake}
		}
	}
}

func gettime(id int32) time.Duration {
	if id == unix.CLOCK_REALTIME {
		return time.Duration(time.Now().UnixNano()) // the seconds of a Timespec end in 2038 on 32-bit ARM
	}
	var at unix.Timespec
	if err := unix.ClockGettime(id, &at); err != nil {
		panic(fmt.Sprintf("read clock %d: %v", id, err)) // every kernel that Go runs on has them
	}
	return time.Duration(at.Nano())
}

// Alarm sets the alarm to an instant of the wall clock, and replaces the previous one; an instant
// in the past rings immediately. The zero time disarms. now is the reading that at is based on: a
// clock that was set since then cannot make the wait longer than decided. A ring that was in
// progress may still arrive at C.
func (c *Clock) Alarm(now job.Moment, at time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.at = at
	c.arm(now)
}

// C receives when the alarm was reached, when the wall clock was set, or
// both. It is never closed.
func (c *Clock) C() <-chan struct{} { return c.c }

// Run rings the alarm until ctx is done, and returns when nothing of the
// Clock is left. It is called once.
func (c *Clock) Run(ctx context.Context) error {
	ended := make(chan error, 2)
	go func() { ended <- c.awaitTimer() }()
	go func() { ended <- c.awaitSet() }()

	var err error
	left := 2
	select {
	case <-ctx.Done():
	case err = <-ended:
		left--
	}
	err = errors.Join(err, c.close())
	for range left {
		err = errors.Join(err, <-ended)
	}
	return err
}

func (c *Clock) close() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closed = true
	return errors.Join(c.timer.Close(), c.set.Close())
}

// awaitTimer ends each stage of the wait.
func (c *Clock) awaitTimer() error {
	var expirations [8]byte
	for {
		switch _, err := c.timer.Read(expirations[:]); {
		case errors.Is(err, os.ErrClosed):
			return nil
		case err != nil:
			return fmt.Errorf("await alarm: %w", err)
		}
		if c.endStage(read()) {
			c.ring()
		}
	}
}

// endStage reports whether to ring: the alarm is reached, or the wall clock
// went another way than slewing explains. It begins the next stage otherwise.
func (c *Clock) endStage(now job.Moment) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.at.IsZero() {
		return false
	}
	if !now.Wall.Before(c.at) {
		c.at = time.Time{}
		return true
	}
	jumped := now.Drift(c.armed) > slewed(now.Up-c.armed.Up)
	c.arm(now)
	return jumped
}

// slewed is the drift that needs no clock to be set: the kernel slews by up to
// 500 ppm, and a second is allowed for programs that are bolder.
func slewed(elapsed time.Duration) time.Duration { return time.Second + elapsed/1000 }

// awaitSet rings when the wall clock was set.
func (c *Clock) awaitSet() error {
	var expirations [8]byte
	for {
		switch _, err := c.set.Read(expirations[:]); {
		case errors.Is(err, os.ErrClosed):
			return nil
		case errors.Is(err, unix.ECANCELED):
		case err != nil:
			return fmt.Errorf("await clock change: %w", err)
		}
		if err := c.rearm(); err != nil {
			return err
		}
		c.ring()
	}
}

func (c *Clock) rearm() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return nil
	}
	err := c.watchSet()
	c.arm(read()) // after it, so that no change falls in between
	return err
}

func (c *Clock) ring() { wake.Up(c.c) }

// arm begins a stage of the wait; on a closed Clock it does nothing. c.mu is
// held.
func (c *Clock) arm(now job.Moment) {
	if c.closed {
		return
	}
	var end time.Duration // 0 disarms the timer
	if !c.at.IsZero() {
		end = now.Up + max(stage(c.at.Sub(now.Wall)), 1)
	}
	c.armed = now
	spec := unix.ItimerSpec{Value: unix.NsecToTimespec(int64(end))}
	if err := settime(c.timer, unix.TFD_TIMER_ABSTIME, spec); err != nil {
		panic(err) // the arguments are always valid
	}
}

// stage returns how long to wait before the wall clock is checked again: all of a short wait, and
// such a part of a long one that slewing cannot have passed the alarm by then. A year is the
// maximum, so that no sum overflows.
func stage(remaining time.Duration) time.Duration {
	if remaining <= time.Minute {
		return remaining
	}
	return min(remaining-remaining/1000, 365*24*time.Hour)
}

// watchSet arms the timer that the kernel cancels. Its time is a year ahead:
// reaching it costs one needless ring.
func (c *Clock) watchSet() error {
	ahead := time.Now().AddDate(1, 0, 0)
	spec := unix.ItimerSpec{Value: unix.NsecToTimespec(ahead.UnixNano())}
	return settime(c.set, unix.TFD_TIMER_ABSTIME|unix.TFD_TIMER_CANCEL_ON_SET, spec)
}

func settime(f *os.File, flags int, spec unix.ItimerSpec) error {
	_, err := descriptor.Use(f, func(fd int) (any, error) { return nil, unix.TimerfdSettime(fd, flags, &spec, nil) })
	// ECANCELED means that the wall clock was set just before. The timer is armed anyway, and the
	// caller reads the clock after that.
	if err != nil && !errors.Is(err, unix.ECANCELED) {
		return fmt.Errorf("set timer: %w", err)
	}
	return nil
}
