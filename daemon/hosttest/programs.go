package hosttest

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// Programs returns a directory of the test with cronring and cronringd as they are shipped.
func Programs(t testing.TB) string {
	t.Helper()
	dir := t.TempDir()
	if err := PutPrograms(dir); err != nil {
		t.Fatal(err)
	}
	return dir
}

// PutPrograms puts cronring and cronringd into a directory. The targets of the Makefile have built them before
// any test, and name their directory in CRONRING_BIN; without it they are built.
func PutPrograms(dir string) error {
	built := os.Getenv("CRONRING_BIN")
	if built == "" {
		build := exec.Command("go", "build", "-ldflags=-s", "-o", dir+"/", "github.com/cronring/cronring/cmd/...")
		build.Env = append(os.Environ(), "CGO_ENABLED=0")
		if said, err := build.CombinedOutput(); err != nil {
			return fmt.Errorf("go build: %w\n%s", err, said)
		}
		return nil
	}
	for _, name := range []string{"cronring", "cronringd"} {
		if err := CopyProgram(filepath.Join(built, name), filepath.Join(dir, name)); err != nil {
			return err
		}
	}
	return nil
}

// CopyProgram copies a program. It replaces an older copy by a new file, as that one may be running.
func CopyProgram(from, to string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	if err := os.Remove(to); err != nil && !os.IsNotExist(err) {
		return err
	}
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o755)
	if err != nil {
		return err
	}
	if _, err := io.Copy(out, in); err != nil {
		out.Close()
		return err
	}
	return out.Close()
}
