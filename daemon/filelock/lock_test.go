package filelock

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/cronring/cronring/daemon/filetest"
)

// noProcess is a number that no process can have.
const noProcess = 1 << 29

func TestLockOutlivesADeadDaemonForAMoment(t *testing.T) {
	for _, c := range []struct {
		name  string
		last  string // the content of the file
		tries int    // until the lock is free
		want  bool
	}{
		{"the last holder is dead", fmt.Sprintf("%d \n", noProcess), 3, true},
		{"the last holder lives", fmt.Sprintf("%d\n", os.Getpid()), 3, false},
		{"the last holder is not known", "", 3, false},
		{"the lock is free", fmt.Sprintf("%d\n", os.Getpid()), 1, true},
	} {
		path := filepath.Join(t.TempDir(), "lock")
		filetest.Write(t, path, c.last, 0o600)
		f, err := os.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		tries := 0
		err = Lock(f, func() error {
			if tries++; tries < c.tries {
				return unix.EAGAIN
			}
			return nil
		})
		if got := err == nil; got != c.want || !got && !errors.Is(err, unix.EAGAIN) {
			t.Errorf("%s: %v after %d tries, want the lock: %t", c.name, err, tries, c.want)
		}
		f.Close()
	}
}
