package daemon

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/cronring/cronring/daemon/api"
	"github.com/cronring/cronring/daemon/job"
	"github.com/cronring/cronring/daemon/othercron"
)

func TestHostRefusesToRunBesideAnotherCron(t *testing.T) {
	t.Parallel()
	h := newTestHost(t)
	h.crontab("a", "true")
	lock, _, err := othercron.Lock(h.Root)
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Close()
	if err := lock.Truncate(0); err != nil { // a file without our number
		t.Fatal(err)
	}
	h.launch()
	h.said("another cron runs on this host")
	if code := h.wait(); code != 1 {
		t.Errorf("the daemon ended with status %d, want 1", code)
	}
	lock.Close()
	h.start()
	h.do("a")
}

// runsOf returns the number of runs or starts of a job.
func (h *testHost) runsOf(ref string) []job.Run {
	h.t.Helper()
	runs, err := h.client.History(h.context(), api.Filter{Refs: []string{ref}})
	if err != nil {
		h.t.Fatal(err)
	}
	return runs.Runs
}

func TestHostRunsRebootEntriesOncePerBoot(t *testing.T) {
	t.Parallel()
	h := newTestHost(t)
	h.write("etc/crontab", "#@ name=boot\n@reboot ann echo booted; id -u\n")
	h.start()
	runs := h.runsOf("boot")
	if len(runs) != 1 || runs[0].Trigger != job.TriggerBoot {
		t.Fatalf("the first start ran %+v", runs)
	}
	h.wantRun(runs[0].ID, "ok", "booted\n61001\n")
	h.renew()
	h.stop()
	h.start()
	if n := len(h.runsOf("boot")); n != 1 {
		t.Errorf("it ran %d times in one boot", n)
	}
}

func TestHostHonoursTheMarksOfOtherCrons(t *testing.T) {
	t.Parallel()
	for _, mark := range []string{"run/crond.reboot", "run/cron.reboot"} {
		t.Run(filepath.Base(mark), func(t *testing.T) {
			t.Parallel()
			h := newTestHost(t)
			h.write(strings.TrimPrefix(mark, "/"), "")
			h.write("etc/crontab", "#@ name=boot\n@reboot ann true\n")
			h.start()
			if n := len(h.runsOf("boot")); n != 0 {
				t.Errorf("it ran %d times, and another cron had run it", n)
			}
		})
	}
}

func TestHostGoesOnWhereAnotherCronEnded(t *testing.T) {
	t.Parallel()
	h := newTestHost(t)
	since := h.path("var/lib/cronring/since")
	h.write("var/lib/cronring/since", "")
	ended := time.Now().Add(-2 * time.Minute)
	if err := os.Chtimes(since, ended, ended); err != nil {
		t.Fatal(err)
	}
	h.write("etc/crontab", "#@ name=each catchup=all\n* * * * * ann true\n")
	h.start()
	if n := len(h.runsOf("each")); n < 2 {
		t.Errorf("of the two minutes after the other cron's end %d were made up", n)
	}
	if _, err := os.Lstat(since); !os.IsNotExist(err) {
		t.Errorf("%s counts once: got %v, want that it is gone", since, err)
	}
}

// today is the content of a stamp of today if the host has no zone.
func today() string { return time.Now().UTC().Format("20060102\n") }

// lockedByAnacron locks a stamp like anacron, in the way of the C library; the error is the one
// that anacron would receive.
func lockedByAnacron(t *testing.T, path string) (f *os.File, err error) {
	t.Helper()
	f, err = os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	whole := unix.Flock_t{Type: unix.F_WRLCK}
	return f, unix.FcntlFlock(f.Fd(), unix.F_SETLK, &whole)
}

func TestAnacronsJobsRunOncePerPeriod(t *testing.T) {
	t.Parallel()
	h := newTestHost(t)
	gate := h.fifo("gate")
	h.write("etc/anacrontab", "1 0 due echo began; read x <"+gate.Name()+"; echo ended; exit 9\n"+
		"2 0 fresh echo fresh\n7 0 old echo old\n1 0 busy echo busy\n")
	stamp := func(id string) string { return h.path("var/spool/anacron/" + id) }
	began := today() // it changes if midnight passes
	h.write("var/spool/anacron/fresh", began)
	h.write("var/spool/anacron/old", time.Now().UTC().AddDate(0, 0, -7).Format("20060102\n"))
	if _, err := lockedByAnacron(t, stamp("busy")); err != nil {
		t.Fatal(err)
	}
	h.start()
	due := h.newest("due")
	h.printed(due.ID, "began")
	h.wantRun(h.newest("old").ID, "ok", "old\n")
	if r := h.newest("busy"); !strings.Contains(r.Outcome.String(), "another anacron is at this job") {
		t.Errorf("a job that another anacron is at: %v", r.Outcome)
	}
	if n := len(h.runsOf("fresh")); n != 0 {
		t.Errorf("a job that ran today ran %d times", n)
	}
	locked := func(when string) {
		t.Helper()
		if text, err := os.ReadFile(stamp("due")); err != nil || len(text) != 0 {
			t.Errorf("%s: the stamp says %q, error %v; it is written at the end", when, text, err)
		}
		f, err := lockedByAnacron(t, stamp("due"))
		f.Close()
		if err != unix.EAGAIN && err != unix.EACCES {
			t.Errorf("%s: anacron gets the lock: %v", when, err)
		}
	}
	locked("while the job runs")
	h.renew()
	locked("after an execution anew")
	h.open(gate, 1)
	h.wantRun(due.ID, "exit 9", "began\nended\n")
	h.stop() // waits for what is written
	for _, id := range []string{"due", "fresh", "old"} {
		if text, err := os.ReadFile(stamp(id)); err != nil || string(text) != began && string(text) != today() {
			t.Errorf("the stamp of %s says %q, error %v; want %q", id, text, err, began)
		}
	}
	if _, err := lockedByAnacron(t, stamp("due")); err != nil {
		t.Errorf("after the end: %v", err)
	}
}

func TestAnacronsJobsAreItsOwnWhileItIsInstalled(t *testing.T) {
	t.Parallel()
	h := newTestHost(t)
	h.write("usr/sbin/anacron", "#!/bin/sh\n")
	if err := os.Chmod(h.path("usr/sbin/anacron"), 0o755); err != nil {
		t.Fatal(err)
	}
	h.write("etc/anacrontab", "2 0 done echo done\n1 0 due echo due\n")
	h.start()
	if s := h.status(); s.Loaded != 0 {
		t.Errorf("%d jobs are loaded although anacron is there", s.Loaded)
	}
	h.write("var/spool/anacron/done", today()) // anacron ran it
	if err := os.Remove(h.path("usr/sbin/anacron")); err != nil {
		t.Fatal(err)
	}
	h.reload()
	h.wantRun(h.newest("due").ID, "ok", "due\n")
	if n := len(h.runsOf("done")); n != 0 {
		t.Errorf("a job that anacron ran today ran %d times again", n)
	}
}
