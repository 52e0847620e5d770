package settings

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"github.com/cronring/cronring/daemon/filetest"
)

// Save reports that a user cannot write a file of root. The file stays as it is, although the user can
// write its directory.
func TestSaveReportsAWriteProtectedFile(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "config.toml")
	filetest.Write(t, path, "mouse = true\n", 0o444)
	if err := errors.Join(os.Chmod(filepath.Dir(dir), 0o755), os.Chmod(dir, 0o777)); err != nil {
		t.Fatal(err)
	}
	next, err := Open(path).With(option(t, "theme").To("dark"))
	if err != nil {
		t.Fatal(err)
	}
	if os.Geteuid() == 0 { // root can write everything
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		const nobody = 65534
		if err := syscall.Setfsuid(nobody); err != nil {
			t.Fatal(err)
		}
		defer func() {
			if err := syscall.Setfsuid(0); err != nil {
				t.Error(err)
			}
		}()
	}
	if _, err := next.Save(); err == nil || !strings.Contains(err.Error(), "the setting is not saved: open "+path+": permission denied") {
		t.Errorf("got %v", err)
	}
	if text, err := os.ReadFile(path); string(text) != "mouse = true\n" {
		t.Errorf("got the text %q, %v", text, err)
	}
}
