package outbox

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/cronring/cronring/daemon/filetest"
)

func read(t *testing.T, d Dir, number uint64) string {
	t.Helper()
	f, err := d.Open(number)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	text, err := io.ReadAll(f)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestScanFindsWhatWaitsOldestFirst(t *testing.T) {
	d := Dir(filepath.Join(t.TempDir(), "made"))
	for _, number := range []uint64{10, 9, 3, 4} {
		if err := d.Write(number, []byte("a"), []byte("b")); err != nil {
			t.Fatal(err)
		}
	}
	if err := d.Remove(4); err != nil {
		t.Fatal(err)
	}
	if err := d.Remove(4); err != nil {
		t.Errorf("removing what is gone: %v", err)
	}
	for name, text := range map[string]string{Name(12) + ".tmp": "half", "README": "not ours", "7": "not ours", Name(11) + ".dead": "old"} {
		filetest.Write(t, filepath.Join(string(d), name), text, 0o600)
	}
	if err := os.Symlink("/etc/passwd", filepath.Join(string(d), Name(8))); err != nil {
		t.Fatal(err)
	}
	var got []uint64
	newest, err := d.Scan(func(number uint64) error {
		got = append(got, number)
		switch number {
		case 9:
			return &DamagedError{"no sense"}
		case 10:
			return errors.New("cannot be read now")
		}
		return nil
	})
	if err != nil || newest != 11 || !slices.Equal(got, []uint64{3, 9, 10}) {
		t.Errorf("examined %d, newest %d, error %v; want 3 9 10, 11", got, newest, err)
	}
	if text := read(t, d, 3) + read(t, d, 10); text != "abab" {
		t.Errorf("read %q, want abab", text)
	}
	if n := d.Dead(); n != 2 {
		t.Errorf("%d dead, want the damaged one and the old one", n)
	}
	if _, err := os.Stat(filepath.Join(string(d), Name(12)+".tmp")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("what was half written is still there: %v", err)
	}
	if _, err := d.Open(8); err == nil {
		t.Error("a link was followed")
	}
}

func TestBuryKeepsTheNewest(t *testing.T) {
	d := Dir(t.TempDir())
	const more = 3
	for number := range uint64(MaxDead + more) {
		if err := d.Write(number); err != nil {
			t.Fatal(err)
		}
		d.Bury(number, "")
	}
	_, oldest := os.Stat(filepath.Join(string(d), Name(more-1)+".dead"))
	_, kept := os.Stat(filepath.Join(string(d), Name(more)+".dead"))
	if d.Dead() != MaxDead || !errors.Is(oldest, os.ErrNotExist) || kept != nil {
		t.Errorf("%d dead, want %d; the oldest: %v, the first kept: %v", d.Dead(), MaxDead, oldest, kept)
	}
}

func TestWriteLeavesNothingHalf(t *testing.T) {
	d := Dir(t.TempDir())
	if err := os.Mkdir(filepath.Join(string(d), Name(1)), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := d.Write(1, []byte("x")); err == nil {
		t.Error("a directory was replaced")
	}
	if left, _ := os.ReadDir(string(d)); len(left) != 1 {
		t.Errorf("left %v, want the directory alone", left)
	}
}

// What one owner's files are given up for leaves those of others for a person to
// look at.
func TestBuryKeepsTheFilesOfOtherOwners(t *testing.T) {
	d := Dir(t.TempDir())
	bury := func(number uint64, owner string) {
		if err := d.Write(number); err != nil {
			t.Fatal(err)
		}
		d.Bury(number, owner)
	}
	bury(1, "root")
	bury(2, "a.b/c")
	for number := range uint64(3 * MaxDead) {
		bury(10+number, "ann")
	}
	left := map[string]int{}
	dead, _ := filepath.Glob(d.DeadPattern())
	for _, path := range dead {
		left[deadOwner(path)]++
	}
	if left["root"] != 1 || left["a.b%2Fc"] != 1 || d.Dead() != MaxDead {
		t.Errorf("%d files are left, of their owners %v; want %d, and the one of root and of a.b/c", d.Dead(), left, MaxDead)
	}
	newest, err := d.Scan(func(number uint64) error { return &DamagedError{"it waits"} })
	if err != nil || newest != 10+3*MaxDead-1 || d.Dead() != MaxDead {
		t.Errorf("newest %d, %d dead, error %v", newest, d.Dead(), err)
	}
}

// A mailer runs as the user, and its descriptor of a message can outlive it. The space of a removed message
// counts for no user.
func TestRemovedFilesUseNoSpace(t *testing.T) {
	d := Dir(t.TempDir())
	text := make([]byte, 1<<20)
	const more = MaxDead + 1
	for number := range uint64(more) {
		if err := d.Write(number, text); err != nil {
			t.Fatal(err)
		}
	}
	delivered, err := d.Open(0)
	if err != nil {
		t.Fatal(err)
	}
	defer delivered.Close()
	buried, err := d.Open(1)
	if err != nil {
		t.Fatal(err)
	}
	defer buried.Close()
	if err := d.Remove(0); err != nil {
		t.Fatal(err)
	}
	for number := uint64(1); number < more; number++ {
		d.Bury(number, "ann")
	}
	if err := d.Write(more, text); err != nil {
		t.Fatal(err)
	}
	d.Bury(more, "ann") // which removes the oldest one
	for what, f := range map[string]*os.File{"delivered": delivered, "undeliverable": buried} {
		if info, err := f.Stat(); err != nil || info.Size() != 0 {
			t.Errorf("the %s message is removed and still open: %d bytes, %v; want none", what, info.Size(), err)
		}
	}
}
