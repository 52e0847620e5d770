package spawn

import (
	"fmt"
	"os"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/cronring/cronring/crontab"
	"github.com/cronring/cronring/crontab/option"
	"github.com/cronring/cronring/daemon/account"
	"github.com/cronring/cronring/daemon/job"
	"github.com/cronring/cronring/daemon/spawn/runoutput"
)

// BenchmarkStart500 starts 500 jobs that are due in one instant, and in the
// same run as many with nothing but syscall.ForkExec: the same sh -c as the same
// user, in a session of its own, with two pipes. The goal is a ratio of 0.85 or
// more.
//
// daemon-cpu is the processor time for each start, in µs, of the Spawner with
// its starter, and bare-cpu that of the process that calls ForkExec. Both leave
// out what the new process does after its fork.
func BenchmarkStart500(b *testing.B) {
	const n = 500
	var ours, bare, first, cpu, bareCPU time.Duration
	for b.Loop() {
		wall, used := bareStarts(b, n)
		bare += wall
		bareCPU += used
		f, all, used := ourStarts(b, n)
		first += f
		ours += all
		cpu += used
	}
	rounds := float64(b.N)
	b.ReportMetric(n*rounds/ours.Seconds(), "starts/s")
	b.ReportMetric(n*rounds/bare.Seconds(), "bare-starts/s")
	b.ReportMetric(bare.Seconds()/ours.Seconds(), "ratio")
	b.ReportMetric(first.Seconds()/rounds*1e6, "µs-to-first")
	b.ReportMetric(cpu.Seconds()/rounds/n*1e6, "daemon-cpu")
	b.ReportMetric(bareCPU.Seconds()/rounds/n*1e6, "bare-cpu")
	b.ReportMetric(0, "ns/op")
}

// worker is the user of the jobs of benchmarks, if the tests may become another
// one.
var worker = account.Account{Name: "worker", UID: 65534, GID: 65534, Home: "/"}

// ourStarts measures to the first and to the last start, and then awaits the
// ends. used is the processor time until then.
func ourStarts(b *testing.B, n int) (first, all, used time.Duration) {
	if os.Geteuid() != 0 {
		worker.UID, worker.GID = uint32(os.Getuid()), uint32(os.Getgid())
	}
	runs, err := os.MkdirTemp("/dev/shm", "") // in memory, as /run is
	if err != nil {
		b.Fatal(err)
	}
	defer os.RemoveAll(runs)
	r := newTestSpawner(b, Options{Accounts: knownAccounts(worker), Precedence: true, Runs: runs})
	defer r.stop()
	r.do("true", as(worker.Name)) // the daemon has its starter before
	pid := r.starterPID()
	used = -cpuTime(b, 0) - cpuTime(b, pid)
	begun := time.Now()
	for range n {
		r.start("true", as(worker.Name))
	}
	r.until("the first start", func() bool { return len(r.started) > 1 })
	first = time.Since(begun)
	r.until("the starts", func() bool { return len(r.started) == n+1 })
	all = time.Since(begun)
	r.until("the ends", func() bool { return len(r.ended) == n+1 })
	return first, all, used + cpuTime(b, 0) + cpuTime(b, pid)
}

// cpuTime is the processor time of a process; 0 is this one.
func cpuTime(b *testing.B, pid int) time.Duration {
	b.Helper()
	const cpuClock = 2 // of a process: see clock_getcpuclockid(3)
	var t unix.Timespec
	if err := unix.ClockGettime(int32(^pid<<3|cpuClock), &t); err != nil {
		b.Fatal(err)
	}
	return time.Duration(t.Nano())
}

// bareStarts measures to the last start, with no Spawner beside it, and then
// closes and reaps.
func bareStarts(b *testing.B, n int) (all, used time.Duration) {
	b.Helper()
	null, err := syscall.Open(os.DevNull, syscall.O_RDWR|syscall.O_CLOEXEC, 0)
	if err != nil {
		b.Fatal(err)
	}
	var user *syscall.Credential
	if os.Geteuid() == 0 {
		user = &syscall.Credential{Uid: worker.UID, Gid: worker.GID}
	}
	ours := []int{null}
	used = -cpuTime(b, 0)
	begun := time.Now()
	for range n {
		stdout, stderr := barePipe(b), barePipe(b)
		_, err := syscall.ForkExec("/bin/sh", []string{"/bin/sh", "-c", "true"}, &syscall.ProcAttr{
			Dir:   "/",
			Env:   []string{"PATH=/usr/bin:/bin"},
			Files: []uintptr{uintptr(null), uintptr(stdout[1]), uintptr(stderr[1])},
			Sys:   &syscall.SysProcAttr{Setsid: true, Credential: user},
		})
		if err != nil {
			b.Fatal(err)
		}
		syscall.Close(stdout[1])
		syscall.Close(stderr[1])
		ours = append(ours, stdout[0], stderr[0])
	}
	all = time.Since(begun)
	for _, fd := range ours {
		syscall.Close(fd)
	}
	for err == nil || err == syscall.EINTR {
		_, err = syscall.Wait4(-1, nil, 0, nil)
	}
	return all, used + cpuTime(b, 0)
}

func barePipe(b *testing.B) (ends [2]int) {
	b.Helper()
	if err := syscall.Pipe2(ends[:], syscall.O_CLOEXEC); err != nil {
		b.Fatal(err)
	}
	return ends
}

// BenchmarkCapture measures keeping a megabyte of output, in reads of 4 KiB.
func BenchmarkCapture(b *testing.B) {
	data := make([]byte, 4<<10)
	b.SetBytes(1 << 20)
	b.ReportAllocs()
	for b.Loop() {
		var c runoutput.Capture
		for range 256 {
			c.Add(64<<10, job.Stdout, time.Unix(0, 0), data)
		}
	}
}

// BenchmarkOutput measures a job's output from its write to its end, with and without a file for
// it, in writes of 4 KiB and of 80 bytes.
func BenchmarkOutput(b *testing.B) {
	for _, size := range []int{4096, 80} {
		for _, where := range []string{"", "file"} {
			b.Run(fmt.Sprintf("%d%s", size, where), func(b *testing.B) { benchmarkOutput(b, size, where != "") })
		}
	}
}

func benchmarkOutput(b *testing.B, size int, file bool) {
	var options Options
	if file {
		options.Runs = memoryDir(b)
	}
	r := newTestSpawner(b, options)
	const total = 8 << 20
	command := fmt.Sprintf("dd if=/dev/zero bs=%d count=%d 2>/dev/null", size, total/size)
	b.SetBytes(total)
	for b.Loop() {
		r.do(command)
	}
}

// memoryDir is a directory in memory, like a host's /run.
func memoryDir(b *testing.B) string {
	dir, err := os.MkdirTemp("/dev/shm", "spawn")
	if err != nil {
		b.Skip("SKIPPED, NOT TESTED: ", err)
	}
	b.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

// BenchmarkGroups500 is BenchmarkStart500 with a control group for each run: one without limits
// that the process enters when it is created, and one with limits.
func BenchmarkGroups500(b *testing.B) {
	for name, directives := range map[string]string{"kill": "#@ timeout=1h", "limits": "#@ tasks=50 memory=1G"} {
		b.Run(name, func(b *testing.B) { benchmarkGroups(b, directives) })
	}
}

func benchmarkGroups(b *testing.B, directives string) {
	const n = 500
	of := entry(b, directives, crontab.User)
	groups := newGroups(b, &option.Resources{Tasks: 1, Memory: 1})
	var took time.Duration
	for b.Loop() {
		r := newTestSpawner(b, Options{Groups: groups})
		begun := time.Now()
		for range n {
			r.start("true", of)
		}
		r.until("the starts", func() bool { return len(r.started) == n })
		took += time.Since(begun)
		r.until("the ends", func() bool { return len(r.ended) == n })
		r.stop()
	}
	b.ReportMetric(n*float64(b.N)/took.Seconds(), "starts/s")
	b.ReportMetric(0, "ns/op")
}
