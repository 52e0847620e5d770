package store

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/cronring/cronring/daemon/filetest"
	"github.com/cronring/cronring/daemon/hosttest"
	"github.com/cronring/cronring/daemon/job"
	"github.com/cronring/cronring/daemon/store/database"
)

// smallDisk is a file system of 2 MB, and a file on it that takes all that is
// left, until it is removed.
func smallDisk(t *testing.T) (dir string, fill, free func()) {
	t.Helper()
	hosttest.Root(t, "only root may mount a small file system, so a full disk is not tested")
	dir = t.TempDir()
	if err := unix.Mount("tmpfs", dir, "tmpfs", 0, "size=2m"); err != nil {
		hosttest.Missing(t, "a small file system cannot be mounted, so a full disk is not tested: %v", err)
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
	if !database.IsFull(err) || database.IsDamaged(err) {
		t.Fatalf("Commit on a full disk: %v; full %t, damaged %t", err, database.IsFull(err), database.IsDamaged(err))
	}
	if err := s.Commit(t.Context(), batch()); !database.IsFull(err) {
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

// If the disk is full from the start, a daemon can read the history, and writes as soon as there
// is space.
func TestOpenOnAFullDiskKnowsTheHistory(t *testing.T) {
	dir, fill, free := smallDisk(t)
	s := open(t, dir)
	commit(t, s, Batch{Records: []job.Record{decided(1, "a", noon)}})
	before := restore(t, s)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	fill()
	s = open(t, dir)
	if r := restore(t, s); s.Notice != "" || r.NextRun != 2 || r.Seed != before.Seed || !slices.Equal(r.Marks, before.Marks) {
		t.Errorf("on a full disk: next run %d, seed %d, marks %v, notice %q; want %+v", r.NextRun, r.Seed, r.Marks, s.Notice, before)
	}
	next := Batch{Records: []job.Record{decided(2, "a", noon.Add(time.Minute))}}
	if err := s.Commit(t.Context(), next); !database.IsFull(err) {
		t.Errorf("Commit on a full disk: %v", err)
	}
	free()
	commit(t, s, next)
	if r := restore(t, s); r.NextRun != 3 {
		t.Errorf("after the disk had room: next run %d, want 3", r.NextRun)
	}
}

func TestOpenOnAFullDiskWithoutHistory(t *testing.T) {
	dir, fill, free := smallDisk(t)
	fill()
	s := open(t, dir)
	first := restore(t, s)
	if first.NextRun != 1 || first.Seed == 0 {
		t.Errorf("next run %d, seed %d", first.NextRun, first.Seed)
	}
	free()
	commit(t, s, Batch{Records: []job.Record{decided(1, "a", noon)}})
	s = reopen(t, s, dir)
	if r := restore(t, s); r.NextRun != 2 || r.Seed != first.Seed {
		t.Errorf("after the disk had room: next run %d, seed %d; want 2, %d", r.NextRun, r.Seed, first.Seed)
	}
}

// remount makes the small disk read-only or writable.
func remount(t *testing.T, dir string, flags uintptr) {
	t.Helper()
	if err := unix.Mount("", dir, "", unix.MS_REMOUNT|flags, ""); err != nil {
		t.Fatal(err)
	}
}

// TestOpenOnAReadOnlyDisk opens the history that a daemon left behind which ended,
// or whose host crashed, and none; and writes when the disk is writable again.
func TestOpenOnAReadOnlyDisk(t *testing.T) {
	for name, leave := range map[string]func(t *testing.T, s *Store, from, to string){
		"closed": func(t *testing.T, s *Store, from, to string) {
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			copyHistory(t, from, to)
		},
		"crashed": func(t *testing.T, _ *Store, from, to string) { copyHistory(t, from, to) },
		"none":    func(*testing.T, *Store, string, string) {},
	} {
		t.Run(name, func(t *testing.T) {
			disk, _, _ := smallDisk(t)
			dir, from := filepath.Join(disk, "state"), t.TempDir()
			before := Restored{NextRun: 1}
			s := open(t, from)
			commit(t, s, Batch{Records: []job.Record{decided(1, "a", noon)}})
			if name != "none" {
				before = restore(t, s)
			}
			leave(t, s, from, dir)
			remount(t, disk, unix.MS_RDONLY)
			s = open(t, dir)
			r := restore(t, s)
			if s.Notice != "" || r.NextRun != before.NextRun || r.Seed == 0 || name != "none" && r.Seed != before.Seed || !slices.Equal(r.Marks, before.Marks) {
				t.Errorf("next run %d, seed %d, marks %v, notice %q; want %+v", r.NextRun, r.Seed, r.Marks, s.Notice, before)
			}
			next := Batch{Records: []job.Record{decided(r.NextRun, "a", noon.Add(time.Minute))}}
			if err := s.Commit(t.Context(), next); !database.IsReadOnly(err) {
				t.Errorf("Commit: %v, want the error of a read-only disk", err)
			}
			remount(t, disk, 0)
			commit(t, s, next)
			if _, err := Open(t.Context(), dir); err == nil {
				t.Error("a second daemon opens the history, too")
			}
			s = reopen(t, s, dir)
			if after := restore(t, s); after.NextRun != r.NextRun+1 || after.Seed != r.Seed {
				t.Errorf("afterwards next run %d, seed %d; want %d, %d", after.NextRun, after.Seed, r.NextRun+1, r.Seed)
			}
		})
	}
}

func copyHistory(t *testing.T, from, to string) {
	t.Helper()
	if err := os.CopyFS(to, os.DirFS(from)); err != nil {
		t.Fatal(err)
	}
}

// TestOpenOnAReadOnlyDiskWithoutItsHistory has damage there, as the disk of many
// a read-only host. It is left as it is for the next start.
func TestOpenOnAReadOnlyDiskWithoutItsHistory(t *testing.T) {
	dir, _, _ := smallDisk(t)
	path := filepath.Join(dir, fileName)
	filetest.Write(t, path, string(slices.Repeat([]byte("damage"), 2000)), 0o600)
	remount(t, dir, unix.MS_RDONLY)
	s := open(t, dir)
	if r := restore(t, s); r.NextRun != 1 {
		t.Errorf("next run is %d, want 1", r.NextRun)
	}
	remount(t, dir, 0)
	if err := s.Commit(t.Context(), Batch{Records: []job.Record{decided(1, "a", noon)}}); !database.IsDamaged(err) {
		t.Errorf("Commit: %v, want the damage", err)
	}
	if s = reopen(t, s, dir); s.Notice == "" {
		t.Error("the next start does not set the damaged history aside")
	}
}
