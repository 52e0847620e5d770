package keys

import (
	"bytes"
	"encoding/base64"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/cronring/cronring/daemon/filetest"
)

// key returns a key for tests.
func key(n byte) []byte { return bytes.Repeat([]byte{n}, Len) }

func TestReadKeys(t *testing.T) {
	path := filepath.Join(t.TempDir(), "keys")
	line := func(n byte) string { return base64.StdEncoding.EncodeToString(key(n)) + "\n" }
	write := func(text string, mode os.FileMode) {
		t.Helper()
		os.Remove(path)
		filetest.Write(t, path, text, mode)
	}
	write("# old and new\n"+line(1)+"\n"+line(2), 0o600)
	keys, err := Read(path)
	if err != nil || !reflect.DeepEqual(keys, [][]byte{key(1), key(2)}) {
		t.Errorf("got %d keys, %v, want the two", len(keys), err)
	}
	for _, c := range []struct {
		text  string
		mode  os.FileMode
		words string
	}{
		{line(1), 0o640, "other users can read"},
		{"", 0o600, "0 keys"},
		{"abc\n", 0o600, "line 1"},
		{line(1) + line(1), 0o600, "duplicate"},
	} {
		write(c.text, c.mode)
		if _, err := Read(path); err == nil || !strings.Contains(err.Error(), c.words) {
			t.Errorf("%q, mode %o: got %v, want %q", c.text, c.mode, err, c.words)
		}
	}
	other := path + ".link"
	if err := os.Symlink(path, other); err != nil {
		t.Fatal(err)
	}
	if _, err := Read(other); err == nil {
		t.Error("a symbolic link is followed, want an error")
	}
	for path, words := range map[string]string{path + ".missing": "no such file", t.TempDir(): "not a regular file"} {
		if _, err := Read(path); err == nil || !strings.Contains(err.Error(), words) {
			t.Errorf("%s: got %v, want %q", path, err, words)
		}
	}
}

func TestReadKeysLooksAtTheDirectory(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "keys")
	filetest.Write(t, path, base64.StdEncoding.EncodeToString(key(1))+"\n", 0o600)
	for mode, ok := range map[os.FileMode]bool{0o755: true, 0o777: false, 0o775: false, 0o777 | os.ModeSticky: true} {
		if err := os.Chmod(dir, mode); err != nil {
			t.Fatal(err)
		}
		if _, err := Read(path); (err == nil) != ok {
			t.Errorf("in a directory of mode %v: got %v, want it read: %v", mode, err, ok)
		}
	}
}

func FuzzKeys(f *testing.F) {
	f.Add([]byte("# comment\n" + strings.Repeat("A", 43) + "=\n"))
	f.Add([]byte("\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		keys, err := Parse(b)
		if err == nil && Check(keys) != nil {
			t.Errorf("%q: %v", b, Check(keys))
		}
	})
}
