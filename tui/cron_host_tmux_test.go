package tui

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/cronring/cronring/daemon/filetest"
	"github.com/cronring/cronring/daemon/hosttest"
)

// cronHost makes a host with crontabs and a log of cron for a program, and no daemon. Its first
// argument is a directory with files for the host. If it has a pipe "start", a daemon starts when that
// is written to.
const cronHost = `mount -t tmpfs tmpfs /run
mkdir /run/u /run/w
mount -t overlay overlay -o lowerdir=/etc,upperdir=/run/u,workdir=/run/w /etc
mount -t tmpfs tmpfs /var/spool
mount -t tmpfs tmpfs /var/log
mkdir -p /var/spool/cron/crontabs
rm -f /etc/cron.d/*
cp "$1/crontab" /etc/crontab
echo "@weekly old-backup" >/var/spool/cron/crontabs/root
chmod 600 /var/spool/cron/crontabs/root
echo "$(date -d '-330 minutes' '+%b %e %H:%M:01') db CRON[7]: (root) CMD (run-orders)" >/var/log/syslog
export PATH="$1/bin:$PATH"
if [ -p "$1/start" ]; then
	(read go <"$1/start"; mkdir -m 755 /run/cronring; exec daemon "$1") >"$1/log" 2>&1 &
fi
shift
exec "$@"
`

// installed is a crontab(1) that prints what it installs to a file, and installs it.
const installed = `#!/bin/sh
[ "$*" = "-u root -" ] && cat >/var/spool/cron/crontabs/root && cp /var/spool/cron/crontabs/root "${0%/*}/installed"
`

// TestTerminalOfAHostWithCron shows the crontabs of a host that runs cron and no daemon.
func TestTerminalOfAHostWithCron(t *testing.T) {
	hosttest.Root(t, "only root can make a host")
	h := &host{t: t, dir: t.TempDir()}
	filetest.Write(t, filepath.Join(h.dir, "crontab"), "#@ name=orders\n* * * * * root run-orders\n#@ name=report\n0 7 * * * root run-report\n61 * * * * root broken\n", 0o644)
	filetest.Write(t, filepath.Join(h.dir, "bin", "crontab"), installed, 0o755)
	space := []string{"unshare", "-m", "--propagation", "private", "sh", "-ec", cronHost, "sh", h.dir}
	if out, err := exec.Command(space[0], append(space[1:], "true")...).CombinedOutput(); err != nil {
		hosttest.Missing(t, "no mount name space can be made here: %v: %s", err, out)
	}
	x := h.openCommand(append([]string{"LANG=C.UTF-8", "TERM=tmux-256color", "CRONRING_SOCKET="}, space...), 100, 30, "top")
	x.wait("no daemon: from the crontabs; no cron found. Start: systemctl start cronring", "cron orders", "cron report", "3 jobs")
	x.keys("/")
	x.typing("orders")
	x.keys("Enter", "r")
	x.wait("run: it needs cronringd, which does not run on this host")
	x.wait("cron started it 5h")
	x.keys("w")
	x.wait("none runs here: another cron runs the job")
	x.keys("Escape")
	x.wait("[1 Jobs]")
	x.keys("3")
	x.wait("[3 Timeline]", "orders")
	x.keys("5")
	x.wait("/etc/crontab", "1 error", "crontab root")
	x.keys("1", "Escape")
	x.wait("[1 Jobs]", "cron report")
	x.keys("/")
	x.typing("root.root")
	x.keys("Enter")
	x.gone("cron report")
	x.keys("e")
	x.wait("at 00:00 on Sunday", "DST")
	x.keys("Home", "Delete", "Delete", "Delete", "Delete", "Delete", "Delete", "Delete")
	x.typing("@daily")
	x.wait("at 00:00 every day", "~1 changed")
	x.keys("C-s")
	x.wait("saved the crontab of root, 1 entry")
	if text, err := os.ReadFile(filepath.Join(h.dir, "bin", "installed")); err != nil || string(text) != "@daily old-backup\n" {
		t.Errorf("crontab(1) received %q, error %v", text, err)
	}
	x.keys("Escape")
	x.wait("@daily")
	x.quit()

	// As ssh does: the words after the host are joined and given to a shell there.
	filetest.Write(t, filepath.Join(h.dir, "bin", "ssh"), "#!/bin/sh\nwhile [ \"$1\" != -- ]; do shift; done\nshift 2\nPATH="+filepath.Dir(program(t, "cronring"))+":$PATH exec sh -c \"$*\"\n", 0o755)
	far := h.openCommand(append([]string{"LANG=C.UTF-8", "TERM=tmux-256color", "CRONRING_SOCKET="}, space...), 80, 24, "top", "-H", "far")
	far.wait("no daemon: from the crontabs", "cron orders", "@weekly")
	far.keys("r")
	far.wait("it needs cronringd, which does not run on this host")
	far.quit()

	h.switches(space)

	both := h.openCommand(append([]string{"LANG=C.UTF-8", "TERM=tmux-256color", "CRONRING_SOCKET="}, space...), 100, 24, "top", "-H", "far", "-H", "farther")
	both.wait("Hosts: 2 hosts")
	both.keys("a")
	both.wait("Jobs of 2 hosts", "6 jobs", "cron orders             farther", "cron orders             this host")
	both.quit()
}

// switches starts a daemon while dashboards show the crontabs, of this host and through ssh: they show the
// daemon, on the screen that they were on.
func (h *host) switches(space []string) {
	h.t.Helper()
	filetest.Write(h.t.(*testing.T), filepath.Join(h.dir, "bin", "daemon"), "#!/bin/sh\necho $$ >\"$1/pid\"\nexec "+program(h.t, "cronringd")+
		" --state \"$1/state.$$\" --socket /run/cronring/cronring.sock --config \"$1\" /etc/crontab\n", 0o755)
	start := filepath.Join(h.dir, "start")
	for _, flags := range [][]string{{"top"}, {"top", "-H", "far"}} {
		if err := unix.Mkfifo(start, 0o600); err != nil {
			h.t.Fatal(err)
		}
		h.t.Cleanup(h.killStarted)
		x := h.openCommand(append([]string{"LANG=C.UTF-8", "TERM=tmux-256color", "CRONRING_SOCKET="}, space...), 100, 30, flags...)
		x.wait("no daemon: from the crontabs", "cron orders")
		x.keys("3")
		x.wait("[3 Timeline]", "orders")
		if err := os.WriteFile(start, []byte("go\n"), 0o600); err != nil {
			h.t.Fatal(err)
		}
		x.gone("no daemon: from the crontabs")
		x.wait("[3 Timeline]", "orders", "live ")
		x.keys("1")
		x.wait("[1 Jobs]", "orders")
		x.gone("cron orders")
		x.quit()
		h.killStarted()
		os.Remove(start)
	}
}

// killStarted kills the daemon of switches, if it has started.
func (h *host) killStarted() {
	path := filepath.Join(h.dir, "pid")
	text, _ := os.ReadFile(path)
	if pid, err := strconv.Atoi(strings.TrimSpace(string(text))); err == nil {
		syscall.Kill(pid, syscall.SIGKILL)
		os.Remove(path)
	}
}
