package clock

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/cronring/cronring/daemon/filetest"
	"github.com/cronring/cronring/daemon/hosttest"
	"github.com/cronring/cronring/daemon/job"
)

func TestMain(m *testing.M) {
	if file := os.Getenv("CLOCK_TEST_OFFSET"); file != "" {
		if err := underFakeClock(file); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

var noon = time.Date(2026, 3, 14, 12, 0, 0, 0, time.UTC)

func running(t *testing.T) *Clock {
	t.Helper()
	c, err := Open()
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- c.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("Run: %v", err)
		}
	})
	return c
}

func wantRing(t *testing.T, c *Clock) {
	t.Helper()
	select {
	case <-c.C():
	case <-time.After(hosttest.Patience):
		t.Fatal("no ring")
	}
}

func TestNowIsUTCAndGrows(t *testing.T) {
	c := running(t)
	a := c.Now()
	b := c.Now()
	if b.Up < a.Up || b.Wall.Before(a.Wall) {
		t.Errorf("%+v after %+v", b, a)
	}
	if a.Wall.Location() != time.UTC || a.Wall != a.Wall.Round(0) {
		t.Errorf("wall %#v, want UTC without a monotonic part", a.Wall)
	}
}

// A thread may be stopped for seconds between two readings.
func TestAPauseBetweenReadingsIsNoSuspend(t *testing.T) {
	start := time.Duration(noon.UnixNano())
	for pause := range 3 { // after this reading
		readings, stopped := 0, time.Duration(0)
		got := readFrom(func(id int32) time.Duration {
			now := map[int32]time.Duration{unix.CLOCK_MONOTONIC: time.Hour, unix.CLOCK_BOOTTIME: 2 * time.Hour, unix.CLOCK_REALTIME: start}[id] + stopped
			if readings == pause {
				stopped = 5 * time.Second
			}
			readings++
			return now
		})
		if got.Slept != time.Hour || got.Wall.Sub(noon) != got.Up-2*time.Hour {
			t.Errorf("after a pause between the readings: %+v", got)
		}
	}
}

func TestAlarmInThePastRingsAtOnce(t *testing.T) {
	c := running(t)
	for _, at := range []time.Time{c.Now().Wall, c.Now().Wall.Add(-time.Hour), time.Unix(0, 0), time.Unix(-1<<40, 0)} {
		c.Alarm(c.Now(), at)
		wantRing(t, c)
	}
}

func TestAlarmRingsOnTime(t *testing.T) {
	c := running(t)
	for _, wait := range []time.Duration{time.Nanosecond, time.Millisecond, 30 * time.Millisecond} {
		at := c.Now().Wall.Add(wait)
		c.Alarm(c.Now(), at)
		wantRing(t, c)
		if late := c.Now().Wall.Sub(at); late < 0 {
			t.Errorf("alarm in %v: rang %v early", wait, -late)
		}
	}
}

func TestAlarmTakesThePlaceOfTheOneBefore(t *testing.T) {
	c := running(t)
	c.Alarm(c.Now(), c.Now().Wall.Add(time.Hour))
	at := c.Now().Wall.Add(20 * time.Millisecond)
	c.Alarm(c.Now(), at)
	wantRing(t, c)

	// A later one in place of a sooner one: the sooner does not ring. Where it
	// was reached before there was the later one, there is nothing to learn.
	for wait := 10 * time.Millisecond; ; wait *= 2 {
		c := running(t)
		sooner := c.Now().Wall.Add(wait)
		later := sooner.Add(20 * time.Millisecond)
		c.Alarm(c.Now(), sooner)
		c.Alarm(c.Now(), later)
		tooLate := !c.Now().Wall.Before(sooner)
		wantRing(t, c)
		if now := c.Now().Wall; now.Before(later) && !tooLate {
			t.Errorf("rang at %v, before the later alarm %v", now, later)
		}
		if !tooLate {
			return
		}
	}
}

// The clock is set back an hour between the decision and the alarm: the wait
// stays as it was decided, and its end sees the new time.
func TestAlarmWaitsFromTheReadingItWasDecidedBy(t *testing.T) {
	c := running(t)
	now := c.Now()
	now.Wall = now.Wall.Add(time.Hour)
	c.Alarm(now, now.Wall.Add(20*time.Millisecond))
	wantRing(t, c)
	if waited := c.Now().Up - now.Up; waited < 20*time.Millisecond {
		t.Errorf("rang after %v, want 20ms", waited)
	}
}

func TestAlarmIsDisarmed(t *testing.T) {
	c := running(t)
	c.Alarm(c.Now(), c.Now().Wall.Add(time.Hour))
	c.Alarm(c.Now(), time.Time{})
	var left unix.ItimerSpec
	conn, err := c.timer.SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	if err := conn.Control(func(fd uintptr) { err = unix.TimerfdGettime(int(fd), &left) }); err != nil {
		t.Fatal(err)
	}
	if err != nil || left != (unix.ItimerSpec{}) {
		t.Errorf("timer has %+v left (%v), want none: an idle clock wakes nobody", left.Value, err)
	}
}

func TestAlarmThatIsAgesAhead(t *testing.T) {
	c := running(t)
	up := 10 * 365 * 24 * time.Hour
	c.Alarm(job.Moment{Wall: time.Unix(0, 0), Up: up}, time.Unix(1<<40, 0)) // panics if the kernel refuses it
}

func TestAlarmAfterRunDoesNothing(t *testing.T) {
	c, err := Open()
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := c.Run(ctx); err != nil {
		t.Fatal(err)
	}
	c.Alarm(c.Now(), time.Now())
	if err := c.rearm(); err != nil {
		t.Error(err)
	}
}

func TestOpenBeginsNoGoroutine(t *testing.T) {
	before := runtime.NumGoroutine() // those of other tests may still be going away
	c, err := Open()
	if err != nil {
		t.Fatal(err)
	}
	defer c.close()
	if got := runtime.NumGoroutine(); got > before {
		t.Errorf("%d goroutines after Open, %d before", got, before)
	}
}

func TestRunLeavesNothingBehind(t *testing.T) {
	running(t) // what the poller keeps for ever
	before := openFiles(t)
	for range 50 {
		c, err := Open()
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(context.Background())
		c.Alarm(c.Now(), time.Now())
		go func() { <-c.C(); cancel() }()
		if err := c.Run(ctx); err != nil {
			t.Fatal(err)
		}
	}
	if got := openFiles(t); got > before {
		t.Errorf("%d files are open afterwards, %d before", got, before)
	}
}

func openFiles(t *testing.T) int {
	t.Helper()
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(entries)
}

func TestLongWaitIsApproachedInStages(t *testing.T) {
	for remaining, want := range map[time.Duration]time.Duration{
		time.Second:               time.Second,
		time.Minute:               time.Minute,
		time.Minute + time.Second: 60939 * time.Millisecond,
		1000 * time.Hour:          999 * time.Hour,
	} {
		if got := stage(remaining); got != want {
			t.Errorf("first stage of %v is %v, want %v", remaining, got, want)
		}
	}
	// At the end of a stage, a wall clock with the kernel's maximum slew rate has not passed the
	// alarm.
	for _, remaining := range []time.Duration{time.Minute + 1, time.Hour, 1000 * time.Hour} {
		if wall := stage(remaining) + stage(remaining)/2000; wall > remaining {
			t.Errorf("a wait of %v ends %v late", remaining, wall-remaining)
		}
	}
}

func TestEndOfStage(t *testing.T) {
	c, err := Open()
	if err != nil {
		t.Fatal(err)
	}
	defer c.close()
	start := read()
	at := start.Wall.Add(time.Hour)
	later := func(wall, up time.Duration) job.Moment {
		return job.Moment{Wall: start.Wall.Add(wall), Up: start.Up + up}
	}
	for _, test := range []struct {
		what string
		now  job.Moment
		ring bool
	}{
		{"reached", later(time.Hour, time.Hour), true},
		{"passed", later(25*time.Hour, time.Hour), true},
		{"first stage over", later(59*time.Minute, 59*time.Minute), false},
		{"slewed slow", later(time.Hour-1800*time.Millisecond, time.Hour), false},
		{"set back", later(0, time.Hour), true},
		{"set forward, not far enough", later(30*time.Minute, time.Minute), true},
	} {
		c.at, c.armed = at, start
		if got := c.endStage(test.now); got != test.ring {
			t.Errorf("%s: rings %v, want %v", test.what, got, test.ring)
		}
		if armed := !c.at.IsZero(); armed == !test.now.Wall.Before(at) {
			t.Errorf("%s: armed %v afterwards", test.what, armed)
		}
	}
}

// TestClockIsSetForReal sets the machine's clock, so it runs only in the lab's virtual machine.
func TestClockIsSetForReal(t *testing.T) {
	if os.Getenv("CRONRING_SET_CLOCK") == "" {
		t.Skip("SKIPPED, NOT TESTED: sets the machine's clock; run as root in the lab's virtual machine with CRONRING_SET_CLOCK=yes")
	}
	c := running(t)
	for _, step := range []time.Duration{time.Hour, -time.Hour} {
		before := c.Now()
		ts := unix.NsecToTimespec(before.Wall.Add(step).UnixNano())
		if err := unix.ClockSettime(unix.CLOCK_REALTIME, &ts); err != nil {
			t.Fatal(err)
		}
		wantRing(t, c)
		if got := c.Now().Wall.Sub(before.Wall); (got - step).Abs() > time.Minute {
			t.Errorf("clock went %v, want %v", got, step)
		}
	}
}

// TestWallClockSimulatedForThisProcess runs underFakeClock under the lab's fakeclock, where timers
// do not follow the wall clock that Now reads.
func TestWallClockSimulatedForThisProcess(t *testing.T) {
	hosttest.Root(t, "only root can trace processes for the simulated clock")
	if runtime.GOARCH != "amd64" {
		t.Skip("SKIPPED, NOT TESTED: fakeclock is for x86-64")
	}
	dir := t.TempDir()
	fakeclock, offset := filepath.Join(dir, "fakeclock"), filepath.Join(dir, "offset")
	build := exec.Command("cc", "-O2", "-o", fakeclock, "../../testdata/lab/fakeclock.c", "-lm")
	if out, err := build.CombinedOutput(); err != nil {
		hosttest.Missing(t, "%v: %v\n%s", build, err, out)
	}
	filetest.Write(t, offset, "0", 0o644)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	run := exec.Command(fakeclock, offset, self)
	run.Env = append(os.Environ(), "CLOCK_TEST_OFFSET="+offset)
	if out, err := run.CombinedOutput(); err != nil {
		t.Fatalf("%v: %v\n%s", run, err, out)
	}
}

// underFakeClock steps the clock that it reads itself.
func underFakeClock(file string) error {
	c, err := Open()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	done := make(chan error, 1)
	go func() { done <- c.Run(ctx) }()
	var current time.Duration
	for _, offset := range []time.Duration{0, 24 * time.Hour, -time.Hour} {
		if err := followsTo(c, file, offset, offset-current); err != nil {
			return err
		}
		current = offset
	}
	cancel()
	return <-done
}

// followsTo sets the simulated clock, which moves it by a jump, and arms an
// alarm for a time of it.
func followsTo(c *Clock, file string, offset, jump time.Duration) error {
	before := c.Now()
	// In place at once: no reading may see half a number.
	if err := os.WriteFile(file+"+", fmt.Appendf(nil, "%d", int64(offset.Seconds())), 0o644); err != nil {
		return err
	}
	if err := os.Rename(file+"+", file); err != nil {
		return err
	}
	now := c.Now()
	if went := now.Wall.Sub(before.Wall) - (now.Up - before.Up); (went - jump).Abs() > time.Second {
		return fmt.Errorf("offset %v: the clock went %v, want %v", offset, went, jump)
	}
	at := now.Wall.Add(200 * time.Millisecond)
	c.Alarm(now, at)
	<-c.C()
	after := c.Now()
	if early, waited := at.Sub(after.Wall), after.Up-now.Up; early > 0 || waited > 30*time.Minute { // half of the smaller jump
		return fmt.Errorf("offset %v: rang %v early, after %v", offset, early, waited)
	}
	return nil
}
