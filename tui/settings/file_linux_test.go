package settings

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cronring/cronring/daemon/filetest"
	"github.com/cronring/cronring/daemon/hosttest"
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
	defer hosttest.ActAsNobody(t)()
	if _, err := next.Save(); err == nil || !strings.Contains(err.Error(), "the setting is not saved: open "+path+": permission denied") {
		t.Errorf("got %v", err)
	}
	if text, err := os.ReadFile(path); string(text) != "mouse = true\n" {
		t.Errorf("got the text %q, %v", text, err)
	}
}
