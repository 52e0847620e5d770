package store

import (
	"context"
	"fmt"
	"os"
	"regexp"
	"runtime/debug"
	"strconv"
	"testing"
	"time"
)

// measure prints how much memory a store in use takes, in kB.
func measure(dir string) {
	before := resident()
	s, err := Open(context.Background(), dir)
	if err != nil {
		panic(err)
	}
	r, err := s.Restore(context.Background())
	if err != nil {
		panic(err)
	}
	id := r.NextRun
	for range 20 {
		b := Batch{At: noon.Add(time.Duration(id) * time.Minute)}
		for n := range 64 {
			b.Records = append(b.Records, ended(id, jobName(n), b.At, 0))
			id++
		}
		if err := s.Commit(context.Background(), b); err != nil {
			panic(err)
		}
	}
	if _, err := s.Totals(context.Background(), noon); err != nil {
		panic(err)
	}
	debug.FreeOSMemory()
	fmt.Println(resident() - before)
}

// resident is the memory of this process, in kB.
func resident() int {
	text, err := os.ReadFile("/proc/self/status")
	if err != nil {
		panic(err)
	}
	kB, _ := strconv.Atoi(string(regexp.MustCompile(`VmRSS:\s+(\d+)`).FindSubmatch(text)[1]))
	return kB
}

// BenchmarkMemory measures the memory of a store with a history of 100,000 runs.
func BenchmarkMemory(b *testing.B) {
	dir := b.TempDir()
	s := open(b, dir)
	fill(b, s, 200, 100_000)
	if err := s.Close(); err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		text, err := child(b.Context(), "measure", dir).Output()
		if err != nil {
			b.Fatal(err)
		}
		var kB float64
		if _, err := fmt.Sscan(string(text), &kB); err != nil {
			b.Fatal(err)
		}
		b.ReportMetric(kB/1024, "resident-MB")
	}
}
