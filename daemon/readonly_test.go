package daemon

import (
	"os"
	"slices"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/cronring/cronring/daemon/api"
	"github.com/cronring/cronring/daemon/hosttest"
	"github.com/cronring/cronring/daemon/job"
)

// A disk with an error is mounted read-only. The host's jobs still run, also after a restart, and
// the history is written again when the disk is writable.
func TestHostStartsWithAReadOnlyVar(t *testing.T) {
	t.Parallel()
	h := newTestHost(t)
	disk := h.path("var")
	if err := unix.Mount("tmpfs", disk, "tmpfs", 0, "size=8m"); err != nil {
		hosttest.Missing(t, "a read-only disk is made by mounting one: %v", err)
	}
	t.Cleanup(func() { _ = unix.Unmount(disk, unix.MNT_DETACH) })
	for _, dir := range []string{"var/lib/cronring", "var/spool/cron/crontabs", "var/spool/anacron"} {
		if err := os.MkdirAll(h.path(dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	h.userCrontab("ann", annID, "#@ name=mine\n0 0 1 1 * echo mine\n")
	h.crontab("a", "echo a", "tick every=1s", "true")
	h.start()
	h.do("a")
	if _, err := h.client.Pause(h.context(), api.PauseRequest{Refs: []string{"a"}}); err != nil {
		t.Fatal(err)
	}
	h.stop()

	remount := func(flags uintptr) {
		t.Helper()
		if err := unix.Mount("", disk, "", unix.MS_REMOUNT|flags, ""); err != nil {
			t.Fatal(err)
		}
	}
	remount(unix.MS_RDONLY)
	h.start()
	w := h.watch()
	w.await("an occurrence of tick", func(r job.Record) bool { return r.Kind == job.Ended && r.Run.Trigger == job.TriggerClock })
	mine := h.run("mine")[0]
	w.await("the end of a user's job", func(r job.Record) bool { return r.Kind == job.Ended && r.Run.ID == mine.ID })
	s := h.status()
	if !slices.ContainsFunc(s.Problems, hasWords("history cannot be written")) || !slices.ContainsFunc(s.Problems, func(p api.Problem) bool {
		return p.Fix == "check the disk, and make it writable again: findmnt -T "+h.path("var/lib/cronring")
	}) {
		t.Errorf("problems %+v, want that the history cannot be written, and how to see the disk", s.Problems)
	}
	remount(0)
	h.said("history is written again", "lost=0")
	h.wantRun(mine.ID, "ok", "mine\n")
	if s := h.status(); s.States[job.StatePaused] != 1 {
		t.Errorf("the pause was forgotten: %v", s.States)
	}
	h.stop()
	if n := h.count("decided before"); n != 0 {
		t.Errorf("%d occurrences were decided twice", n)
	}
}
