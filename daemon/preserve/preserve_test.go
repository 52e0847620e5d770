package preserve

import (
	"os"
	"path/filepath"
	"testing"
)

// Only what is new of runs that are not young is copied, the smallest first, and
// copies go with their runs.
func TestPreserverCopiesWhatIsNew(t *testing.T) {
	state, runs := t.TempDir(), t.TempDir()
	print := func(name string, size int) {
		f, err := os.OpenFile(filepath.Join(runs, name), os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		if _, err := f.Write(make([]byte, size)); err != nil {
			t.Fatal(err)
		}
	}
	p := New(runs, state)
	check := func(when string, want map[string]int64) {
		t.Helper()
		got := recordings(p.to)
		if len(got) != len(want) {
			t.Errorf("%s: copies %v, want %v", when, got, want)
		}
		for name, size := range want {
			if got[name] != size {
				t.Errorf("%s: the copy of %s has %d bytes, want %d", when, name, got[name], size)
			}
		}
	}
	print("1", 10)
	print("2.group", 10)
	p.step(false)
	check("young", nil)
	p.step(false)
	check("printing", map[string]int64{"1": 10})
	print("1", 5)
	print("2", mostPreserved)
	print("3", 1)
	p.step(false)
	check("more", map[string]int64{"1": 15})
	p.step(false)
	check("a file that is too large beside others", map[string]int64{"1": 15, "3": 1})
	if err := os.Remove(filepath.Join(runs, "1")); err != nil {
		t.Fatal(err)
	}
	p = New(runs, state) // of the next daemon
	p.Restore(1)
	p.Restore(7)
	if info, err := os.Stat(filepath.Join(runs, "1")); err != nil || info.Size() != 15 {
		t.Errorf("restored %v, error %v; want 15 bytes", info, err)
	}
	p.step(true)
	check("at the end", map[string]int64{"1": 15, "2": mostPreserved, "3": 1})
	for _, name := range []string{"1", "3"} {
		if err := os.Remove(filepath.Join(runs, name)); err != nil {
			t.Fatal(err)
		}
	}
	p.step(false)
	check("after the runs", map[string]int64{"2": mostPreserved})
}
