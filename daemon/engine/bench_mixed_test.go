package engine_test

import (
	"fmt"
	"runtime"
	"testing"
	"time"

	"github.com/cronring/cronring/crontab"
	"github.com/cronring/cronring/daemon/engine"
	"github.com/cronring/cronring/daemon/engine/effect"
	"github.com/cronring/cronring/daemon/engine/enginetest"
	"github.com/cronring/cronring/daemon/engine/event"
	"github.com/cronring/cronring/daemon/job"
)

// quiet is an hour at which only jobs with every= are due in a mixed crontab.
var quiet = job.Moment{Wall: time.Date(2026, 11, 20, 8, 0, 30, 0, time.UTC), Up: time.Hour}

// mixed returns n jobs with options of all kinds, or none, in crontabs of 100 jobs, and
// the size of their text.
func mixed(b *testing.B, n int, plain bool) (crontabs []*crontab.File, text int) {
	b.Helper()
	cache := crontab.NewCache()
	for first := 0; first < n; first += 100 {
		t := enginetest.Mixed(first, 100, "")
		if plain {
			t = enginetest.Plain(first, 100)
		}
		text += len(t)
		crontabs = append(crontabs, parsed(b, cache, first, t))
	}
	return crontabs, text
}

func parsed(b *testing.B, cache *crontab.Cache, first int, text string) *crontab.File {
	b.Helper()
	t, problems := crontab.Parse(fmt.Sprintf("/etc/cron.d/bench%d", first), text, crontab.Config{Owner: "root", Cache: cache, Zone: time.LoadLocation})
	for _, p := range problems {
		if p.Severity == crontab.Error {
			b.Fatal(p)
		}
	}
	return t
}

func heap() uint64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// BenchmarkReloadOneOf100k measures an edit of one crontab among 1,000, with 100,000 jobs
// of mixed options: the engine's part of the goal of 50 ms for an edit
// (BenchmarkReloadOneOfThousand of the daemon measures all of it).
func BenchmarkReloadOneOf100k(b *testing.B) {
	before, _ := mixed(b, 100_000, false)
	after := append([]*crontab.File(nil), before...)
	after[0] = parsed(b, crontab.NewCache(), 0, enginetest.Mixed(0, 100, "")+"0 0 1 1 * new\n")
	e := engine.New(engine.State{})
	e.Step(quiet, event.Load{Crontabs: before})
	for b.Loop() {
		e.Step(quiet, event.Load{Crontabs: after})
		before, after = after, before
	}
}

// BenchmarkTickMixed measures a tick at which none of 100,000 jobs is due, and the memory
// of a job beyond its text: with options of all kinds, and with none.
func BenchmarkTickMixed(b *testing.B) {
	const n = 100_000
	for _, plain := range []bool{false, true} {
		b.Run(fmt.Sprintf("plain=%t", plain), func(b *testing.B) {
			empty := heap()
			crontabs, text := mixed(b, n, plain)
			e, now := engine.New(engine.State{}), quiet
			e.Step(now, event.Load{Crontabs: crontabs})
			crontabs = nil
			perJob := (float64(heap()-empty) - float64(text)) / n
			for b.Loop() { // nothing is due within the minute
				now.Wall, now.Up = now.Wall.Add(time.Nanosecond), now.Up+time.Nanosecond
				if effects := e.Step(now, event.Tick{}); len(effects) > 0 {
					b.Fatalf("something was due: %v", effects[0])
				}
			}
			b.ReportMetric(perJob, "B/job")
		})
	}
}

// BenchmarkDueMixed measures five minutes of 100,000 jobs by night. Each due job is
// decided and, unless an option prevents that, started: with options of all kinds, and
// with none.
func BenchmarkDueMixed(b *testing.B) {
	due := time.Date(2026, 12, 1, 3, 0, 0, 0, time.UTC)
	for _, plain := range []bool{false, true} {
		b.Run(fmt.Sprintf("plain=%t", plain), func(b *testing.B) {
			crontabs, _ := mixed(b, 100_000, plain)
			var facts int
			for b.Loop() {
				b.StopTimer()
				now := job.Moment{Wall: due.Add(-time.Second), Up: time.Hour}
				e := engine.New(engine.State{})
				e.Step(now, event.Load{Crontabs: crontabs})
				facts = 0
				b.StartTimer()
				for minute := range 5 {
					at := due.Add(time.Duration(minute) * time.Minute)
					now = job.Moment{Wall: at, Up: time.Hour + at.Sub(due) + time.Second}
					for wake := at; !wake.IsZero() && !wake.After(at); wake = e.Wake() {
						for _, eff := range e.Step(now, event.Tick{}) {
							if _, ok := eff.(effect.Fact); ok {
								facts++
							}
						}
					}
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(facts), "ns/record")
			b.ReportMetric(float64(facts), "records")
		})
	}
}
