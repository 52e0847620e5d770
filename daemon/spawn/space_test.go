package spawn

import (
	"errors"
	"os"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/cronring/cronring/daemon/hosttest"
	"github.com/cronring/cronring/daemon/job"
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
