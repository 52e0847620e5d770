package spawn

import (
	"fmt"
	"os"
	"syscall"
	"testing"
	"time"

	"github.com/cronring/cronring/crontab"
	"github.com/cronring/cronring/daemon/job"
)

// BenchmarkStart500 starts 500 jobs that are due in one instant, and in the
// same run as many with nothing but syscall.ForkExec: the same sh -c, in a
// session of its own, with two pipes. The goal is a ratio of 0.85 or more.
func BenchmarkStart500(b *testing.B) {
	const n = 500
	var ours, bare, first time.Duration
	for b.Loop() {
		bare += bareStarts(b, n)
		f, all := ourStarts(b, n)
		first += f
		ours += all
	}
	rounds := float64(b.N)
	b.ReportMetric(n*rounds/ours.Seconds(), "starts/s")
	b.ReportMetric(n*rounds/bare.Seconds(), "bare-starts/s")
	b.ReportMetric(bare.Seconds()/ours.Seconds(), "ratio")
	b.ReportMetric(first.Seconds()/rounds*1e6, "µs-to-first")
	b.ReportMetric(0, "ns/op")
}

// ourStarts measures to the first and to the last start, and then awaits the
// ends.
func ourStarts(b *testing.B, n int) (first, all time.Duration) {
	r := newRig(b, Options{})
	defer r.stop()
	begun := time.Now()
	for range n {
		r.start("true")
	}
	r.until("the first start", func() bool { return len(r.started) > 0 })
	first = time.Since(begun)
	r.until("the starts", func() bool { return len(r.started) == n })
	all = time.Since(begun)
	r.until("the ends", func() bool { return len(r.ended) == n })
	return first, all
}

// bareStarts measures to the last start, with no Spawner beside it, and then
// closes and reaps.
func bareStarts(b *testing.B, n int) time.Duration {
	b.Helper()
	null, err := syscall.Open(os.DevNull, syscall.O_RDWR|syscall.O_CLOEXEC, 0)
	if err != nil {
		b.Fatal(err)
	}
	ours := []int{null}
	begun := time.Now()
	for range n {
		stdout, stderr := barePipe(b), barePipe(b)
		_, err := syscall.ForkExec("/bin/sh", []string{"/bin/sh", "-c", "true"}, &syscall.ProcAttr{
			Dir:   "/",
			Env:   []string{"PATH=/usr/bin:/bin"},
			Files: []uintptr{uintptr(null), uintptr(stdout[1]), uintptr(stderr[1])},
			Sys:   &syscall.SysProcAttr{Setsid: true},
		})
		if err != nil {
			b.Fatal(err)
		}
		syscall.Close(stdout[1])
		syscall.Close(stderr[1])
		ours = append(ours, stdout[0], stderr[0])
	}
	all := time.Since(begun)
	for _, fd := range ours {
		syscall.Close(fd)
	}
	for err == nil || err == syscall.EINTR {
		_, err = syscall.Wait4(-1, nil, 0, nil)
	}
	return all
}

func barePipe(b *testing.B) (ends [2]int) {
	b.Helper()
	if err := syscall.Pipe2(ends[:], syscall.O_CLOEXEC); err != nil {
		b.Fatal(err)
	}
	return ends
}

// BenchmarkCapture is what keeping a megabyte of output costs, in reads of
// 4 KiB.
func BenchmarkCapture(b *testing.B) {
	data := make([]byte, 4<<10)
	b.SetBytes(1 << 20)
	b.ReportAllocs()
	for b.Loop() {
		var c capture
		for range 256 {
			c.add(64<<10, job.Stdout, noon, data)
		}
	}
}

// BenchmarkStage500 is BenchmarkStart500 by way of a first stage.
func BenchmarkStage500(b *testing.B) {
	const n = 500
	var took time.Duration
	for b.Loop() {
		r := newRig(b, Options{Limits: limited(0)})
		begun := time.Now()
		for range n {
			r.start("true")
		}
		r.until("the starts", func() bool { return len(r.started) == n })
		took += time.Since(begun)
		r.until("the ends", func() bool { return len(r.ended) == n })
		r.stop()
	}
	b.ReportMetric(n*float64(b.N)/took.Seconds(), "starts/s")
	b.ReportMetric(0, "ns/op")
}

// BenchmarkOutput is what a job's output costs from its write to its end, with
// and without a file for it, in writes of 4 KiB and of 80 bytes.
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
	r := newRig(b, options)
	const total = 8 << 20
	command := fmt.Sprintf("dd if=/dev/zero bs=%d count=%d 2>/dev/null", size, total/size)
	b.SetBytes(total)
	for b.Loop() {
		r.do(command)
	}
}

// memoryDir is where a host has its /run.
func memoryDir(b *testing.B) string {
	dir, err := os.MkdirTemp("/dev/shm", "spawn")
	if err != nil {
		b.Skip("SKIPPED: ", err)
	}
	b.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

// BenchmarkGroups500 is BenchmarkStart500 with a control group for each run:
// one that is entered at birth and limits nothing, and one with limits.
func BenchmarkGroups500(b *testing.B) {
	for name, directives := range map[string]string{"kill": "#@ timeout=1h", "limits": "#@ tasks=50 memory=1G"} {
		b.Run(name, func(b *testing.B) { benchmarkGroups(b, directives) })
	}
}

func benchmarkGroups(b *testing.B, directives string) {
	const n = 500
	of := entry(b, directives, crontab.User)
	groups := newGroups(b, &crontab.Resources{Tasks: 1, Memory: 1})
	var took time.Duration
	for b.Loop() {
		r := newRig(b, Options{Groups: groups})
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
