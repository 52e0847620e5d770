package host

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/cronring/cronring/daemon/filetest"
)

// TestMetricsReplaceTheirFile: a new file replaces the one that collectors read. All users can
// read it, even with a strict umask.
func TestMetricsReplaceTheirFile(t *testing.T) {
	defer syscall.Umask(syscall.Umask(0o077))
	dir := t.TempDir()
	path, other := filepath.Join(dir, "cronring.prom"), filepath.Join(dir, "other")
	filetest.Write(t, other, "mine", 0o600)
	if err := os.Symlink(other, path); err != nil {
		t.Fatal(err)
	}
	if err := replaceFile(path, []byte("cronring_up 1\n")); err != nil {
		t.Fatal(err)
	}
	if got, _ := os.ReadFile(other); string(got) != "mine" {
		t.Errorf("what a link pointed to is %q, want it as it was", got)
	}
	if got, _ := os.ReadFile(path); string(got) != "cronring_up 1\n" {
		t.Errorf("got %q, want what was written", got)
	}
	if info, err := os.Lstat(path); err != nil || info.Mode() != 0o644 {
		t.Errorf("got %v (%v), want a file of mode 0644", info.Mode(), err)
	}
	if all, _ := os.ReadDir(dir); len(all) != 2 {
		t.Errorf("got %v, want no file left over", all)
	}
}

func TestMetricsLeaveWhatIsNoFile(t *testing.T) {
	dir := t.TempDir()
	pipe, link := filepath.Join(dir, "pipe"), filepath.Join(dir, "stdout")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(pipe, link); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{pipe, link} {
		if err := replaceFile(path, []byte("cronring_up 1\n")); err == nil {
			t.Errorf("%s is replaced, want an error", path)
		}
	}
	if all, _ := os.ReadDir(dir); len(all) != 2 {
		t.Errorf("got %v, want no file left over", all)
	}
}
