package server

import (
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// unlinkLater leaves the socket behind when l is closed, as a killed daemon
// does.
func unlinkLater(l net.Listener) { l.(*net.UnixListener).SetUnlinkOnClose(false) }

func TestListenReplacesStaleSocket(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s")
	old, err := Listen(path)
	if err != nil {
		t.Fatal(err)
	}
	unlinkLater(old)
	old.Close()
	if _, err := os.Lstat(path); err != nil {
		t.Fatalf("the stale socket of this test is gone: %v", err)
	}
	l, err := Listen(path)
	if err != nil {
		t.Fatalf("Listen on a stale socket: %v", err)
	}
	l.Close()
	if _, err := os.Lstat(path); !os.IsNotExist(err) {
		t.Errorf("after Close: %v, want no socket left", err)
	}
}

func TestListenRefuses(t *testing.T) {
	dir := t.TempDir()
	live := filepath.Join(dir, "live")
	l, err := Listen(live)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, []byte("precious"), 0o600); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		live:                            "another daemon answers there",
		file:                            "not a socket",
		dir + "/none/s":                 "no such file",
		dir + strings.Repeat("/a", 100): "at most 107 bytes",
	} {
		if _, err := Listen(path); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Listen(%.60s): %v, want %q", path, err, want)
		}
	}
	if text, err := os.ReadFile(file); string(text) != "precious" {
		t.Errorf("a file in the way was touched: %q, %v", text, err)
	}
	if c, err := net.Dial("unix", live); err != nil {
		t.Errorf("a live socket was touched: %v", err)
	} else {
		c.Close()
	}
}

func TestListenMode(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s")
	l, err := Listen(path)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	want := os.FileMode(0o600)
	if os.Geteuid() == 0 {
		want = 0o666
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != want {
		t.Errorf("mode %v, %v, want %v", info.Mode().Perm(), err, want)
	}
}
