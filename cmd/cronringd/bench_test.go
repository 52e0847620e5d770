package main

import (
	"bufio"
	"cmp"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/robfig/cron/v3"

	"github.com/cronring/cronring/daemon/hosttest"
	"github.com/cronring/cronring/daemon/job"
	"github.com/cronring/cronring/daemon/store"
)

// BenchmarkLoad100k starts a daemon on a crontab of 100,000 lines with 10,080
// distinct schedules, as many as a week has minutes: from exec until all jobs are loaded (goal: 0.2 s),
// and what it then holds resident (goal: 30 MB). Its peer, in the same run, is robfig/cron's parser
// alone on the same time fields.
func BenchmarkLoad100k(b *testing.B) {
	var text strings.Builder
	var specs []string
	for i := range 100_000 {
		spec := fmt.Sprintf("%d %d * * %d", i%60, i/60%24, i/1440%7)
		specs = append(specs, spec)
		fmt.Fprintf(&text, "%s /usr/local/bin/job --number %d --quiet\n", spec, i)
	}
	file := crontabFile(b, text.String())
	b.Run("cronringd", func(b *testing.B) {
		program := buildDaemon(b)
		var resident float64
		for b.Loop() {
			dir := b.TempDir()
			cmd, loaded := startDaemon(b, program, dir, file)
			<-loaded
			b.StopTimer()
			<-time.After(time.Second) // what loading took is given back behind it
			resident = statusField(b, cmd.Process.Pid, "VmRSS") / 1024
			stopDaemon(b, cmd)
			b.StartTimer()
		}
		b.ReportMetric(resident, "MB-resident")
	})
	b.Run("robfig-parse-alone", func(b *testing.B) {
		for b.Loop() {
			for _, spec := range specs {
				if _, err := cron.ParseStandard(spec); err != nil {
					b.Fatal(err)
				}
			}
		}
	})
}

// BenchmarkDue500 is 500 jobs due in one instant: time from that instant to
// the first start (goal: 5 ms) and to the last, and the rate between them
// (goal: 85 % of what bare ForkExec of the same command reaches in the same
// run). Each figure is the median of seven rounds.
func BenchmarkDue500(b *testing.B) {
	const jobs, rounds, period = 500, 7, 3 * time.Second
	var text strings.Builder
	for i := range jobs {
		fmt.Fprintf(&text, "#@ every=3s\n* * * * * : job %d\n", i)
	}
	program, dir := buildDaemon(b), b.TempDir()
	var bare []float64
	for b.Loop() {
		cmd, loaded := startDaemon(b, program, dir, crontabFile(b, text.String()))
		<-loaded
		for range rounds {
			<-time.After(time.Until(time.Now().Truncate(period).Add(period + 1500*time.Millisecond)))
			bare = append(bare, bareForkExec(b, jobs)) // while the daemon has nothing to do
		}
		stopDaemon(b, cmd)
	}
	first, last := startLags(b, dir)
	rate := jobs / (last - first).Seconds()
	b.ReportMetric(float64(first.Microseconds())/1000, "ms-to-first")
	b.ReportMetric(float64(last.Microseconds())/1000, "ms-to-last")
	b.ReportMetric(rate, "starts/s")
	b.ReportMetric(median(bare), "bare-starts/s")
	b.ReportMetric(100*rate/median(bare), "%-of-bare")
}

func median[T cmp.Ordered](values []T) T {
	slices.Sort(values)
	return values[len(values)/2]
}

// startLags is the delay between the scheduled time and the start of the first and of the last
// job, each the median of all rounds.
func startLags(b *testing.B, dir string) (first, last time.Duration) {
	s, err := store.Open(b.Context(), dir)
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	runs, err := s.Runs(b.Context(), store.Filter{Limit: 1_000_000})
	if err != nil {
		b.Fatal(err)
	}
	rounds := map[time.Time][]time.Duration{}
	for _, r := range runs {
		if r.Trigger == job.TriggerClock && !r.Started.IsZero() {
			rounds[r.Due] = append(rounds[r.Due], r.Started.Sub(r.Due))
		}
	}
	var firsts, lasts []time.Duration
	for _, lags := range rounds {
		firsts, lasts = append(firsts, slices.Min(lags)), append(lasts, slices.Max(lags))
	}
	return median(firsts), median(lasts)
}

// bareForkExec starts n commands as spawn does, with a session and two pipes,
// and nothing else; it returns starts per second.
func bareForkExec(b *testing.B, n int) float64 {
	null, err := os.Open(os.DevNull)
	if err != nil {
		b.Fatal(err)
	}
	defer null.Close()
	var pids []int
	var fds []int
	begin := time.Now()
	for i := range n {
		var out, errs [2]int
		if err := syscall.Pipe2(out[:], syscall.O_CLOEXEC); err != nil {
			b.Fatal(err)
		}
		if err := syscall.Pipe2(errs[:], syscall.O_CLOEXEC); err != nil {
			b.Fatal(err)
		}
		pid, err := syscall.ForkExec("/bin/sh", []string{"/bin/sh", "-c", fmt.Sprintf(": job %d", i)}, &syscall.ProcAttr{
			Files: []uintptr{null.Fd(), uintptr(out[1]), uintptr(errs[1])},
			Sys:   &syscall.SysProcAttr{Setsid: true},
		})
		if err != nil {
			b.Fatal(err)
		}
		syscall.Close(out[1])
		syscall.Close(errs[1])
		fds = append(fds, out[0], errs[0])
		pids = append(pids, pid)
	}
	rate := float64(n) / time.Since(begin).Seconds()
	for _, pid := range pids {
		syscall.Wait4(pid, nil, 0, nil)
	}
	for _, fd := range fds {
		syscall.Close(fd)
	}
	return rate
}

// BenchmarkIdle counts how often a daemon with nothing due wakes up in ten
// seconds, in all of its threads (goal: 0).
func BenchmarkIdle(b *testing.B) {
	cmd, loaded := startDaemon(b, buildDaemon(b), b.TempDir(), crontabFile(b, "0 0 30 2 * true\n0 0 1 1 * true\n"))
	<-loaded
	<-time.After(2 * time.Second) // the start's own garbage collection
	var wakes, seconds float64
	for b.Loop() {
		before := switches(b, cmd.Process.Pid)
		<-time.After(10 * time.Second)
		wakes += switches(b, cmd.Process.Pid) - before
		seconds += 10
	}
	stopDaemon(b, cmd)
	b.ReportMetric(60*wakes/seconds, "wakes/min")
}

// switches sums the voluntary context switches of all threads.
func switches(b *testing.B, pid int) (n float64) {
	tasks, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*", pid))
	if err != nil || len(tasks) == 0 {
		b.Fatalf("no threads of %d: %v", pid, err)
	}
	for _, task := range tasks {
		n += procField(b, filepath.Join(task, "status"), "voluntary_ctxt_switches")
	}
	return n
}

func statusField(b testing.TB, pid int, name string) float64 {
	return procField(b, fmt.Sprintf("/proc/%d/status", pid), name)
}

func procField(b testing.TB, path, name string) float64 {
	text, err := os.ReadFile(path)
	if err != nil {
		b.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if value, ok := strings.CutPrefix(line, name+":"); ok {
			n, err := strconv.ParseFloat(strings.Fields(value)[0], 64)
			if err != nil {
				b.Fatal(err)
			}
			return n
		}
	}
	b.Fatalf("%s has no %s", path, name)
	return 0
}

// buildDaemon returns the program as it is shipped: without the tests.
func buildDaemon(b testing.TB) string {
	b.Helper()
	return filepath.Join(hosttest.Programs(b), "cronringd")
}

// startDaemon starts a daemon, whose channel is closed once all is loaded.
func startDaemon(b *testing.B, program, dir, file string) (*exec.Cmd, <-chan struct{}) {
	b.Helper()
	cmd := exec.Command(program, "--state", dir, file)
	stderr, err := cmd.StderrPipe()
	if err != nil {
		b.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	loaded := make(chan struct{})
	go func() {
		for s := bufio.NewScanner(stderr); s.Scan(); {
			if strings.Contains(s.Text(), "msg=ready") {
				close(loaded)
			}
		}
	}()
	return cmd, loaded
}

func stopDaemon(b *testing.B, cmd *exec.Cmd) {
	b.Helper()
	cmd.Process.Signal(syscall.SIGTERM)
	if err := cmd.Wait(); err != nil {
		b.Fatal(err)
	}
}
