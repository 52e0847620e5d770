package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/cronring/cronring/daemon/hosttest"
)

// network is several network namespaces on one bridge, whose links can be cut with
// testdata/lab/netlab.sh.
type network struct {
	t    *testing.T
	name string
}

// networks counts them, because each has a name of its own.
var networks atomic.Int32

// newNetwork makes a network of n hosts for the duration of a test.
func newNetwork(t *testing.T, n int) *network {
	t.Helper()
	hosttest.Root(t, "daemons on networks of their own need root")
	if err := exec.Command("nft", "--version").Run(); err != nil {
		hosttest.Missing(t, "networks are cut with nft, which is not there: apt-get install nftables")
	}
	w := &network{t: t, name: fmt.Sprintf("%c%d", 'a'+networks.Add(1)%26, os.Getpid()%1_000_000)}
	if out, err := w.script("up", strconv.Itoa(n)); err != nil {
		hosttest.Missing(t, "no networks of our own can be made here: %v\n%s", err, out)
	}
	t.Cleanup(func() {
		if out, err := w.script("down"); err != nil {
			t.Errorf("networks are left behind: %v\n%s", err, out)
		}
	})
	return w
}

// space is the name of a host's namespace.
func (w *network) space(i int) string { return fmt.Sprintf("%s-%d", w.name, i+1) }

func (w *network) script(args ...string) ([]byte, error) {
	cmd := exec.Command("../../testdata/lab/netlab.sh", args...)
	cmd.Env = append(os.Environ(), "LAB_NET="+w.name)
	return cmd.CombinedOutput()
}

func (w *network) do(args ...string) {
	w.t.Helper()
	if out, err := w.script(args...); err != nil {
		w.t.Fatalf("netlab.sh %s: %v\n%s", strings.Join(args, " "), err, out)
	}
}

// others names all hosts but one, for netlab.sh.
func others(i, n int) string {
	var all []string
	for k := range n {
		if k != i {
			all = append(all, strconv.Itoa(k+1))
		}
	}
	return strings.Join(all, ",")
}

// fakeClock builds a program that runs another program under a clock of its own.
func fakeClock(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "fakeclock")
	if out, err := exec.Command("cc", "-O2", "-o", path, "../../testdata/lab/fakeclock.c", "-lm").CombinedOutput(); err != nil {
		t.Fatalf("cc: %v\n%s", err, out)
	}
	return path
}
