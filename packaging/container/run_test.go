package main

import (
	"bufio"
	"bytes"
	"debug/elf"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/cronring/cronring/daemon/filetest"
	"github.com/cronring/cronring/daemon/hosttest"
)

// container is a running container of the image, made of namespaces and chroot
// alone.
type container struct {
	t     *testing.T
	root  string
	env   []string
	cmd   *exec.Cmd
	lines chan string // of standard output, closed at its end
	errs  bytes.Buffer
}

// unpack puts the image's layer into a directory, as an engine does.
func unpack(t *testing.T, layer []byte) (root string) {
	t.Helper()
	root = t.TempDir()
	if err := os.Chmod(root, 0o755); err != nil { // for the image's account
		t.Fatal(err)
	}
	headers, contents := entries(t, layer)
	for _, h := range headers {
		path := filepath.Join(root, h.Name)
		var err error
		if strings.HasSuffix(h.Name, "/") {
			err = os.Mkdir(path, 0o700)
		} else {
			err = os.WriteFile(path, contents[h.Name], 0o600)
		}
		if err == nil {
			err = os.Chown(path, h.Uid, h.Gid)
		}
		if err == nil {
			err = syscall.Chmod(path, uint32(h.Mode))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return root
}

// addShell does what "COPY busybox /bin/" would do: the image has no shell.
func addShell(t *testing.T, root string) {
	t.Helper()
	busybox, err := exec.LookPath("busybox")
	if err != nil {
		hosttest.Missing(t, "a shell for the image's jobs needs busybox (package busybox-static)")
	}
	program, err := elf.Open(busybox)
	if err != nil {
		t.Fatal(err)
	}
	defer program.Close()
	if slices.ContainsFunc(program.Progs, func(p *elf.Prog) bool { return p.Type == elf.PT_INTERP }) {
		hosttest.Missing(t, "busybox needs libraries that the image has not (install package busybox-static)")
	}
	data, err := os.ReadFile(busybox)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(root, "bin"), 0o755); err != nil {
		t.Fatal(err)
	}
	filetest.Write(t, filepath.Join(root, "bin/busybox"), string(data), 0o755)
	for _, name := range []string{"sh", "ps", "grep", "id", "date", "sleep"} {
		if err := os.Symlink("busybox", filepath.Join(root, "bin", name)); err != nil {
			t.Fatal(err)
		}
	}
}

// start runs the image's command as process 1 of its own namespaces, as the image's
// account, with a crontab mounted.
func start(t *testing.T, root string, c config, text string) *container {
	t.Helper()
	crontab := filepath.Join(t.TempDir(), "my.crontab")
	filetest.Write(t, crontab, text, 0o644)
	for _, dir := range []string{"proc", "dev"} {
		if err := os.Mkdir(filepath.Join(root, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	filetest.Write(t, filepath.Join(root, "crontab"), "", 0o644)
	x := &container{t: t, root: root, env: c.Config.Env, lines: make(chan string, 1000)}
	chroot, err := exec.LookPath("chroot")
	if err != nil {
		t.Fatal(err)
	}
	enter := append([]string{"-euc", `
		mount --make-rprivate /
		mount -t proc proc "$1/proc"
		mount --rbind /dev "$1/dev"
		mount --bind "$2" "$1/crontab"
		root=$1 user=$3 chroot=$4
		shift 4
		exec "$chroot" --userspec="$user" "$root" "$@"`,
		"sh", root, crontab, c.Config.User, chroot}, slices.Concat(c.Config.Entrypoint, c.Config.Cmd)...)
	x.cmd = exec.Command("/bin/sh", enter...)
	x.cmd.Env = c.Config.Env
	x.cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags: syscall.CLONE_NEWPID | syscall.CLONE_NEWNS | syscall.CLONE_NEWIPC | syscall.CLONE_NEWUTS | syscall.CLONE_NEWNET,
		Setsid:     true,
	}
	x.cmd.Stderr = &x.errs
	out, err := x.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := x.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		defer close(x.lines)
		for s := bufio.NewScanner(out); s.Scan(); {
			x.lines <- s.Text()
		}
	}()
	t.Cleanup(func() {
		x.cmd.Process.Kill() // all of the namespace goes with it
		for range x.lines {
		}
		x.cmd.Wait()
	})
	return x
}

// await reads what the container prints, up to a line with all these words.
func (x *container) await(words ...string) string {
	x.t.Helper()
	limit := time.After(5 * time.Minute) // on the slowest machine
	for {
		select {
		case line, ok := <-x.lines:
			if !ok {
				x.cmd.Wait()
				x.t.Fatalf("the container ended before it said %q; its errors: %s", words, x.errs.String())
			}
			if !slices.ContainsFunc(words, func(w string) bool { return !strings.Contains(line, w) }) {
				return line
			}
		case <-limit:
			x.t.Fatalf("the container does not say %q", words)
		}
	}
}

// exec runs a program in the container's root, as "docker exec" does.
func (x *container) exec(command ...string) (string, error) {
	cmd := exec.Command("chroot", append([]string{"--userspec=65532:65532", x.root}, command...)...)
	cmd.Env = x.env
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// TestContainer runs the image of the real programs as an engine would.
func TestContainer(t *testing.T) {
	hosttest.Root(t, "namespaces and chroot need root")
	_, c, layer := opened(t, written(t, hosttest.Programs(t)))
	t.Run("WithoutShell", func(t *testing.T) { runWithoutShell(t, unpack(t, layer), c) })
	t.Run("WithShell", func(t *testing.T) { runWithShell(t, unpack(t, layer), c) })
}

// runWithoutShell runs the unchanged image: its messages must explain how to add the shell that
// jobs need.
func runWithoutShell(t *testing.T, root string, c config) {
	x := start(t, root, c, "#@ name=job every=1s\n* * * * * echo hello\n")
	x.await("job[", "not started: run SHELL /bin/sh: no such file or directory")
	if out, err := x.exec("cronring", "lint", "/crontab"); err != nil {
		t.Errorf("lint of the crontab: %v\n%s", err, out)
	}
}

// runWithShell adds a shell to the image and runs jobs as its process 1: as its own user, in zones
// without files, leaving no zombies, and until it receives the stop signal.
func runWithShell(t *testing.T, root string, c config) {
	addShell(t, root)
	x := start(t, root, c, `
#@ name=who every=1s
* * * * * echo "as $(id -u) in $PWD, child of $PPID"
#@ name=zone tz=Asia/Kathmandu
0 0 1 1 * true
#@ name=orphans every=1s overlap=skip
* * * * * (sh -c 'sh -c : & :' &) ; sh -c 'ps -o stat | grep -c Z; :'
#@ name=long every=1s overlap=skip
* * * * * echo began; sleep 2; echo ended
`)
	x.await("who[", "out: as 65532 in /home/cronring, child of 1")
	if out, err := x.exec(c.Config.Healthcheck.Test[1:]...); err != nil || !strings.Contains(out, "answered in") {
		t.Errorf("the health check: %v\n%s", err, out)
	}
	if out, err := x.exec("cronring", "next", "zone"); err != nil || !strings.Contains(out, "12-31 18:15:00") {
		t.Errorf("the next run in Kathmandu: %v\n%s", err, out)
	}
	for tries := 0; !strings.HasSuffix(x.await("orphans[", "out: "), "out: 0"); tries++ {
		if tries == 30 { // one may be on its way out, but none stays
			t.Fatal("zombies stay")
		}
	}
	x.await("long[", "out: began")
	if err := x.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	x.await("long[", "out: ended")
	for range x.lines {
	}
	if err := x.cmd.Wait(); err != nil {
		t.Errorf("after SIGTERM: %v\n%s", err, x.errs.String())
	}
}
