package spawn

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/cronring/cronring/crontab"
	"github.com/cronring/cronring/daemon/hosttest"
	"github.com/cronring/cronring/daemon/job"
	"github.com/cronring/cronring/daemon/spawn/pipe"
)

// Output of jobs must not fill the file system that the rest of the host needs.
func TestRecordingsLeaveHalfOfTheMemoryFileSystem(t *testing.T) {
	dir := t.TempDir()
	if err := unix.Mount("tmpfs", dir, "tmpfs", unix.MS_NOSUID|unix.MS_NODEV, "size=8m"); err != nil {
		hosttest.Missing(t, "a file system in memory cannot be mounted here: %v", err)
	}
	t.Cleanup(func() {
		if err := unix.Unmount(dir, unix.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	claimed := false
	r := newTestSpawner(t, Options{Runs: dir, Claim: func(job.RunID) bool { claimed = true; return true }})
	small := r.do("head -c 1000000 /dev/zero")
	if _, err := os.Stat(small.File); err != nil || !claimed {
		t.Errorf("the file of a megabyte: %v, claimed %t, want it kept", err, claimed)
	}
	great := r.do("head -c 6000000 /dev/zero")
	if great.File != "" {
		t.Errorf("6 MB of output lie in %s, want no file", great.File)
	}
	if _, err := os.Stat(r.spawner.dir.Base(great.Run)); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("file of 6 MB: %v, want none", err)
	}
	var fs unix.Statfs_t
	if err := unix.Statfs(dir, &fs); err != nil || fs.Bavail < fs.Blocks/2 {
		t.Errorf("%d of %d blocks are free, %v; want half", fs.Bavail, fs.Blocks, err)
	}
	r.stop()
}

// A process can keep the inodes of its run's pipes without holding the pipes open, so that the daemon sees their
// end. The rest of the host needs inodes in the same file system.
func TestPipesLeaveHalfOfTheInodes(t *testing.T) {
	needRoot(t, "starting jobs as another user")
	dir := publicDir(t)
	if err := unix.Mount("tmpfs", dir, "tmpfs", unix.MS_NOSUID|unix.MS_NODEV, "mode=0755,nr_inodes=100"); err != nil {
		hosttest.Missing(t, "a file system in memory cannot be mounted here: %v", err)
	}
	t.Cleanup(func() {
		if err := unix.Unmount(dir, unix.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	runs := filepath.Join(dir, "runs")
	if err := os.Mkdir(runs, 0o700); err != nil {
		t.Fatal(err)
	}
	r := newTestSpawner(t, Options{Runs: runs, Notify: newNotifySockets(t)})
	g := newGate(t)
	const n = 60
	for range n {
		e := r.do("(exec 3</dev/stdout 4</dev/stderr >&- 2>&-; "+g.command()+") & echo early", as("nobody"))
		if text(e, job.Stdout) != "early\n" || text(e, job.Stderr) != "" || e.Late {
			t.Fatalf("output %q and %q, late %t; want that nothing holds the pipes open", text(e, job.Stdout), text(e, job.Stderr), e.Late)
		}
	}
	var fs unix.Statfs_t
	if err := unix.Statfs(dir, &fs); err != nil || fs.Ffree < fs.Files/2-4 { // those of one run
		t.Errorf("%d of %d inodes are free, %v; want half", fs.Ffree, fs.Files, err)
	}
	refused := errNoInodes.Error()
	if got := text(r.do("true", as("nobody"), entry(t, "#@ watchdog=1m", crontab.User)), job.System); !strings.Contains(got, refused) {
		t.Errorf("a run with a socket: %q, want %q", got, refused)
	}
	if e := r.do("true", as("nobody"), entry(t, "#@ credential=x:/etc/passwd", crontab.System)); !strings.Contains(e.Outcome.Error, refused) {
		t.Errorf("a run with a credential: %+v, want %q", e.Outcome, refused)
	}
	r.awaitStart(r.start(g.command()))
	if _, err := os.Lstat(r.spawner.dir.Base(r.last) + pipe.OutSuffix); err != nil {
		t.Errorf("the pipe of a run of root has no name: %v", err)
	}
	g.open(n + 1)
}
