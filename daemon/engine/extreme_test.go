package engine

import (
	"fmt"
	"math"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/cronring/cronring/crontab"
	"github.com/cronring/cronring/crontab/option"
	"github.com/cronring/cronring/crontab/timetable"
	"github.com/cronring/cronring/daemon/engine/effect"
	"github.com/cronring/cronring/daemon/engine/event"
	"github.com/cronring/cronring/daemon/hosttest"
	"github.com/cronring/cronring/daemon/job"
)

var extremeStart = time.Date(2026, 11, 20, 2, 59, 30, 0, time.UTC)

func TestSumSaturates(t *testing.T) {
	const most, least = time.Duration(math.MaxInt64), time.Duration(math.MinInt64)
	for _, c := range []struct{ a, b, want time.Duration }{
		{1, 2, 3}, {-1, -2, -3}, {most, 1, most}, {most - 1, 1, most}, {most, most, most}, {least, -1, least}, {least, least, least},
		{most, least, -1}, {0, least, least}, {timetable.MaxDuration, timetable.MaxDuration, 2 * timetable.MaxDuration},
	} {
		if got := job.Sum(c.a, c.b); got != c.want {
			t.Errorf("%d + %d: got %d, want %d", c.a, c.b, got, c.want)
		}
	}
}

// longest sets the longest possible durations for each entry of a host, like values that
// an older daemon might have stored: the crontab language allows less.
func longest(h *simHost, change func(*option.Options)) {
	for _, file := range h.crontabs {
		for i := range file.Entries {
			change(file.Entries[i].Options())
		}
	}
}

// within fails the test if f does not return.
func within(t *testing.T, what string, f func()) {
	t.Helper()
	done := make(chan bool)
	go func() {
		defer close(done)
		f()
	}()
	select {
	case <-done:
	case <-time.After(hosttest.Patience):
		panic(what + ": Step does not return") // the goroutine cannot be stopped
	}
}

// TestLongestDurationsDoNotEndAtOnce checks that a sum of time since boot and a duration
// never overflows into the past.
func TestLongestDurationsDoNotEndAtOnce(t *testing.T) {
	const long = time.Duration(math.MaxInt64) - time.Second
	for name, c := range map[string]struct {
		options string
		change  func(*option.Options)
		act     func(*simHost)
	}{
		"timeout":    {"timeout=1h", func(o *option.Options) { o.Timeout = long }, nil},
		"stop-grace": {"timeout=1s stop-grace=1h", func(o *option.Options) { o.StopGrace = long }, nil},
		"backoff":    {"retry=5 backoff=1h", func(o *option.Options) { o.Backoff.Min, o.Backoff.Max = long, long }, failAll},
		"expect":     {"expect=1h notify=x notify-on=late", func(o *option.Options) { o.Expect = long }, nil},
		"max-run":    {"max-run=1h notify=x notify-on=late", func(o *option.Options) { o.MaxRun = long }, nil},
		"max-late":   {"max-late=1h notify=x notify-on=late", func(o *option.Options) { o.MaxLate = long }, nil},
		"stop": {"", func(*option.Options) {}, func(h *simHost) {
			h.step(event.Asked{Question: event.Stop{Job: "a", By: "ann", Grace: long}, Token: 1})
		}},
	} {
		t.Run(name, func(t *testing.T) {
			h := newSimHost(t, extremeStart, time.UTC)
			h.now.Up = 30 * 24 * time.Hour
			h.crontabs = []*crontab.File{h.crontab("t", "#@ name=a "+c.options+"\n0 3 * * * a\n")}
			longest(h, c.change)
			var seen []string
			h.log = func(e effect.Effect) {
				switch e := e.(type) {
				case effect.Kill:
					if e.Signal == syscall.SIGKILL || name == "timeout" {
						seen = append(seen, h.notify(e))
					}
				case effect.Notify:
					seen = append(seen, h.notify(e))
				case effect.Start:
					if e.Run.Attempt > 1 {
						seen = append(seen, h.notify(e))
					}
				}
			}
			within(t, name, func() {
				h.start()
				h.advance(extremeStart.Add(30 * time.Second))
				if len(h.running) != 1 {
					t.Errorf("%d runs, want 1", len(h.running))
				}
				if c.act != nil {
					c.act(h)
				}
				h.settle()
				h.advance(extremeStart.Add(time.Hour))
			})
			if len(seen) > 0 {
				t.Errorf("within an hour: %q", seen)
			}
			if wake := h.engine.Wake(); !wake.IsZero() && !wake.After(h.now.Wall) {
				t.Errorf("wakes at %s, now is %s", wake, h.now.Wall)
			}
		})
	}
}

func failAll(h *simHost) {
	for id := range h.running {
		h.end(id, job.Outcome{Kind: job.Exited, Code: 1})
	}
}

// stuck is a faulty schedule: it returns the result of next.
type stuck struct{ next func(time.Time) time.Time }

func (s *stuck) Next(t time.Time) time.Time { return s.next(t) }
func (s *stuck) String() string             { return "stuck" }

// TestFaultySchedulesAreHeld checks that a schedule that does not advance affects only
// its own jobs: they are held with the reason.
func TestFaultySchedulesAreHeld(t *testing.T) {
	minute := func(t time.Time) time.Time { return t.Truncate(time.Minute).Add(time.Minute) }
	for name, next := range map[string]func(time.Time) time.Time{
		"the same":    func(t time.Time) time.Time { return t },
		"before":      func(t time.Time) time.Time { return t.Add(-time.Hour) },
		"beyond 2262": func(t time.Time) time.Time { return t.AddDate(300, 0, 0) },
		"before 1678": func(time.Time) time.Time { return time.Date(1600, 1, 1, 0, 0, 0, 0, time.UTC) },
		"later stuck": func(t time.Time) time.Time { return minTime(minute(t), extremeStart.Add(90*time.Second)) },
		"later beyond": func(t time.Time) time.Time {
			if t.Before(extremeStart.Add(time.Minute)) {
				return minute(t)
			}
			return t.AddDate(300, 0, 0)
		},
	} {
		t.Run(name, func(t *testing.T) {
			h := newSimHost(t, extremeStart, time.UTC)
			h.crontabs = []*crontab.File{h.crontab("t", "#@ name=bad\n* * * * * a\n#@ name=good\n* * * * * b\n")}
			h.crontabs[0].Entries[0].Schedule = &stuck{next}
			records := 0
			h.log = func(e effect.Effect) {
				if _, ok := e.(effect.Fact); ok {
					records++
				}
			}
			within(t, name, func() {
				h.start()
				for h.now.Wall.Before(extremeStart.Add(10 * time.Minute)) {
					h.advance(h.now.Wall.Add(30 * time.Second))
				}
			})
			v := h.engine.View()
			i, _ := v.Find("bad")
			if why := v.Options(i).Held; !strings.Contains(why, "fault of cronring") {
				t.Errorf("got held %q, want the fault", why)
			}
			if n := len(h.store.Runs("good")); n < 10 {
				t.Errorf("the other job has %d records, want its runs", n)
			}
			if len(h.store.Runs("bad")) > 10 || records > 100 {
				t.Errorf("%d records, %d of the faulty job", records, len(h.store.Runs("bad")))
			}
			before := records
			h.step(h.load()) // found again, and held again
			if why := h.engine.View().Options(i).Held; why == "" || records > before+3 {
				t.Errorf("after a reload: held %q, %d more records", why, records-before)
			}
		})
	}
}

func minTime(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}

// TestMissedOccurrencesAreDecidedInSteps checks that jobs with many missed occurrences do
// not keep one step busy for long.
// TestSmallStepBackLosesNothingThatIsPending sets the clock back by some seconds while occurrences
// wait for the next step: those of noon, and earlier ones after a pause until noon.
func TestSmallStepBackLosesNothingThatIsPending(t *testing.T) {
	const jobs = 500
	for entry, paused := range map[string]bool{"0 12 * * * x\n": false, "#@ pause-counts=yes catchup=once\n0 11 * * * x\n": true} {
		h := newSimHost(t, extremeStart, time.UTC)
		h.crontabs = []*crontab.File{h.crontab("t", strings.Repeat(entry, jobs))}
		h.start()
		noon := extremeStart.Truncate(24 * time.Hour).Add(12 * time.Hour)
		ids := make([]job.ID, jobs)
		for i := range ids {
			ids[i] = h.engine.View().ID(i)
			if paused {
				h.step(event.Pause{Job: ids[i], Hold: job.Hold{By: "ann", Until: noon}})
			}
		}
		passTo := func(wall time.Time) {
			h.now.Wall, h.now.Up = wall, h.now.Up+max(wall.Sub(h.now.Wall), 0)
			for range 100 {
				h.step(event.Tick{})
			}
		}
		if paused {
			passTo(noon.Add(-30 * time.Minute))
		}
		h.now.Wall, h.now.Up = noon.Add(5*time.Second), h.now.Up+noon.Add(5*time.Second).Sub(h.now.Wall)
		h.step(event.Tick{})
		if n := len(h.engine.pending); n == 0 || n == jobs {
			t.Fatalf("%d of %d jobs wait for the next step, want some", n, jobs)
		}
		passTo(noon.Add(-5 * time.Second))
		passTo(noon.Add(time.Second))
		for _, id := range ids {
			ran := map[job.RunID]bool{}
			for _, r := range h.store.Runs(id) { // a value for each state of a run
				ran[r.ID] = true
			}
			if len(ran) != 1 {
				t.Fatalf("%s ran %d times at %s, want once", id, len(ran), h.now.Wall)
			}
		}
	}
}

// TestNextAfterTheClockWasSetBack: what a view announces is what runs. An entry with a fixed time does not
// repeat what it ran before a step of less than three hours.
func TestNextAfterTheClockWasSetBack(t *testing.T) {
	h := newSimHost(t, extremeStart, time.UTC)
	h.crontabs = []*crontab.File{h.crontab("t", "30 3 * * * fixed\n*/10 * * * * wildcard\n")}
	h.start()
	day := extremeStart.Truncate(24*time.Hour).AddDate(0, 0, 1)
	at := func(hour, minute int) time.Time { return day.Add(time.Duration(hour*60+minute) * time.Minute) }
	pass := func(wall time.Time) {
		h.now.Wall, h.now.Up = wall, h.now.Up+max(wall.Sub(h.now.Wall), 0)
		h.step(event.Tick{})
	}
	ran := func() (runs int) {
		seen := map[job.RunID]bool{}
		for _, r := range h.store.Runs(h.engine.View().ID(0)) { // a value for each state of a run
			seen[r.ID] = r.Due.Equal(at(3, 30))
		}
		for _, due := range seen {
			if due {
				runs++
			}
		}
		return runs
	}
	want := func(next0, next1 time.Time) {
		t.Helper()
		v := h.engine.View()
		if got := v.Next(0, v.Now().Wall); !got.Equal(next0) {
			t.Errorf("at %s: the fixed time is next due at %s, want %s", v.Now().Wall, got, next0)
		}
		if got := v.Next(1, v.Now().Wall); !got.Equal(next1) {
			t.Errorf("at %s: the wildcard is next due at %s, want %s", v.Now().Wall, got, next1)
		}
	}
	pass(at(3, 25))
	want(at(3, 30), at(3, 30))
	pass(at(3, 30))
	pass(at(4, 15))
	want(at(27, 30), at(4, 20))
	pass(at(3, 20)) // back by less than three hours
	want(at(27, 30), at(3, 30))
	pass(at(3, 30))
	pass(at(4, 15))
	want(at(27, 30), at(4, 20))
	if n := ran(); n != 1 {
		t.Errorf("%d runs of %s, want one", n, at(3, 30))
	}
	pass(at(0, 20)) // back by more
	want(at(3, 30), at(0, 30))
	pass(at(3, 30))
	if n := ran(); n != 2 {
		t.Errorf("%d runs of %s, want another one", n, at(3, 30))
	}
}

func TestMissedOccurrencesAreDecidedInSteps(t *testing.T) {
	h := newSimHost(t, extremeStart, time.UTC)
	var text strings.Builder
	for i := range 50 {
		fmt.Fprintf(&text, "#@ name=j%d catchup=once every=%ds\n* * * * * x\n", i, i+1)
	}
	h.crontabs = []*crontab.File{h.crontab("t", text.String())}
	h.start()
	h.now.Wall, h.now.Up = h.now.Wall.Add(30*24*time.Hour), h.now.Up+30*24*time.Hour // asleep for a month
	steps := 0
	for ; len(h.store.Runs("j49")) == 0 && steps < 1000; steps++ {
		h.step(event.Tick{})
	}
	if steps < 10 || steps > 100 {
		t.Errorf("all were decided after %d steps, want some for 50 jobs with 10,000 occurrences each", steps)
	}
}
