package store

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/cronring/cronring/daemon/job"
)

// smallDisk is a file system of 2 MB, and a file on it that takes all that is
// left, until it is removed.
func smallDisk(t *testing.T) (dir string, fill, free func()) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("SKIPPED: only root may mount a small file system, so a full disk is not tested")
	}
	dir = t.TempDir()
	if err := unix.Mount("tmpfs", dir, "tmpfs", 0, "size=2m"); err != nil {
		t.Skipf("SKIPPED: a small file system cannot be mounted, so a full disk is not tested: %v", err)
	}
	t.Cleanup(func() { unix.Unmount(dir, unix.MNT_DETACH) })
	ballast := filepath.Join(dir, "ballast")
	fill = func() {
		f, err := os.Create(ballast)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		for err == nil {
			_, err = f.Write(make([]byte, 4096))
		}
	}
	free = func() {
		if err := os.Remove(ballast); err != nil {
			t.Fatal(err)
		}
	}
	return dir, fill, free
}

func TestCommitOnAFullDiskFailsAndRecovers(t *testing.T) {
	dir, fill, free := smallDisk(t)
	s := open(t, dir)
	commit(t, s, Batch{Records: []job.Record{decided(1, "a", noon)}})
	fill()
	var err error
	id := job.RunID(1)
	batch := func() Batch {
		due := noon.Add(time.Duration(id) * time.Minute)
		return Batch{At: due, Records: []job.Record{decided(id, "a", due)}, Outputs: []Output{
			{id, []job.Chunk{{Stream: job.Stdout, Data: make([]byte, 64<<10)}}},
		}}
	}
	for err == nil {
		id++
		err = s.Commit(t.Context(), batch())
	}
	if !IsFull(err) || IsDamaged(err) {
		t.Fatalf("Commit on a full disk: %v; full %t, damaged %t", err, IsFull(err), IsDamaged(err))
	}
	if err := s.Commit(t.Context(), batch()); !IsFull(err) {
		t.Errorf("Commit once more: %v", err)
	}
	if r := restore(t, s); r.NextRun != id {
		t.Errorf("next run is %d, want %d: the failed commit left a trace", r.NextRun, id)
	}
	free()
	commit(t, s, batch())
	s = reopen(t, s, dir)
	if r := restore(t, s); s.Notice != "" || r.NextRun != id+1 || !r.Marks[0].Due.Equal(noon.Add(time.Duration(id)*time.Minute)) {
		t.Errorf("after the disk had room: next run %d, marks %v, notice %q", r.NextRun, r.Marks, s.Notice)
	}
}

func TestOpenOnAFullDiskSetsNothingAside(t *testing.T) {
	dir, fill, free := smallDisk(t)
	s := open(t, dir)
	commit(t, s, Batch{Records: []job.Record{decided(1, "a", noon)}})
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	fill()
	if s, err := Open(t.Context(), dir); err == nil {
		s.Close()
	} else if !IsFull(err) {
		t.Errorf("Open on a full disk: %v, want one that IsFull", err)
	}
	free()
	s = open(t, dir)
	if r := restore(t, s); s.Notice != "" || r.NextRun != 2 {
		t.Errorf("after the disk had room: next run %d, notice %q", r.NextRun, s.Notice)
	}
}
