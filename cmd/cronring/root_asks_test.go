package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cronring/cronring/cmd/cronring/clitest"
	"github.com/cronring/cronring/crontab"
	"github.com/cronring/cronring/daemon/api"
	"github.com/cronring/cronring/daemon/hosttest"
)

// cronring of root sends nothing to the daemon of another user, however its socket
// is named, and looks for none in a home directory.
func TestRootAsksNoDaemonOfAnotherUser(t *testing.T) {
	h := clitest.NewHost(t, crontab.Debian)
	requests := make(chan string, 100)
	fake := h.FakeDaemon(clitest.BobUID, requests)
	refused := func(args ...string) {
		t.Helper()
		stdout, stderr, code := Called(t, "GET /v1/jobs HTTP/1.1\r\nHost: x\r\n\r\n", args...)
		if want := "the socket " + fake + " belongs to "; code == 0 || stdout != "" || !strings.Contains(stderr, want) {
			t.Errorf("cronring %v: exit code %d, %q, %q, want %q", args, code, stdout, stderr, want)
		}
	}
	commands := [][]string{{"list"}, {"status"}, {"run", "secret"}, {"pause", "secret"}, {"report", "events"}, {"edit", "--user", clitest.Ann}, {"bridge"}, {"report", "metrics"}}
	for _, args := range commands {
		refused(append(args, "--socket", fake)...)
	}
	t.Setenv("CRONRING_SOCKET", fake)
	for _, args := range commands {
		refused(args...)
	}
	t.Setenv("CRONRING_SOCKET", "")
	t.Setenv("XDG_STATE_HOME", filepath.Dir(fake))
	t.Setenv("HOME", filepath.Dir(fake))
	if err := os.Mkdir(filepath.Join(filepath.Dir(fake), "cronring"), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(fake, filepath.Join(filepath.Dir(fake), "cronring", "cronring.sock")); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Lstat(api.SystemSocket); err == nil {
		hosttest.Missing(t, "a daemon of this host would be asked")
	}
	if _, stderr, code := Called(t, "", "list"); code == 0 || !strings.Contains(stderr, "cronringd does not answer on "+api.SystemSocket) {
		t.Errorf("cronring list without a daemon of the host: exit code %d, %q", code, stderr)
	}
	select {
	case text := <-requests:
		t.Errorf("the other user's daemon received %q", text)
	default:
	}
}
