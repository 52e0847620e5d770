package atomicfile

import (
	"net"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"testing"

	"github.com/cronring/cronring/daemon/filetest"
)

func TestWriteReplaces(t *testing.T) {
	dir := t.TempDir()
	path, target := filepath.Join(dir, "f"), filepath.Join(dir, "target")
	for _, name := range []string{path, target} {
		filetest.Write(t, name, "old and long", 0o644)
	}
	if err := os.Symlink(target, path+Suffix); err != nil { // left by another process
		t.Fatal(err)
	}
	if err := Write(path, []byte("ne"), []byte("w")); err != nil {
		t.Fatal(err)
	}
	if got, err := os.ReadFile(path); err != nil || string(got) != "new" {
		t.Errorf("got %q (%v), want the new content", got, err)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("got mode %v (%v), want 0600", info.Mode(), err)
	}
	if got, _ := os.ReadFile(target); string(got) != "old and long" {
		t.Errorf("the target of the link has %q, want what it had", got)
	}
	if left, _ := filepath.Glob(filepath.Join(dir, "*"+Suffix)); len(left) > 0 {
		t.Errorf("%v is left", left)
	}
}

func TestWriteNamesTheFileOnce(t *testing.T) {
	path := filepath.Join(t.TempDir(), "missing", "f")
	if err, want := Write(path, []byte("new")), "write "+path+": no such file or directory"; err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

// TestWriteNamesTheFileInItsWay: the error is about another file than the one to write.
func TestWriteNamesTheFileInItsWay(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f")
	if err := os.MkdirAll(filepath.Join(path+Suffix, "content"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err, want := Write(path, []byte("new")), "write "+path+": remove "+path+Suffix+": directory not empty"; err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

// TestWriteKeepsTheFileAfterAnError: a file that cannot be replaced stays as it was.
func TestWriteKeepsTheFileAfterAnError(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f")
	if err := os.MkdirAll(filepath.Join(path, "content"), 0o700); err != nil { // no file can replace it
		t.Fatal(err)
	}
	if err, want := Write(path, []byte("new")), "write "+path+": file exists"; err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
	if _, err := os.Stat(filepath.Join(path, "content")); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(path + Suffix); err == nil {
		t.Error("the unfinished file is left")
	}
}

// Opening a pipe would block until it has a writer, and reading a device might never end.
func TestReadRegularRefusesOtherFiles(t *testing.T) {
	t.Chdir(t.TempDir()) // a socket's path must be short
	pipe, socket := "pipe", "socket"
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	for _, path := range []string{pipe, socket, ".", "/dev/zero"} {
		if text, err := ReadRegular(path, 10); text != "" || err == nil || err.Error() != "it is not a regular file" {
			t.Errorf("%s: got %q, error %v", path, text, err)
		}
	}
}

func TestReplaceByTwoAtOnce(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "file")
	var writers sync.WaitGroup
	for _, text := range []string{"one", "two"} {
		writers.Go(func() {
			if err := Replace(path, 0o640, []byte(text)); err != nil {
				t.Error(err)
			}
		})
	}
	writers.Wait()
	text, err := os.ReadFile(path)
	if err != nil || string(text) != "one" && string(text) != "two" {
		t.Errorf("got %q, %v", text, err)
	}
	if info, err := os.Stat(path); err != nil || info.Mode() != 0o640 {
		t.Errorf("got %v, %v, want mode 0640", info, err)
	}
	if err := Replace(filepath.Join(path, "below"), 0o640, nil); err == nil {
		t.Error("a file below a file was made")
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 1 {
		t.Errorf("left %v, %v, want the file alone", left, err)
	}
}
