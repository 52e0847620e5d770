package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/cronring/cronring/daemon/job"
	"github.com/cronring/cronring/daemon/store"
)

// Thousands of jobs sleep at the same time, 10,000 with CRONRING_LONG=1: few threads, little memory,
// and every exit status is the right one. It is the program as it is shipped: the race
// detector's shadow of this one would count as its memory.
func TestThousandsOfSleepingJobs(t *testing.T) {
	if os.Geteuid() != 0 || testing.Short() {
		t.Skip("SKIPPED, NOT TESTED: thousands of processes need root for their file descriptors, and many seconds")
	}
	jobs, most := 2_500, 80.
	if os.Getenv("CRONRING_LONG") != "" {
		jobs, most = 10_000, 200
	}
	gate := filepath.Join(t.TempDir(), "gate")
	if err := syscall.Mkfifo(gate, 0o600); err != nil {
		t.Fatal(err)
	}
	var text strings.Builder
	for i := range jobs {
		fmt.Fprintf(&text, "@reboot read x <%s; exit %d # %d\n", gate, i%256, i)
	}
	dir := t.TempDir()
	d := begin(t, dir, buildDaemon(t), "--log", "json", crontabFile(t, text.String()))
	for range jobs {
		d.await(`"kind":"started"`)
	}
	threads := statusField(t, d.cmd.Process.Pid, "Threads")
	resident := statusField(t, d.cmd.Process.Pid, "VmRSS") / 1024
	t.Logf("%d sleeping jobs: %.0f threads, %.0f MB", jobs, threads, resident)
	if threads >= 50 {
		t.Errorf("%.0f threads, want fewer than 50", threads)
	}
	if resident >= most {
		t.Errorf("%.0f MB, want fewer than %.0f", resident, most)
	}

	// A reader that has opened the gate reads the end of the file; the next round unblocks the
	// others.
	ended := 0
	for ended < jobs {
		if f, err := os.OpenFile(gate, os.O_WRONLY|syscall.O_NONBLOCK, 0); err == nil {
			f.Close()
		}
		ended += d.count(`"kind":"ended"`)
	}
	if status := d.signal(syscall.SIGTERM); status != 0 {
		t.Errorf("exit status %d", status)
	}
	checkExits(t, dir, jobs)
}

// checkExits compares each recorded exit status with the status in the command.
func checkExits(t *testing.T, dir string, jobs int) {
	s := openStore(t, dir)
	runs, err := s.Runs(t.Context(), store.Filter{Limit: 2 * jobs, Until: time.Now().Add(time.Hour)})
	if err != nil {
		t.Fatal(err)
	}
	if len(runs) != jobs {
		t.Fatalf("%d runs, want %d", len(runs), jobs)
	}
	for _, r := range runs { // runs are numbered in the order of their entries, from 1
		want := job.Outcome{Kind: job.Exited, Code: int(r.ID-1) % 256}
		if r.Outcome != want {
			t.Errorf("run %d: %v, want %v", r.ID, r.Outcome, want)
		}
	}
}
