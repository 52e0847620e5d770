package daemon

import (
	"fmt"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/cronring/cronring/daemon/api"
	"github.com/cronring/cronring/daemon/hosttest"
)

// withService replaces the directory service of the daemon under test. It has the user net, number
// 61003, and does not answer while a file "dead" exists.
func (h *testHost) withService() {
	h.t.Helper()
	if err := exec.Command("unshare", "-m", "mount", "--bind", h.Root, h.Root).Run(); err != nil {
		hosttest.Missing(h.t, "a directory service cannot be put in place: %v", err)
	}
	h.write("etc/nsswitch.conf", "passwd: files sss\ngroup: files sss\n")
	program := func(name, text string) {
		h.write(name, text)
		if err := os.Chmod(h.path(name), 0o755); err != nil {
			h.t.Fatal(err)
		}
	}
	dead := "[ ! -e " + h.path("dead") + " ] || exec sleep 1000\n"
	program("getent", "#!/bin/sh\n"+dead+`[ "$3" = net ] || exit 2; echo net:x:61003:61003::/:/bin/sh`+"\n")
	program("id", "#!/bin/sh\n"+dead+"echo 61003\n")
	program("daemon", "#!/bin/sh\nexec unshare -m sh -c 'mount --bind "+h.path("getent")+" /usr/bin/getent && mount --bind "+
		h.path("id")+" /usr/bin/id && exec "+h.program+"'\n")
	h.program = h.path("daemon")
}

func TestHostStartsWhileADirectoryServiceIsDead(t *testing.T) {
	t.Parallel()
	h := newTestHost(t)
	h.withService()
	h.write("etc/crontab", "#@ name=root\n0 0 1 1 * root echo root runs\n#@ name=named\n0 0 1 1 * net id -u >/dev/null; echo named\n")
	h.userCrontab("net", 61003, "#@ name=own\n@reboot echo own\n")
	h.userCrontab("other", 61004, "#@ name=other\n@reboot echo other\n")
	for i := range 20 { // who are not asked for one after the other: that takes longer than a start is waited for
		h.userCrontab(fmt.Sprint("far", i), 61010+i, "0 0 1 1 * true\n")
	}
	h.write("dead", "")
	h.start()
	if r, out := h.do("root"); out != "root runs\n" {
		t.Errorf("root's job: %v, printed %q", r.Outcome, out)
	}
	if err := os.Remove(h.path("dead")); err != nil {
		t.Fatal(err)
	}
	h.reload()
	if _, out := h.do("named"); out != "named\n" {
		t.Errorf("the job of a system crontab printed %q", out)
	}
	own, err := h.client.History(h.context(), api.Filter{Refs: []string{"own"}})
	if err != nil || len(own.Runs) != 1 {
		t.Fatalf("the @reboot entry of an account that came late ran %d times (%v)", len(own.Runs), err)
	}
	h.wantRun(own.Runs[0].ID, "ok", "own\n")
}

// The first answer of a daemon that starts slowly has the jobs: a list without them would look like
// a host without crontabs.
func TestHostAnswersWhenItHasItsJobs(t *testing.T) {
	t.Parallel()
	h := newTestHost(t)
	h.withService()
	h.write("etc/crontab", "#@ name=root\n0 0 1 1 * root true\n#@ name=named\n0 0 1 1 * net true\n")
	h.write("dead", "") // the first step waits for this service
	h.launch()
	for end := time.Now().Add(hostPatience); ; {
		jobs, err := h.client.List(h.context(), api.Query{})
		if err == nil {
			if len(jobs) != 2 {
				t.Errorf("the first answer has %d jobs, want 2", len(jobs))
			}
			return
		}
		if time.Now().After(end) {
			t.Fatal(err)
		}
	}
}
