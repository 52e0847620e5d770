package spool

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/cronring/cronring/crontab"
	"github.com/cronring/cronring/daemon/hosttest"
	"github.com/cronring/cronring/packaging/machinetest"
)

// notCrons are the rows that cannot be tested with the old cron: a pipe blocks it forever, and it
// accepts files of any size.
var notCrons = []string{"pipe", "pipe of another", "a gigabyte", "one byte too many", "as large as can be"}

// TestLab boots a machine with Debian's cron and runs the tests whose names begin with TestIn there.
func TestLab(t *testing.T) { machinetest.RunTests(t, "SPOOL_LAB") }

// TestInTrustSaysWhatDebiansCronSays runs Debian's own cron in a root of its own
// over a file for each row of the rules, and compares what it logs with what a
// Source refuses, byte by byte.
func TestInTrustSaysWhatDebiansCronSays(t *testing.T) {
	if os.Getenv("SPOOL_LAB") == "" {
		t.Skip("runs in the machine that TestLab boots")
	}
	h := newCrontabDirs(t, crontab.Debian)
	root := filepath.Dir(filepath.Dir(h.places.Crontab))
	h.makeRows(root)
	said := h.runCron(root)
	var want []string
	for _, r := range OpenSource(h.options()).Scan(t.Context()).Refused {
		want = append(want, strings.ReplaceAll(r.Log, root, ""))
	}
	if len(want) < 30 {
		t.Errorf("only %d files are refused: %q", len(want), want)
	}
	for _, line := range want {
		if !slices.Contains(said, line) {
			t.Errorf("cron does not say %s", line)
		}
	}
	for _, line := range said {
		if !slices.Contains(want, line) && !strings.HasPrefix(line, "(CRON) INFO (") {
			t.Errorf("cron alone says %s", line)
		}
	}
}

// makeRows makes a user's and a system's crontab for each row, and an account
// for each user's crontab.
func (h *crontabDirs) makeRows(root string) {
	h.Helper()
	passwd := fmt.Sprintf("root:x:0:0::/root:/bin/sh\neve:x:%d:100::/:/bin/sh\n", eveUID)
	for i, row := range rows {
		if slices.Contains(notCrons, row.name) {
			continue
		}
		name := fmt.Sprintf("row%02d", i)
		h.users[name] = bobUID
		passwd += fmt.Sprintf("%s:x:%d:100::/:/bin/sh\n", name, bobUID)
		h.write(h.user(name), goodUser, 0o600, bobUID)
		row.make(h.aside(root, name+"-user"), h.user(name), bobUID)
		h.write(h.system(name), goodSystem, 0o644, 0)
		row.make(h.aside(root, name+"-system"), h.system(name), 0)
	}
	h.write(h.user("orphan"), goodUser, 0o600, bobUID)
	h.write(h.user("tmp.orphan"), goodUser, 0o600, bobUID)
	h.write(h.system("dot.ted"), goodSystem, 0o666, 0)
	h.write(h.places.Crontab, goodSystem, 0o664, 0)
	h.write(h.places.Passwd, passwd, 0o644, 0)
}

// aside is the host for a row that puts files out of the way.
func (h *crontabDirs) aside(root, name string) *crontabDirs {
	h.Helper()
	other := *h
	other.places.Crontab = filepath.Join(root, "aside", name, "crontab")
	h.must(os.MkdirAll(filepath.Dir(other.places.Crontab), 0o755))
	return &other
}

// runCron runs cron with its root at a directory and returns its log until it logs nothing more.
// The directory contains itself, so that links lead to the same files for cron and for the test.
func (h *crontabDirs) runCron(root string) []string {
	h.Helper()
	for _, dir := range []string{"dev", "run", "tmp", "usr", "root", "var/run", root} {
		h.must(os.MkdirAll(filepath.Join(root, dir), 0o755))
	}
	for _, name := range []string{"lib", "lib64", "bin", "sbin"} {
		target, err := os.Readlink("/" + name)
		if errors.Is(err, fs.ErrNotExist) {
			continue // lib64 is of some architectures
		}
		h.must(err)
		h.link(filepath.Join(root, name), target)
	}
	h.must(unix.Mknod(filepath.Join(root, "dev/null"), unix.S_IFCHR|0o666, int(unix.Mkdev(1, 3))))
	h.must(unix.Mknod(filepath.Join(root, "dev/zero"), unix.S_IFCHR|0o666, int(unix.Mkdev(1, 5))))
	program, err := os.ReadFile("/usr/sbin/cron")
	h.must(err)
	h.write(filepath.Join(root, "cron"), string(program), 0o755, 0)
	log, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: filepath.Join(root, "dev/log")})
	h.must(err)
	defer log.Close()

	script := `mount --bind /usr "$0/usr" && mount --bind "$0" "$0$0" && exec chroot "$0" /cron -f`
	cmd := exec.Command("unshare", "-m", "sh", "-c", script, root)
	cmd.Stderr = os.Stderr
	h.must(cmd.Start())
	defer func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	}()
	var said []string
	for {
		h.must(log.SetReadDeadline(time.Now().Add(hosttest.Patience)))
		line := make([]byte, 4096)
		n, err := log.Read(line)
		if err != nil {
			h.Fatalf("cron did not come to its @reboot jobs; it said %q", said)
		}
		_, text, _ := strings.Cut(string(line[:n]), "]: ")
		if said = append(said, strings.TrimRight(text, "\n\x00")); strings.Contains(text, "@reboot") {
			return said // crontabs are loaded before
		}
	}
}
