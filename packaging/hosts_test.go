package packaging

import (
	"context"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/cronring/cronring/packaging/machinetest"
)

// TestHostsOverSSH shows three booted machines in one dashboard, over real ssh: two with a daemon, of
// which one is killed while it is displayed, and one with Debian's cron alone.
func TestHostsOverSSH(t *testing.T) {
	needLong(t, "the machines have an ssh server, so their root is another download: make hosts")
	machinetest.Need(t, "ip", "tmux", "ssh", "ssh-keygen")
	tree := filepath.Join(t.TempDir(), "tree")
	programs := binaries(t)
	if said, err := exec.Command("make", "-s", "-C", "..", "install", "BIN="+programs, "DESTDIR="+tree, "FAMILY=debian").CombinedOutput(); err != nil {
		t.Fatalf("make install: %v\n%s", err, said)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, filepath.Join(lab, "hosts.sh"), filepath.Join(programs, "cronring"), tree)
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) } // it cleans up
	cmd.WaitDelay = 20 * time.Second
	said, err := cmd.CombinedOutput()
	if n := strings.Count(string(said), "ok  "); err != nil || n != 11 || strings.Contains(string(said), "NOT OK") {
		t.Errorf("%v, %d of 11 statements hold:\n%s", err, n, said)
	}
}
