// Package packaging owns what a host is given beside the programs: units, PAM
// file, settings; and the proofs that all of it works in a booted systemd.
package packaging

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/cronring/cronring/daemon/filetest"
	"github.com/cronring/cronring/daemon/hosttest"
)

// TestMain lets the machines run the test binary as a tool: see tool_test.go.
func TestMain(m *testing.M) {
	if filepath.Base(os.Args[0]) == "labtool" {
		os.Exit(tool(os.Args[1:]))
	}
	os.Exit(m.Run())
}

const lab = "../testdata/lab"

// machine is a booted systemd with our files in it, pristine at each start.
//
// Inside, /lab holds what the proof needs: the script itself, lib.sh, labtool
// (this test binary), tree (what "make install" installs), and files; the
// script leaves what the test wants to see in /lab/out.
type machine struct {
	engine   string            // "ns" (the default) or "qemu": see boot-systemd.sh
	suite    string            // of Debian; "" is bookworm
	kernel   string            // words for its command line; qemu only
	packages string            // of it, beside the lab's own
	proof    string            // NAME of testdata/lab/proof-NAME.sh
	args     []string          // its arguments
	files    map[string]string // by path below /lab; tables/ is installed, see setup.sh
	debian   bool              // Debian's cron runs there, and not ours
	limit    time.Duration     // for all of it but the making of its root; 0 is ten minutes
	dir      string            // where out/ is put; "" is a directory of the test
}

// result is the output of a machine.
type result struct {
	said string // by the script
	out  string // the directory that was /lab/out
}

func (r result) file(t testing.TB, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(r.out, name))
	if err != nil {
		t.Fatalf("the machine left no %s: %v", name, err)
	}
	return string(text)
}

// run boots the machine, runs the proof in it and shuts it down. Each line "NOT
// OK" of the script is an error of the test.
func (m machine) run(t testing.TB) result {
	t.Helper()
	p := m.prepare(t)
	p.boot()
	return p.judge(t)
}

// prepared is a machine whose files are laid out. boot may be called by any
// goroutine, the rest by the test's own.
type prepared struct {
	machine
	context context.Context
	root    []string // of boot-systemd.sh, to make the root
	args    []string // of boot-systemd.sh
	result  result
	err     error // of boot-systemd.sh
}

func (m machine) prepare(t testing.TB) *prepared {
	t.Helper()
	if m.limit == 0 {
		m.limit = 10 * time.Minute
	}
	dir := t.TempDir()
	if m.dir == "" {
		m.dir = dir
	}
	m.furnish(t, filepath.Join(dir, "lab"))
	out := filepath.Join(m.dir, "out")
	root := []string{"root", "--pkgs", m.packages}
	if m.engine != "" {
		root = append(root, "--engine", m.engine)
	}
	if m.suite != "" {
		root = append(root, "--suite", m.suite)
	}
	args := append([]string{"run"}, root[1:]...)
	args = append(args, "--setup", "--copy", filepath.Join(dir, "lab")+":/lab", "--out", out)
	if m.kernel != "" {
		args = append(args, "--kernel-args", m.kernel)
	}
	args = append(args, "--", filepath.Join(lab, "proof-"+m.proof+".sh"))
	return &prepared{machine: m, context: t.Context(), root: root, args: append(args, m.args...), result: result{out: out}}
}

// boot makes the root first. With an empty cache that is a download, and many machines make theirs
// one after the other: it takes as long as the network and the other machines need.
func (p *prepared) boot() {
	if said, err := exec.CommandContext(p.context, filepath.Join(lab, "boot-systemd.sh"), p.root...).CombinedOutput(); err != nil {
		p.result.said, p.err = string(said), fmt.Errorf("make the root: %w", err)
		return
	}
	ctx, cancel := context.WithTimeout(p.context, p.limit)
	defer cancel()
	cmd := exec.CommandContext(ctx, filepath.Join(lab, "boot-systemd.sh"), p.args...)
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) } // it cleans up
	cmd.WaitDelay = 20 * time.Second
	said, err := cmd.CombinedOutput()
	p.result.said, p.err = string(said), err
	if ctx.Err() != nil {
		p.err = fmt.Errorf("not done after %v: %w", p.limit, err)
	}
}

func (p *prepared) judge(t testing.TB) result {
	t.Helper()
	t.Logf("%s", p.result.said)
	if p.err != nil {
		t.Errorf("%s: %v", p.proof, p.err)
	}
	oks := 0
	for line := range strings.Lines(p.result.said) {
		switch {
		case strings.HasPrefix(line, "NOT OK"):
			t.Error(strings.TrimSpace(line))
		case strings.HasPrefix(line, "ok "):
			oks++
		}
	}
	if oks == 0 {
		t.Errorf("%s showed nothing", p.proof)
	}
	return p.result
}

// furnish lays out the folder that becomes /lab.
func (m machine) furnish(t testing.TB, dir string) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	install(t, filepath.Join(lab, "lib.sh"), filepath.Join(dir, "lib.sh"))
	install(t, filepath.Join(lab, "setup.sh"), filepath.Join(dir, "setup"))
	install(t, self, filepath.Join(dir, "labtool"))
	for name, text := range m.files {
		filetest.Write(t, filepath.Join(dir, name), text, 0o755)
	}
	if m.debian {
		return
	}
	make := exec.Command("make", "-s", "-C", "..", "install", "BIN="+binaries(t), "DESTDIR="+filepath.Join(dir, "tree"), "FAMILY=debian")
	if said, err := make.CombinedOutput(); err != nil {
		t.Fatalf("make install: %v\n%s", err, said)
	}
}

// built is the directory of the programs, which are built once.
var built = sync.OnceValues(func() (string, error) {
	dir, err := filepath.Abs("../bin/lab")
	if err == nil {
		err = os.MkdirAll(dir, 0o755)
	}
	if err == nil {
		err = hosttest.PutPrograms(dir)
	}
	return dir, err
})

func binaries(t testing.TB) string {
	t.Helper()
	dir, err := built()
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// long reports whether slow proofs are enabled.
func long() bool { return os.Getenv("CRONRING_LONG") != "" }

// needLong skips, loudly, what is only done when it is wanted.
func needLong(t testing.TB, why string) {
	t.Helper()
	if !long() {
		t.Skip("SKIPPED, NOT TESTED: " + why)
	}
}

func install(t testing.TB, from, to string) {
	t.Helper()
	text, err := os.ReadFile(from)
	if err != nil {
		t.Fatal(err)
	}
	filetest.Write(t, to, string(text), 0o755)
}
