package server

import (
	"encoding/json"
	"io"
	"runtime"
	"syscall"
	"testing"
	"time"

	"github.com/cronring/cronring/daemon/api"
)

// BenchmarkList requests the list of 100,000 jobs that have run once each, over a
// socket. It reports the processor time of the process for a list, and compares
// it with that for encoding the same rows.
func BenchmarkList(b *testing.B) {
	_, path := bigWorld(b)
	c := api.Dial(path)
	jobs, err := c.List(b.Context(), api.Query{})
	if err != nil {
		b.Fatal(err)
	}
	c.Close()
	begun := cpuTime()
	for _, j := range jobs {
		if _, err := json.Marshal(j); err != nil {
			b.Fatal(err)
		}
	}
	encoding := cpuTime() - begun
	jobs = nil
	runtime.GC()
	begun = cpuTime()
	for b.Loop() {
		f, err := dialThread(path)
		if err != nil {
			b.Fatal(err)
		}
		io.WriteString(f, "GET /v1/jobs HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
		if _, err := io.Copy(io.Discard, f); err != nil {
			b.Fatal(err)
		}
		f.Close()
	}
	list := (cpuTime() - begun) / time.Duration(b.N)
	b.ReportMetric(milliseconds(list), "cpu-ms/list")
	b.ReportMetric(float64(list)/float64(encoding), "times-encoding")
}

// cpuTime returns the processor time of this process.
func cpuTime() time.Duration {
	var u syscall.Rusage
	syscall.Getrusage(syscall.RUSAGE_SELF, &u) // cannot fail with these arguments
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
