package daemon

import (
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/cronring/cronring/crontab"
	"github.com/cronring/cronring/daemon/engine"
	"github.com/cronring/cronring/daemon/engine/effect"
	"github.com/cronring/cronring/daemon/engine/enginetest"
	"github.com/cronring/cronring/daemon/engine/event"
	"github.com/cronring/cronring/daemon/job"
	"github.com/cronring/cronring/daemon/store"
)

// BenchmarkLongestStepOfAnEdit edits a user's crontab of 10,000 entries on a host
// with 100,000 entries: the longest step of the loop with its commit (goal: 5 ms
// of CPU time; the median of all edits, because other processes share the caches), the time to parse
// and prepare beside the loop, the first step after a start, and the lasting memory of a user's
// crontab. In watched each entry has expect=, in minutes the schedules differ.
func BenchmarkLongestStepOfAnEdit(b *testing.B) {
	for _, kind := range []string{"plain", "mixed", "watched", "minutes"} {
		b.Run(kind, func(b *testing.B) {
			const users, each = 10, 10_000
			runtime.LockOSThread()
			defer runtime.UnlockOSThread()
			history, err := store.Open(b.Context(), b.TempDir())
			if err != nil {
				b.Fatal(err)
			}
			defer history.Close()
			cache := crontab.NewCache()
			parse := func(user, version int) *crontab.File {
				owner := fmt.Sprintf("user%d", user)
				t, _ := crontab.Parse("/var/spool/cron/crontabs/"+owner, userCrontab(kind, user*each, each, version),
					crontab.Config{Owner: owner, Cache: cache, MaxEntries: each, Zone: time.LoadLocation})
				if len(t.Entries) != each {
					b.Fatalf("%d entries", len(t.Entries))
				}
				return t
			}
			crontabs := make([]*crontab.File, users)
			empty := heapBytes()
			for user := range crontabs {
				crontabs[user] = parse(user, 0)
			}
			e := engine.New(engine.State{})
			now := job.Moment{Wall: time.Date(2026, 11, 20, 8, 0, 30, 0, time.UTC), Up: time.Hour}
			step := func(events ...event.Event) time.Duration {
				begin := threadTime()
				batch := store.Batch{At: now.Wall}
				for _, eff := range e.Step(now, events...) {
					switch eff := eff.(type) {
					case effect.Fact:
						batch.Records = append(batch.Records, eff.Record)
					case effect.Summary:
						batch.Summaries = append(batch.Summaries, eff.Summary)
					case effect.Roster:
						batch.Roster = &eff
					}
				}
				if err := history.Commit(b.Context(), batch); err != nil {
					b.Fatal(err)
				}
				e.View()
				return threadTime() - begin
			}
			first := step(event.Load{Crontabs: crontabs})
			perUser := float64(heapBytes()-empty) / users
			var longest []time.Duration // step of each edit
			var prepared time.Duration
			version := 0
			edit := func() (most time.Duration) {
				version++
				begin := time.Now()
				edited := append([]*crontab.File(nil), crontabs...)
				edited[users/2] = parse(users/2, version)
				load := e.View().Prepare(event.Load{Crontabs: edited})
				prepared = max(prepared, time.Since(begin))
				crontabs = edited
				for most = step(load); !e.Wake().IsZero() && !e.Wake().After(now.Wall); {
					most = max(most, step())
				}
				return most
			}
			for b.Loop() {
				longest = append(longest, edit())
			}
			slices.Sort(longest)
			b.ReportMetric(float64(longest[len(longest)/2].Microseconds())/1000, "ms-longest-step")
			b.ReportMetric(float64(longest[len(longest)-1].Microseconds())/1000, "ms-worst-edit")
			b.ReportMetric(float64(prepared.Microseconds())/1000, "ms-beside")
			b.ReportMetric(float64(first.Microseconds())/1000, "ms-first-load")
			b.ReportMetric(perUser/(1<<20), "MiB/user")
		})
	}
}

// userCrontab is a crontab of n entries, numbered from first. Versions differ in
// each entry.
func userCrontab(kind string, first, n, version int) string {
	if kind == "mixed" {
		return strings.ReplaceAll(enginetest.Mixed(first, n, ""), "--number", fmt.Sprintf("--version %d --number", version))
	}
	var text strings.Builder
	for i := first; i < first+n; i++ {
		switch kind {
		case "watched":
			fmt.Fprintf(&text, "#@ expect=1d\n%d %d * * * job %d %d\n", i%60, i/60%8, version, i)
		case "minutes": // schedules that all differ
			fmt.Fprintf(&text, "%d %d %d %d * job %d\n", i%60, i/60%8, 1+i/480%28, 1+i/13440%12, version*1_000_000+i)
		default:
			fmt.Fprintf(&text, "%d %d * * * job %d %d\n", i%60, i/60%8, version, i)
		}
	}
	return text.String()
}

// threadTime returns the CPU time of this thread: other processes of the machine
// do not count, nor does the garbage collector's own work.
func threadTime() time.Duration {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &t); err != nil {
		panic(err)
	}
	return time.Duration(t.Nano())
}

func heapBytes() int64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}
