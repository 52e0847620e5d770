package tui

import (
	"strings"
	"syscall"
	"testing"

	"github.com/cronring/cronring/daemon/api"
)

// TestTerminalJobsOfSeveralHosts filters and pauses jobs of two daemons in one list, opens one on its
// host, and then loses that host.
func TestTerminalJobsOfSeveralHosts(t *testing.T) {
	h := newHost(t, tasksCrontab)
	path, other := h.elsewhere()
	x := h.openWith([]string{"LANG=C.UTF-8", "TERM=tmux-256color", "PATH=" + path}, 100, 30)
	x.wait("live ", "sleepy")
	x.keys("6")
	x.wait("Hosts: 2 hosts", "nothing is planned")
	x.keys("a")
	x.wait("Jobs of 2 hosts", "6 jobs", "HOST", "elsewhere", "sleepy")

	x.keys("/")
	x.typing("host:db-02")
	x.wait(">‖ off  elsewhere", "1/1")
	x.keys("Enter", "p")
	x.wait("Pause elsewhere@db-02 for how long?")
	x.keys("Enter")
	x.wait("Reason:")
	x.keys("Enter")
	x.wait("paused elsewhere@db-02", "cronring -H ops@db-02.example.org pause elsewhere")
	if !other.paused("elsewhere") {
		t.Error("the job is not paused on its host")
	}
	x.keys("z")
	x.wait("resumed elsewhere@db-02")
	x.keys("Enter")
	x.wait("[1 Jobs]", "live ", "elsewhere: ")
	x.keys("q")
	x.wait("Jobs of 2 hosts", "elsewhere")

	x.keys("Escape")
	x.wait("sleepy")
	other.stop(syscall.SIGKILL)
	x.wait("Jobs of 2 hosts, 1 host not reached", "db-02 ! ", "✗ db-02 (its jobs are ")
	x.keys("/")
	x.typing("fine")
	x.wait(">· new  fine", "1/1")
	x.keys("Enter", "r")
	x.wait("Run fine")
	x.keys("y")
	x.wait("started run 1 of fine")
	other.start()
	x.until("the host is back", func(screen string) bool { return !strings.Contains(screen, "not reached") })
}

// paused reports whether a job is paused.
func (h *host) paused(ref string) bool {
	h.t.Helper()
	client := api.Dial(h.socket)
	defer client.Close()
	shown, err := client.Show(h.t.Context(), ref)
	if err != nil {
		h.t.Fatal(err)
	}
	return shown.Hold != nil
}
