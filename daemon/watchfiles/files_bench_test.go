package watchfiles

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// BenchmarkFiles is a host with 10 users, whose jobs watch 1,000 directories each. In each iteration
// a file arrives in 100 of them, 10 of each user. The times are those from the closing of a file to
// the burst, without the quiet second; how long the daemon's loop is occupied by replacing all that
// is watched; and the processor time of the daemon for each burst. The processes of the users have
// their own.
func BenchmarkFiles(b *testing.B) {
	const users, dirs, arriving = 10, 1000, 10
	root := b.TempDir()
	all := map[string][]Watch{}
	for u := range users {
		user := fmt.Sprintf("user%d", u)
		for d := range dirs {
			dir := filepath.Join(root, user, fmt.Sprint(d))
			if err := os.MkdirAll(dir, 0o755); err != nil {
				b.Fatal(err)
			}
			all[user] = append(all[user], Watch{Job: owned(fmt.Sprintf("%s/%d", user, d), user), Globs: []string{dir + "/*"}, Since: time.Now()})
		}
	}
	w := watcher(b, runProgram(0))
	begun := time.Now()
	w.Set(all)
	setting := time.Since(begun)
	n := 0
	arrive := func() (late []time.Duration) {
		n++
		for u := range users {
			for d := range arriving {
				path := filepath.Join(root, fmt.Sprintf("user%d", u), fmt.Sprint(d), fmt.Sprint(n))
				if err := os.WriteFile(path, []byte("text"), 0o644); err != nil {
					b.Fatal(err)
				}
			}
		}
		closed := time.Now()
		for range users * arriving {
			<-w.bursts
			late = append(late, time.Since(closed)-quiet)
		}
		return late
	}
	arrive() // when all are watched
	var late []time.Duration
	used := -processorTime(b)
	for b.Loop() {
		late = append(late, arrive()...)
	}
	used += processorTime(b)
	slices.Sort(late)
	b.ReportMetric(float64(late[len(late)/2].Microseconds())/1000, "ms-late")
	b.ReportMetric(float64(late[len(late)-1].Microseconds())/1000, "ms-latest")
	b.ReportMetric(float64(setting.Microseconds())/1000, "ms-set")
	b.ReportMetric(float64(used.Microseconds())/float64(len(late)), "µs-daemon/burst")
}

// processorTime returns the processor time that this process has taken.
func processorTime(b *testing.B) time.Duration {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_PROCESS_CPUTIME_ID, &t); err != nil {
		b.Fatal(err)
	}
	return time.Duration(t.Nano())
}
