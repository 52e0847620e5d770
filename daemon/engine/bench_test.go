package engine

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/cronring/cronring/crontab"
	"github.com/cronring/cronring/daemon/engine/effect"
	"github.com/cronring/cronring/daemon/engine/event"
	"github.com/cronring/cronring/daemon/engine/slots"
	"github.com/cronring/cronring/daemon/job"
)

// manyJobs returns crontabs with 100,000 jobs on 1,440 distinct schedules that do not fire between 08:00
// and 23:59, and the size of their text.
func manyJobs(b *testing.B) (crontabs []*crontab.File, text int) {
	b.Helper()
	var s strings.Builder
	for i := range 100_000 {
		fmt.Fprintf(&s, "%d %d %d * * /usr/local/bin/job --number %d\n", i%60, i/60%8, 1+i/480%3, i)
	}
	t, problems := crontab.Parse("/etc/cron.d/bench", strings.Clone(s.String()), crontab.Config{Owner: "root", Cache: crontab.NewCache()})
	if len(problems) > 0 {
		b.Fatal(problems[0])
	}
	return []*crontab.File{t}, s.Len()
}

func heapBytes() uint64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// BenchmarkTick100k measures one minute's tick with 100,000 jobs loaded and none due
// (goal: under 1 ms), and the memory of a job beyond its text.
func BenchmarkTick100k(b *testing.B) {
	before := heapBytes()
	crontabs, text := manyJobs(b)
	now := job.Moment{Wall: time.Date(2026, 11, 20, 8, 0, 30, 0, time.UTC), Up: time.Hour}
	e := New(State{})
	e.Step(now, event.Load{Crontabs: crontabs})
	crontabs = nil
	perJob := (float64(heapBytes()-before) - float64(text)) / 100_000

	for b.Loop() {
		if effects := e.Step(now, event.Tick{}); len(effects) > 0 {
			b.Fatalf("something was due: %v", effects[0])
		}
		now.Wall, now.Up = now.Wall.Add(time.Minute), now.Up+time.Minute
		if now.Wall.Hour() == 23 { // back to the morning, without a clock step
			now.Wall = now.Wall.Add(-15 * time.Hour)
			e.now.Wall = now.Wall.Add(-time.Minute)
		}
	}
	b.ReportMetric(perJob, "B/job")
}

// BenchmarkDue100k measures the slowest minute of 100,000 jobs: 70 of them come
// due at the same time and are decided, 64 in each step.
func BenchmarkDue100k(b *testing.B) {
	crontabs, _ := manyJobs(b)
	due := time.Date(2026, 12, 1, 3, 17, 0, 0, time.UTC)
	e := New(State{})
	now := job.Moment{Wall: due.Add(-time.Second), Up: time.Hour}
	e.Step(now, event.Load{Crontabs: crontabs})
	runs := 0
	for b.Loop() {
		b.StopTimer()
		e = New(State{})
		now = job.Moment{Wall: due.Add(-time.Second), Up: time.Hour}
		e.Step(now, event.Load{Crontabs: crontabs})
		now = job.Moment{Wall: due, Up: now.Up + time.Second}
		runs = 0
		b.StartTimer()
		for wake := due; !wake.IsZero() && !wake.After(due); wake = e.Wake() {
			for _, eff := range e.Step(now, event.Tick{}) {
				if _, ok := eff.(effect.Start); ok {
					runs++
				}
			}
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(runs), "ns/start")
	b.ReportMetric(float64(runs), "starts")
}

// BenchmarkLoad100k loads and reloads 100,000 parsed entries.
func BenchmarkLoad100k(b *testing.B) {
	crontabs, _ := manyJobs(b)
	now := job.Moment{Wall: time.Date(2026, 11, 20, 8, 0, 30, 0, time.UTC), Up: time.Hour}
	b.Run("first", func(b *testing.B) {
		for b.Loop() {
			New(State{}).Step(now, event.Load{Crontabs: crontabs})
		}
	})
	b.Run("again", func(b *testing.B) {
		e := New(State{})
		e.Step(now, event.Load{Crontabs: crontabs})
		for b.Loop() {
			e.Step(now, event.Load{Crontabs: crontabs})
		}
	})
}

// BenchmarkDispatch measures the end of one of ten runs, and the start of the next one,
// while 100,000 runs of 50 users wait for a slot.
func BenchmarkDispatch(b *testing.B) {
	const waiting, size, jobs, accounts = 100_000, 10, 2000, 50
	for _, pooled := range []bool{false, true} {
		b.Run(fmt.Sprintf("pools=%v", pooled), func(b *testing.B) {
			var text strings.Builder
			for i := range jobs {
				if pooled && i%2 == 0 {
					fmt.Fprintf(&text, "#@ pool=p%d\n", i%10)
				}
				fmt.Fprintf(&text, "#@ name=job%d priority=%d\n* * * * * user%d job\n", i, 1+i%10, i%accounts)
			}
			file, _ := crontab.Parse("/etc/cron.d/bench", text.String(), crontab.Config{Format: crontab.System})
			limits := slots.Limits{MaxRunning: size, QueueMax: 10 * waiting, Pools: map[string]slots.Pool{}}
			for i := range 10 {
				limits.Pools[fmt.Sprintf("p%d", i)] = slots.Pool{Size: 3}
			}
			e := New(State{})
			now := job.Moment{Wall: time.Date(2026, 11, 20, 8, 0, 30, 0, time.UTC), Up: time.Hour}
			e.Step(now, event.Load{Crontabs: []*crontab.File{file}, Limits: limits})
			var running []job.RunID
			note := func(effects []effect.Effect) {
				for _, x := range effects {
					if s, ok := x.(effect.Start); ok {
						running = append(running, s.Run.ID)
					}
				}
			}
			for e.slots.Waiting() < waiting {
				now.Wall, now.Up = now.Wall.Add(time.Minute), now.Up+time.Minute
				note(e.Step(now))
			}
			b.ResetTimer()
			for b.Loop() {
				if e.slots.Waiting() == 0 || len(running) == 0 {
					b.Fatal("nobody waits any more")
				}
				id := running[0]
				running = running[1:]
				note(e.Step(now, event.Ended{Run: id, Outcome: job.Outcome{Kind: job.Exited}}))
			}
		})
	}
}
