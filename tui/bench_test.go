package tui

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// Sizes of the benchmark, and how long an idle dashboard is watched.
const (
	benchJobs  = 100_000
	benchOpens = 7
	benchKeys  = 200
	benchIdle  = 10 * time.Second
)

// BenchmarkDashboard opens the shipped program on a live daemon with a hundred
// thousand jobs, over a terminal of its own, and times what a person sees: the
// first bytes of a frame, the first jobs, all of them, and what comes of a key.
func BenchmarkDashboard(b *testing.B) {
	h := newHost(b, manyJobs(benchJobs))
	for b.Loop() {
		for _, f := range h.openings(b) {
			b.ReportMetric(f.value, f.name)
		}
		for _, f := range h.sitting(b) {
			b.ReportMetric(f.value, f.name)
		}
	}
	b.ReportMetric(0, "ns/op")
}

// manyJobs is a crontab of n jobs, which starts one now and then.
func manyJobs(n int) string {
	var file strings.Builder
	for i := range n {
		fmt.Fprintf(&file, "#@ name=tenant-%05d-sync\n%d %d %d * * /opt/tenants/bin/sync --tenant %05d --quiet\n", i, i%60, i/60%24, 1+i%28, i)
	}
	return file.String()
}

// figure is one number of the benchmark.
type figure struct {
	name  string
	value float64
}

func ms(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

// quantile is one of some lengths of time.
func quantile(all []time.Duration, q float64) time.Duration {
	slices.Sort(all)
	return all[int(q*float64(len(all)-1))]
}

// dashboard is the program on a terminal, for measuring.
type dashboard struct {
	*pty
	cmd   *exec.Cmd
	bytes chan []byte
}

func (h *host) dashboard(b *testing.B) *dashboard {
	b.Helper()
	p := openPTY(b, 160, 48)
	d := &dashboard{pty: p, bytes: make(chan []byte, 1024)}
	env := []string{"TERM=xterm-256color", "LANG=C.UTF-8", "CRONRING_SOCKET=" + h.socket, "HOME=" + h.dir}
	d.cmd = p.start(b, env, program(b, "cronring"))
	go func() {
		defer close(d.bytes)
		for {
			buffer := make([]byte, 1<<16)
			n, err := p.master.Read(buffer)
			if err != nil {
				return
			}
			d.bytes <- buffer[:n]
		}
	}()
	return d
}

func (d *dashboard) end() {
	d.cmd.Process.Kill()
	d.cmd.Wait()
	d.close()
}

// see waits until a text was written, and returns the time.
func (d *dashboard) see(b *testing.B, text string) time.Time {
	b.Helper()
	var got []byte
	late := time.After(patience)
	for {
		select {
		case part := <-d.bytes:
			if got = append(got, part...); bytes.Contains(got, []byte(text)) {
				return time.Now()
			}
		case <-late:
			b.Fatalf("%q is not shown: %q", text, got)
		}
	}
}

// quiet waits until nothing was written for a while.
func (d *dashboard) quiet() {
	for {
		select {
		case <-d.bytes:
		case <-time.After(30 * time.Millisecond):
			return
		}
	}
}

// press presses a key, and returns the time until something was written.
func (d *dashboard) press(b *testing.B, key string) time.Duration {
	b.Helper()
	d.quiet()
	began := time.Now()
	d.write(b, key)
	select {
	case <-d.bytes:
		return time.Since(began)
	case <-time.After(patience):
		b.Fatalf("nothing comes of %q", key)
		return 0
	}
}

// search presses a key that begins a search, and returns the time until something was written, and
// until a job that it finds was.
func (d *dashboard) search(b *testing.B, key, job string) (frame, found time.Duration) {
	b.Helper()
	d.quiet()
	began := time.Now()
	d.write(b, key)
	first := <-d.bytes
	frame = time.Since(began)
	if !bytes.Contains(first, []byte(job)) {
		d.see(b, job)
	}
	return frame, time.Since(began)
}

// openings opens the dashboard some times.
func (h *host) openings(b *testing.B) []figure {
	var paint, first, all []time.Duration
	for range benchOpens {
		began := time.Now()
		d := h.dashboard(b)
		paint = append(paint, d.see(b, "cronring").Sub(began))
		first = append(first, d.see(b, "tenant-00").Sub(began))
		all = append(all, d.see(b, "live").Sub(began))
		d.end()
	}
	return []figure{
		{"paint-p50-ms", ms(quantile(paint, 0.5))}, {"paint-max-ms", ms(quantile(paint, 1))},
		{"data-p50-ms", ms(quantile(first, 0.5))}, {"data-max-ms", ms(quantile(first, 1))},
		{"all-p50-ms", ms(quantile(all, 0.5))}, {"all-max-ms", ms(quantile(all, 1))},
	}
}

// sitting works with one dashboard for a while, and leaves it alone for another.
func (h *host) sitting(b *testing.B) []figure {
	d := h.dashboard(b)
	defer d.end()
	d.see(b, "live")
	var keys, filter, expr, found, sort []time.Duration
	for i := range benchKeys {
		key := "j"
		if i%10 == 9 {
			key = "G"
		} else if i%10 == 0 {
			key = "g"
		}
		keys = append(keys, d.press(b, key))
	}
	d.press(b, "g")
	d.press(b, "/")
	for range 20 {
		for _, key := range "0421" {
			filter = append(filter, d.press(b, string(key)))
		}
		for range 4 {
			filter = append(filter, d.press(b, "\x7f"))
		}
	}
	for _, key := range "/[tu].[0-9]{4}[78].[rs]" {
		d.press(b, string(key))
	}
	for range 20 {
		frame, all := d.search(b, "/", "tenant-00007")
		expr, found = append(expr, frame), append(found, all)
		d.write(b, "\x7f")
		d.see(b, " clears") // a cell with the same letter before is not written again
	}
	d.press(b, "\x1b")
	d.quiet()
	for range 7 {
		sort = append(sort, d.press(b, "s"))
	}
	d.quiet()
	idle := d.idle(b)
	return []figure{
		{"key-p50-ms", ms(quantile(keys, 0.5))}, {"key-p95-ms", ms(quantile(keys, 0.95))},
		{"filter-p50-ms", ms(quantile(filter, 0.5))}, {"filter-p95-ms", ms(quantile(filter, 0.95))},
		{"expr-p50-ms", ms(quantile(expr, 0.5))}, {"expr-p95-ms", ms(quantile(expr, 0.95))}, {"found-p50-ms", ms(quantile(found, 0.5))},
		{"sort-max-ms", ms(quantile(sort, 1))},
		{"idle-%core", idle}, {"rss-MB", d.memory(b, "VmRSS:")}, {"peak-MB", d.memory(b, "VmHWM:")},
	}
}

// idle is the share of a core that the dashboard takes when it is left alone.
func (d *dashboard) idle(b *testing.B) float64 {
	before := d.processor(b)
	end := time.After(benchIdle)
	for {
		select {
		case <-d.bytes:
		case <-end:
			return 100 * (d.processor(b) - before).Seconds() / benchIdle.Seconds()
		}
	}
}

// processor is the processor time that the dashboard has used.
func (d *dashboard) processor(b *testing.B) time.Duration {
	text, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(d.cmd.Process.Pid), "schedstat"))
	if err != nil {
		b.Fatal(err)
	}
	spent, err := strconv.ParseInt(strings.Fields(string(text))[0], 10, 64)
	if err != nil {
		b.Fatal(err)
	}
	for _, thread := range d.threads(b) {
		spent += thread
	}
	return time.Duration(spent)
}

// threads are the times of all threads but the first, which schedstat of the
// process is.
func (d *dashboard) threads(b *testing.B) []int64 {
	pid := strconv.Itoa(d.cmd.Process.Pid)
	tasks, err := filepath.Glob("/proc/" + pid + "/task/*/schedstat")
	if err != nil {
		b.Fatal(err)
	}
	var all []int64
	for _, path := range tasks {
		text, err := os.ReadFile(path)
		if err != nil || strings.Contains(path, "/task/"+pid+"/") {
			continue
		}
		if n, err := strconv.ParseInt(strings.Fields(string(text))[0], 10, 64); err == nil {
			all = append(all, n)
		}
	}
	return all
}

// memory returns the current or maximum resident size of the dashboard, in megabytes.
func (d *dashboard) memory(b *testing.B, what string) float64 {
	text, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(d.cmd.Process.Pid), "status"))
	if err != nil {
		b.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if rest, ok := strings.CutPrefix(line, what); ok {
			kb, err := strconv.Atoi(strings.Fields(rest)[0])
			if err != nil {
				b.Fatal(err)
			}
			return float64(kb) / 1000
		}
	}
	b.Fatal("the kernel says nothing of the memory")
	return 0
}
