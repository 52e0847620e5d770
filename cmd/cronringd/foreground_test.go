package main

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/cronring/cronring/cmd/cronring/clitest"
	"github.com/cronring/cronring/daemon/api"
	"github.com/cronring/cronring/daemon/filetest"
	"github.com/cronring/cronring/daemon/hosttest"
)

func TestForegroundPrintsOutputWithJobAndRun(t *testing.T) {
	d := launch(t, t.TempDir(), crontabFile(t, "#@ name=hello every=1s\n* * * * * echo to out; echo to err >&2\n"))
	d.await(" hello[", "] out: to out")
	d.await(" hello[", "] err: to err")
	d.await(" hello[", "] sys: ok in ")
	if status := d.signal(syscall.SIGTERM); status != 0 {
		t.Errorf("after SIGTERM: exit status %d, want 0", status)
	}
}

func TestForegroundJSONLines(t *testing.T) {
	d := launch(t, t.TempDir(), "--log", "json", crontabFile(t, "#@ name=hello every=1s\n* * * * * printf 'a\\033[31mb\\377\\n'\n"))
	line := d.await(`"stream":"out"`)
	var got struct {
		Job, Line string
		Run       int64
	}
	if err := json.Unmarshal([]byte(line), &got); err != nil {
		t.Fatalf("%q: %v", line, err)
	}
	if got.Job != "hello" || got.Run == 0 || got.Line != "a\x1b[31mb\uFFFD" {
		t.Errorf("got %+v", got)
	}
	d.await(`"kind":"ended"`, `"job":"hello"`)
}

func TestForegroundHidesControlBytes(t *testing.T) {
	d := launch(t, t.TempDir(), crontabFile(t, "#@ name=evil every=1s\n* * * * * printf 'a\\033]0;title\\007b\\n'\n"))
	if line := d.await("evil[", "out:"); !strings.HasSuffix(line, `a\x1b]0;title\x07b`) {
		t.Errorf("got %q", line)
	}
}

// SIGHUP reads the crontabs again, but if the terminal is closed it stops the daemon: the next
// one could not start beside it.
func TestForegroundEndsWithItsTerminal(t *testing.T) {
	caught := make(chan os.Signal, 1)
	signal.Notify(caught, syscall.SIGHUP) // else the daemon inherits that it is ignored, if the test runs under nohup
	defer signal.Stop(caught)
	outside, inside := clitest.OpenTerminal(t)
	crontab := crontabFile(t, "#@ name=first every=1s\n* * * * * echo of the first\n")
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	d := prepare(t, t.TempDir(), self, crontab)
	d.cmd.Stdin = inside
	d.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true} // of stdin
	d.begin()
	d.await("out: of the first")
	filetest.Write(t, crontab, "#@ name=second every=1s\n* * * * * echo of the second\n", 0o600)
	d.cmd.Process.Signal(syscall.SIGHUP)
	d.await("out: of the second")
	inside.Close()
	outside.Close()
	if status := d.wait(); status != 0 {
		t.Errorf("after its terminal was closed: exit status %d, want 0", status)
	}
}

// A stop waits for running jobs, and starts no further ones.
func TestTermWaitsForRunningJobs(t *testing.T) {
	gate := filepath.Join(t.TempDir(), "gate")
	if err := syscall.Mkfifo(gate, 0o600); err != nil {
		t.Fatal(err)
	}
	d := launch(t, t.TempDir(), "--grace", "50s", crontabFile(t, "#@ name=slow every=1s overlap=skip\n* * * * * echo up; read x <"+gate+"; echo done\n"))
	d.await("slow[", "out: up")
	d.cmd.Process.Signal(syscall.SIGTERM)
	for !d.status().Draining {
	}
	if err := os.WriteFile(gate, []byte("go\n"), 0); err != nil {
		t.Fatal(err)
	}
	d.await("slow[", "out: done")
	d.await("slow[", "sys: ok in")
	if status := d.wait(); status != 0 {
		t.Errorf("exit status %d, want 0", status)
	}
}

func TestTermEndsJobsAfterGrace(t *testing.T) {
	d := launch(t, t.TempDir(), "--grace", "100ms", crontabFile(t, "#@ name=deaf every=1s overlap=skip\n* * * * * trap '' TERM; echo up; while :; do sleep 60; done\n"))
	d.await("deaf[", "out: up")
	d.cmd.Process.Signal(syscall.SIGTERM)
	d.await("deaf[", "sys: signal 9 in ")
	if status := d.wait(); status != 0 {
		t.Errorf("exit status %d, want 0", status)
	}
}

func TestSecondTermDoesNotWait(t *testing.T) {
	d := launch(t, t.TempDir(), "--grace", "1h", crontabFile(t, "#@ name=slow every=1s overlap=skip\n* * * * * echo up; exec sleep 1000\n"))
	d.await("slow[", "out: up")
	d.cmd.Process.Signal(syscall.SIGTERM)
	for !d.status().Draining {
	}
	d.cmd.Process.Signal(syscall.SIGTERM)
	d.await("slow[", "sys: signal 15 in ")
	if status := d.wait(); status != 0 {
		t.Errorf("exit status %d, want 0", status)
	}
}

func TestHangupReadsCrontabsAgain(t *testing.T) {
	file := crontabFile(t, "#@ name=old every=1s\n* * * * * echo old\n")
	d := launch(t, t.TempDir(), file)
	d.await("old[", "out: old")
	filetest.Write(t, file, "#@ name=new every=1s\n* * * * * echo new\n61 * * * * broken\n", 0o600)
	d.cmd.Process.Signal(syscall.SIGHUP)
	d.await("new[", "out: new")
	if s := d.status(); s.Jobs != 1 || s.Errors != 1 {
		t.Errorf("%d jobs and %d errors, want 1 and 1", s.Jobs, s.Errors)
	}
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	d.cmd.Process.Signal(syscall.SIGHUP)
	for len(d.status().Problems) == 0 {
	}
	d.await("new[", "out: new") // the last good version stays
}

// As process 1 of a container the daemon reaps what others leave behind.
func TestProcess1ReapsOrphans(t *testing.T) {
	hosttest.Root(t, "a process namespace needs root")
	d := launchAs(t, t.TempDir(), []string{"unshare", "--fork", "--pid", "--mount-proc", "--kill-child"},
		crontabFile(t, "#@ name=orphans every=1s overlap=skip\n* * * * * test $PPID = 1 || echo not pid 1; (sh -c 'sh -c : & :' &) ; while ps -eo stat | grep -q Z; do :; done; echo no zombie\n"))
	if line := d.await("orphans[", "out:"); !strings.HasSuffix(line, "out: no zombie") {
		t.Errorf("got %q", line)
	}
}

// If the history's disk is full, jobs run and the status reports it. When there is space again,
// the daemon writes the history.
func TestFullDisk(t *testing.T) {
	hosttest.Root(t, "mounting a small disk needs root")
	dir := t.TempDir()
	mount(t, dir)
	d := launch(t, dir, crontabFile(t, "#@ name=loud every=1s\n* * * * * echo ran; head -c 30000 /dev/urandom\n"))
	d.await("loud[", "sys: ok in ")
	filler := filepath.Join(dir, "filler")
	fill(t, filler)
	for len(d.status().Problems) == 0 {
		d.await("loud[", "sys: ok in ")
	}
	problem := d.status().Problems[0]
	if !strings.Contains(problem.What, "history") || !strings.Contains(problem.Fix, "make room") {
		t.Errorf("the status says %+v", problem)
	}
	waits := d.status().Unwritten
	if waits == 0 {
		t.Error("the status counts no waiting records")
	}
	d.await("loud[", "out: ran")
	d.await("loud[", "sys: ok in ") // the run before has ended for everybody by now
	if job, err := d.client.Show(t.Context(), "loud"); err != nil || job.State == "new" || job.Last == nil || len(job.Recent) == 0 {
		t.Errorf("the job is shown as %+v, %v; it has run", job.Status, err)
	}
	if err := os.Remove(filler); err != nil {
		t.Fatal(err)
	}
	for len(d.status().Problems) > 0 {
		d.await("loud[", "sys: ok in ")
	}
	if status := d.signal(syscall.SIGTERM); status != 0 {
		t.Errorf("exit status %d", status)
	}
	umounted := t.TempDir() // check a copy: the small disk goes with the test
	copyFile(t, filepath.Join(dir, "cronring.db"), filepath.Join(umounted, "cronring.db"))
	if wal, err := os.Stat(filepath.Join(dir, "cronring.db-wal")); err == nil && wal.Size() > 0 {
		copyFile(t, filepath.Join(dir, "cronring.db-wal"), filepath.Join(umounted, "cronring.db-wal"))
	}
	s := openStore(t, umounted)
	checkJob(t, s, "loud")
}

// The disk is full when the daemon starts.
func TestStartOnFullDisk(t *testing.T) {
	hosttest.Root(t, "mounting a small disk needs root")
	dir := t.TempDir()
	mount(t, dir)
	filler := filepath.Join(dir, "filler")
	fill(t, filler)
	d := launch(t, dir, crontabFile(t, "#@ name=loud every=1s\n* * * * * echo ran\n"))
	d.await("loud[", "sys: ok in ")
	if s := d.status(); len(s.Problems) == 0 || s.Unwritten == 0 {
		t.Errorf("%d records wait; problems: %v", s.Unwritten, s.Problems)
	}
	if err := os.Remove(filler); err != nil {
		t.Fatal(err)
	}
	for len(d.status().Problems) > 0 {
		d.await("loud[", "sys: ok in ")
	}
	runs, err := d.client.History(t.Context(), api.Filter{})
	if err != nil || len(runs.Runs) == 0 || runs.Runs[len(runs.Runs)-1].ID != 1 {
		t.Errorf("the history begins with %v, error %v; want run 1", runs.Runs, err)
	}
	if status := d.signal(syscall.SIGTERM); status != 0 {
		t.Errorf("exit status %d", status)
	}
}

func mount(t *testing.T, dir string) {
	t.Helper()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=4m"); err != nil {
		t.Fatalf("mount: %v", err)
	}
	t.Cleanup(func() { syscall.Unmount(dir, syscall.MNT_DETACH) })
}

func fill(t *testing.T, path string) {
	t.Helper()
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for size := 1 << 20; size > 0; {
		if _, err := f.Write(make([]byte, size)); err != nil {
			size /= 2
		}
	}
}

func copyFile(t *testing.T, from, to string) {
	t.Helper()
	text, err := os.ReadFile(from)
	if err == nil {
		err = os.WriteFile(to, text, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// The wall clock is set while the daemon runs: back an hour and forward a
// day, by the fake clock, which only this process sees.
func TestClockIsSet(t *testing.T) {
	hosttest.Root(t, "the simulated clock needs root")
	if _, err := exec.LookPath("cc"); err != nil {
		hosttest.Missing(t, "the simulated clock needs a C compiler: %v", err)
	}
	fake := filepath.Join(t.TempDir(), "fakeclock")
	if out, err := exec.Command("cc", "-O2", "-o", fake, "../../testdata/lab/fakeclock.c", "-lm").CombinedOutput(); err != nil {
		t.Fatalf("cc: %v\n%s", err, out)
	}
	offset := filepath.Join(t.TempDir(), "offset")
	set := func(seconds string) {
		filetest.Write(t, offset+".new", seconds, 0o600)
		if err := os.Rename(offset+".new", offset); err != nil {
			t.Fatal(err)
		}
	}
	set("0")
	dir := t.TempDir()
	d := launchAs(t, dir, []string{fake, offset}, crontabFile(t, `
#@ name=second every=1s
* * * * * true
#@ name=once catchup=once
0 * * * * echo hour
`))
	d.await("second[", "sys: ok in ")
	set("-3600")
	d.await(" cronringd sys: the clock was set back by 1h0m0s, from 20", ": entries with fixed times of day do not run until ")
	d.await("second[", "sys: ok in ")
	d.await("second[", "sys: ok in ")
	if got := time.Since(d.status().Now); got < 59*time.Minute || got > 61*time.Minute {
		t.Errorf("the daemon's clock is behind by %s, want an hour", got)
	}
	set("86400")
	d.await("once[", "out: hour") // made up, once
	d.await("second[", "sys: ok in ")
	if status := d.signal(syscall.SIGTERM); status != 0 {
		t.Errorf("exit status %d", status)
	}
	s := openStore(t, dir)
	records, err := s.Records(t.Context(), time.Time{}, time.Now().AddDate(0, 0, 2), 100)
	if err != nil {
		t.Fatal(err)
	}
	var steps bytes.Buffer
	for _, r := range records {
		if r.Kind == "stepped" {
			steps.WriteString(r.Detail.Words() + "\n")
		}
	}
	if got := steps.String(); !strings.Contains(got, "set back by 1h0m0s") || !strings.Contains(got, "set forward by 25h0m0s") {
		t.Errorf("recorded steps:\n%s", got)
	}
	once, err := s.Decisions(t.Context(), "once", time.Time{}, time.Now().AddDate(0, 0, 2), 100)
	if err != nil {
		t.Fatal(err)
	}
	runs := 0
	for _, r := range once {
		if r.Decision == "run" {
			runs++
		}
	}
	if runs < 1 || runs > 2 { // two when the test crosses a full hour
		t.Errorf("a day was jumped over; catchup=once made up %d runs of 25", runs)
	}
}
