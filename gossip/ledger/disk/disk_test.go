package disk

import (
	"strings"
	"testing"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/raft"
)

func openTestDisk(t *testing.T, dir string) (*Disk, error) {
	t.Helper()
	return Open(dir, hclog.NewNullLogger(), func(err error) { t.Errorf("failed: %v", err) })
}

func storeEntries(t *testing.T, d *Disk, from, to uint64) {
	t.Helper()
	for index := from; index <= to; index++ {
		if err := d.StoreLog(&raft.Log{Index: index, Term: 1}); err != nil {
			t.Fatal(err)
		}
	}
}

// TestDiskIsReadAfterItsEndWasCutOff: a change of leaders truncates the log of a leader that had
// no majority.
func TestDiskIsReadAfterItsEndWasCutOff(t *testing.T) {
	dir := t.TempDir()
	d, err := openTestDisk(t, dir)
	if err != nil {
		t.Fatal(err)
	}
	storeEntries(t, d, 1, 10)
	d.Mark()
	if err := d.DeleteRange(6, 10); err != nil {
		t.Fatal(err)
	}
	name := d.Incarnation
	for _, last := range []uint64{5, 8} {
		if err := d.WAL.Close(); err != nil {
			t.Fatal(err)
		}
		if d, err = openTestDisk(t, dir); err != nil {
			t.Fatal(err)
		}
		for index := uint64(1); index <= last; index++ {
			if err := d.GetLog(index, new(raft.Log)); err != nil {
				t.Errorf("entry %d of %d: %v", index, last, err)
			}
		}
		if got, err := d.LastIndex(); got != last || err != nil || d.Incarnation != name {
			t.Errorf("read again: got %d entries of log %s, %v, want %d of %s", got, d.Incarnation, err, last, name)
		}
		if last == 5 {
			storeEntries(t, d, 6, 8)
		}
	}
	d.WAL.Close()
}

func TestDiskMissesEntriesThatItMarked(t *testing.T) {
	dir := t.TempDir()
	d, err := openTestDisk(t, dir)
	if err != nil {
		t.Fatal(err)
	}
	storeEntries(t, d, 1, 10)
	d.Mark()
	if err := d.WAL.DeleteRange(10, 10); err != nil { // as damage does
		t.Fatal(err)
	}
	d.WAL.Close()
	if _, err := openTestDisk(t, dir); err == nil || !strings.Contains(err.Error(), "ends with entry 9, but had entry 10") {
		t.Errorf("open: got %v, want it to miss entry 10", err)
	}
}
