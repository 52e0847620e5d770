package main

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/cronring/cronring/daemon/api"
	"github.com/cronring/cronring/daemon/filetest"
	"github.com/cronring/cronring/daemon/hosttest"
)

// namespaceHost is a computer of a network: it has a disk, mounts, processes and a name of its
// own, and runs the programs as they are shipped. Its disk outlives its boots.
type namespaceHost struct {
	*network
	i      int
	bin    string // directory of the programs
	disk   string
	init   *exec.Cmd
	pid    int      // of its process 1, as this machine counts
	log    *os.File // what its daemons logged
	daemon *running // nil: none was started since it booted
}

// hostInit boots a host. $1 is its disk, $2 its name. Its process 1 reaps what others
// leave behind.
const hostInit = `
hostname "$2"
mount -t tmpfs tmpfs /run
mount -t tmpfs tmpfs /var/lib
mkdir -p "$1/etc" "$1/work" "$1/state" "$1/spool/cron/crontabs" /var/lib/cronring
mount -t overlay overlay -o lowerdir=/etc,upperdir="$1/etc",workdir="$1/work" /etc
mount --bind "$1/state" /var/lib/cronring
mount --bind "$1/spool" /var/spool
test -e "$1/installed" || { rm -rf /etc/crontab /etc/cron.* /etc/anacrontab /etc/cronring; mkdir -p /etc/cron.d /etc/cronring; touch "$1/installed"; }
echo up
while :; do sleep 1000 & wait $!; done
`

// boot boots a host on the network. Its daemon is not started.
func (w *network) boot(i int, bin string) *namespaceHost {
	w.t.Helper()
	h := &namespaceHost{network: w, i: i, bin: bin, disk: w.t.TempDir()}
	if err := syscall.Mount("tmpfs", h.disk, "tmpfs", 0, "size=64m"); err != nil {
		hosttest.Missing(w.t, "no disk can be mounted here: %v", err)
	}
	log, err := os.Create(filepath.Join(w.t.TempDir(), "log"))
	if err != nil {
		w.t.Fatal(err)
	}
	h.log = log
	t := w.t
	t.Cleanup(func() {
		h.powerOff()
		syscall.Unmount(h.disk, syscall.MNT_DETACH)
		log.Close()
		if t.Failed() {
			t.Logf("the daemon of %s said at last:\n%s", h.name(), h.logged())
		}
	})
	h.startInit()
	return h
}

func (h *namespaceHost) name() string { return fmt.Sprintf("n%d", h.i+1) }

// startInit starts the host's process 1.
func (h *namespaceHost) startInit() {
	h.t.Helper()
	h.init = exec.Command("ip", "netns", "exec", h.space(h.i), "unshare", "--mount", "--pid", "--fork", "--kill-child", "--uts", "--ipc",
		"--mount-proc", "--propagation", "private", "sh", "-ec", hostInit, "sh", h.disk, h.name())
	var message bytes.Buffer
	h.init.Stderr = &message
	out, err := h.init.StdoutPipe()
	if err != nil {
		h.t.Fatal(err)
	}
	if err := h.init.Start(); err != nil {
		h.t.Fatal(err)
	}
	if line, err := bufio.NewReader(out).ReadString('\n'); err != nil || line != "up\n" {
		h.init.Wait()
		hosttest.Missing(h.t, "no host can be made here: %q, %v\n%s", line, err, message.String())
	}
	if h.pid = childOf(h.init.Process.Pid, ""); h.pid == 0 {
		h.t.Fatal("the host has no process 1")
	}
}

// powerOff ends all processes of the host at once.
func (h *namespaceHost) powerOff() {
	h.init.Process.Kill() // with it its child, process 1, and so all others
	h.init.Wait()
	if h.daemon != nil {
		h.daemon.cmd.Wait()
		h.daemon = nil
	}
}

// childOf finds the nearest descendant of a process with a name, or with any name.
func childOf(pid int, comm string) int {
	for level := []int{pid}; len(level) > 0; {
		var below []int
		for _, p := range level {
			text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", p, p))
			for _, word := range strings.Fields(string(text)) {
				child, _ := strconv.Atoi(word)
				own, _ := os.ReadFile(fmt.Sprintf("/proc/%d/comm", child))
				if comm == "" || strings.TrimSpace(string(own)) == comm {
					return child
				}
				below = append(below, child)
			}
		}
		level = below
	}
	return 0
}

// path returns the path under which this machine sees a file of the host.
func (h *namespaceHost) path(name string) string { return fmt.Sprintf("/proc/%d/root%s", h.pid, name) }

// write writes a file of the host's root.
func (h *namespaceHost) write(name, text string) {
	h.t.Helper()
	// Under another name first, because its daemon may look at any time.
	filetest.Write(h.t, h.path(name+"~"), text, 0o600)
	if err := os.Rename(h.path(name+"~"), h.path(name)); err != nil {
		h.t.Fatal(err)
	}
}

// command is a command on the host.
func (h *namespaceHost) command(argv ...string) *exec.Cmd {
	enter := []string{"-t", strconv.Itoa(h.pid), "-m", "-u", "-i", "-n", "-p", "--"}
	cmd := exec.Command("nsenter", append(enter, argv...)...)
	cmd.Env = []string{"PATH=" + h.bin + ":/usr/sbin:/usr/bin:/sbin:/bin", "HOME=/root", "LANG=C.UTF-8", "TZ=UTC"}
	return cmd
}

// shell runs a line on the host, which must succeed, and returns what it printed.
func (h *namespaceHost) shell(line string) string {
	h.t.Helper()
	out, err := h.command("sh", "-ec", line).CombinedOutput()
	if err != nil {
		h.t.Errorf("%s: %s: %v\n%s", h.name(), line, err, out)
	}
	return string(out)
}

// start starts the host's own daemon by way of other programs, and waits until it is
// ready. What it logs goes to a file.
func (h *namespaceHost) start(under ...string) {
	h.t.Helper()
	cmd := h.command(append(under, filepath.Join(h.bin, "cronringd"), "--log", "text")...)
	stderr, err := cmd.StderrPipe()
	if err != nil {
		h.t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		h.t.Fatal(err)
	}
	ready := make(chan bool, 1)
	go func() {
		for s := bufio.NewScanner(stderr); s.Scan(); {
			fmt.Fprintln(h.log, s.Text())
			if strings.Contains(s.Text(), "msg=ready") {
				ready <- true
			}
		}
		ready <- false
	}()
	h.daemon = &running{t: h.t, cmd: cmd, client: api.Dial(h.path(api.SystemSocket))}
	if !<-ready {
		h.t.Fatalf("%s: the daemon ended before it was ready:\n%s", h.name(), h.logged())
	}
}

// logged is the end of what the host's daemons logged.
func (h *namespaceHost) logged() string {
	const most = 8 << 10
	text, _ := os.ReadFile(h.log.Name())
	return string(text[max(len(text)-most, 0):])
}

// signal sends a signal to the daemon alone.
func (h *namespaceHost) signal(s syscall.Signal) {
	h.t.Helper()
	if h.daemon == nil {
		return
	}
	if pid := h.daemonPID(); pid != 0 {
		syscall.Kill(pid, s)
	}
	if s == syscall.SIGCONT {
		h.daemon.cmd.Process.Signal(s) // nsenter stops with its child
	}
}

// stop ends the daemon, and waits until it is gone.
func (h *namespaceHost) stop(s syscall.Signal) {
	h.t.Helper()
	h.signal(s)
	h.daemon.cmd.Wait()
	h.daemon = nil
}

// daemonPID is the process of the daemon, as this machine counts.
func (h *namespaceHost) daemonPID() int { return childOf(h.daemon.cmd.Process.Pid, "cronringd") }

// await waits until something is so.
func await(t *testing.T, what string, ok func() bool) {
	t.Helper()
	look := time.NewTicker(20 * time.Millisecond)
	defer look.Stop()
	for end := time.Now().Add(patience); !ok(); <-look.C {
		if time.Now().After(end) {
			t.Fatalf("%s: not within %v", what, patience)
		}
	}
}
