package tui

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// BenchmarkJobsOfHosts lists the jobs of 100 hosts with 1,000 jobs each, and times what comes of a
// key. All hosts are one daemon, which each of them reaches through a program in the place of ssh.
func BenchmarkJobsOfHosts(b *testing.B) {
	const hosts, jobs = 100, 1000
	h := newHost(b, manyJobs(jobs))
	var names strings.Builder
	for i := range hosts - 1 {
		fmt.Fprintf(&names, "[[host]]\nname = \"web-%03d\"\n", i)
	}
	h.configure(names.String())
	bin := filepath.Join(h.dir, "bin")
	if err := os.Mkdir(bin, 0o700); err != nil {
		b.Fatal(err)
	}
	script := "#!/bin/sh\nexec " + shellWords([]string{program(b, "cronring"), "bridge", "--socket", h.socket}) + "\n"
	if err := os.WriteFile(filepath.Join(bin, "ssh"), []byte(script), 0o700); err != nil {
		b.Fatal(err)
	}
	b.Setenv("PATH", bin+":"+os.Getenv("PATH"))
	for b.Loop() {
		for _, f := range h.merged(b) {
			b.ReportMetric(f.value, f.name)
		}
	}
	b.ReportMetric(0, "ns/op")
}

// merged opens the list, and works with it for a while.
func (h *host) merged(b *testing.B) []figure {
	d := h.dashboard(b)
	defer d.end()
	d.see(b, "live")
	d.press(b, "6")
	d.see(b, "web-000")
	began := time.Now()
	d.press(b, "a")
	d.redrawn(b, "100000 jobs")
	all := time.Since(began)
	var keys, filter []time.Duration
	for i := range benchKeys {
		keys = append(keys, d.press(b, map[int]string{0: "g", 9: "G"}[i%10]+"j"))
	}
	d.press(b, "/")
	for range 20 {
		for _, key := range "0421" {
			filter = append(filter, d.press(b, string(key)))
		}
		for range 4 {
			filter = append(filter, d.press(b, "\x7f"))
		}
	}
	return []figure{
		{"all-ms", ms(all)}, {"key-p50-ms", ms(quantile(keys, 0.5))}, {"key-p95-ms", ms(quantile(keys, 0.95))},
		{"filter-p50-ms", ms(quantile(filter, 0.5))}, {"filter-p95-ms", ms(quantile(filter, 0.95))},
		{"rss-MB", d.memory(b, "VmRSS:")}, {"peak-MB", d.memory(b, "VmHWM:")},
	}
}

// redrawn has the whole screen drawn until a text is on it.
func (d *dashboard) redrawn(b *testing.B, text string) {
	b.Helper()
	for end := time.Now().Add(patience); ; {
		d.write(b, "\x0c")
		var got []byte
		for quiet := false; !quiet; {
			select {
			case part := <-d.bytes:
				got = append(got, part...)
			case <-time.After(30 * time.Millisecond):
				quiet = true
			}
		}
		if bytes.Contains(got, []byte(text)) {
			return
		}
		if time.Now().After(end) {
			b.Fatalf("%q is not shown: %q", text, got)
		}
	}
}
