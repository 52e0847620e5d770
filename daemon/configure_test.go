package daemon

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/cronring/cronring/crontab"
	"github.com/cronring/cronring/daemon/api"
	"github.com/cronring/cronring/daemon/job"
)

// configure writes cronring.toml, with the harness's settings for mail.
func (h *testHost) configure(text string) {
	h.t.Helper()
	if err := os.MkdirAll(h.path("etc/cronring/conf.d"), 0o755); err != nil {
		h.t.Fatal(err)
	}
	h.write("etc/cronring/cronring.toml", text+"[mail]\noff = true\n")
}

// wantOption checks what the daemon goes by.
func (h *testHost) wantOption(ref, key, want string) {
	h.t.Helper()
	j, err := h.client.Show(h.context(), ref)
	if err != nil {
		h.t.Fatal(err)
	}
	if got := j.Job.Options[key]; got != want {
		h.t.Errorf("%s: %s is %q, want %q", ref, key, got, want)
	}
}

func (h *testHost) problem(words string) bool {
	h.t.Helper()
	for _, p := range h.status().Problems {
		if strings.Contains(p.What+" "+p.Why, words) {
			return true
		}
	}
	return false
}

func TestHostTakesConfigurationAtReload(t *testing.T) {
	t.Parallel()
	h := newTestHost(t)
	h.write("etc/cron.d/a", "#@ name=a grace=7s\n0 0 1 1 * ann true\n")
	h.userCrontab("bob", bobID, "#@ name=b\n0 0 1 1 * true\n")
	h.configure("[default]\nretry = 2\n[job.a]\ngrace = \"9s\"\n[job.b]\ntimeout = \"1m\"\n[job.nobody]\nretry = 1\n")
	h.start()
	h.wantOption("a", "grace", "9s")
	h.wantOption("a", "retry", "2")
	if _, err := h.client.Access(h.context(), "nosuch", ""); api.KindOf(err) != api.NotFound {
		t.Errorf("Access of a user who does not exist: %v", err)
	}
	if _, err := h.client.Access(h.context(), "bob", ""); err != nil {
		t.Errorf("Access of bob: %v", err)
	}
	h.wantOption("b", "timeout", "") // the job of that name is root's: bob may call his as he likes
	notices := ""
	for _, p := range h.status().Notices {
		notices += p.What + "\n"
	}
	for _, want := range []string{"cronring.toml:7: [job.nobody] matches no entry", "cronring.toml:5: [job.b] matches no entry: the job with that name runs as bob"} {
		if !strings.Contains(notices, want) {
			t.Errorf("notices %s\nwant %q among them", notices, want)
		}
	}

	h.configure("session = \"pam\"\n[default]\nretry = 3\n[job.b]\nuser = \"bob\"\ntimeout = \"1m\"\n")
	h.signal(syscall.SIGHUP)
	h.said("configuration read")
	h.reload() // comes after that of the signal
	h.wantOption("a", "grace", "7s")
	h.wantOption("a", "retry", "3")
	h.wantOption("b", "timeout", "1m")
	if n := h.status().Notices; len(n) != 1 || !strings.HasSuffix(n[0].What, "from the next start: session") {
		t.Errorf("notices %+v, want that the session waits for a start", n)
	}

	h.configure("[default]\nretry = 4\nretri = 5\nretru = 6\n")
	_, err := h.client.Reload(h.context())
	for _, want := range []string{"not everything in the files is in force", "cronring.toml:3: unknown option", "; read configuration: ", "cronring.toml:4: unknown option"} {
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("a broken configuration: reload reports %q, want one line with %q", err, want)
		}
	}
	h.said("the configuration is not taken", "retri")
	h.wantOption("a", "retry", "3")
	if !h.problem("cronring.toml:3: unknown option \"retri\"") {
		t.Errorf("status does not say what is wrong: %+v", h.status().Problems)
	}

	// After it executes its program again, it continues with the previous valid configuration, and
	// not with a part of the new one.
	h.signal(syscall.SIGUSR2)
	h.said("msg=ready")
	h.wantOption("a", "retry", "3")
	if !h.problem("the configuration is not taken") {
		t.Errorf("status forgot what is wrong: %+v", h.status().Problems)
	}

	h.configure("[default]\nretry = 4\n")
	h.reload()
	h.wantOption("a", "retry", "4")
	h.wantOption("b", "timeout", "")
	if s := h.status(); len(s.Problems) > 0 || len(s.Notices) > 0 {
		t.Errorf("problems %+v, notices %+v; want none", s.Problems, s.Notices)
	}
	h.stop()
}

// TestHostStartsWithWhatIsRightInItsConfiguration: at a start there is no previous configuration,
// and one error must not stop all jobs of a host. But an invalid guard holds the jobs that it
// applies to.
func TestHostStartsWithWhatIsRightInItsConfiguration(t *testing.T) {
	t.Parallel()
	h := newTestHost(t)
	h.write("etc/cron.d/a", "#@ name=a\n0 0 1 1 * ann true\n#@ name=b\n0 0 1 1 * ann true\n")
	h.configure("[default]\nretry = 2\n[job.a]\noverlap = \"skpi\"\n[rink]\n")
	h.start()
	h.wantOption("b", "retry", "2")
	j, err := h.client.Show(h.context(), "a")
	if err != nil || !strings.Contains(j.Job.Held, "overlap in "+h.path("etc/cronring/cronring.toml:4")) {
		t.Errorf("got held %q, error %v; want the place of the guard", j.Job.Held, err)
	}
	if !h.problem("cronring.toml:5: unknown key rink") {
		t.Errorf("problems %+v, want the unknown key", h.status().Problems)
	}
	var codes []crontab.Code
	diagnostics, err := h.client.Diagnostics(h.context())
	for _, d := range diagnostics {
		codes = append(codes, d.Code)
	}
	if err != nil || len(codes) != 2 || codes[0] != "B404" || codes[1] != "B604" {
		t.Errorf("got diagnostics %v %v, want B404 and B604", codes, err)
	}
	h.stop()
}

// TestHostTakesBoundsAtReload has a run wait for a slot that the next version of the configuration
// adds.
func TestHostTakesBoundsAtReload(t *testing.T) {
	t.Parallel()
	h := newTestHost(t)
	gate := h.fifo("gate")
	for _, name := range []string{"a", "b"} {
		h.write("etc/cron.d/"+name, fmt.Sprintf("#@ name=%s\n0 0 1 1 * ann echo in; read line <%s\n", name, gate.Name()))
	}
	h.configure("max-running = 1\n")
	h.start()
	first := h.run("a")[0].ID
	h.printed(first, "in\n")
	runs, err := h.client.Run(h.context(), api.RunRequest{Refs: []string{"b"}})
	if err != nil || len(runs) != 1 || runs[0].Reason != job.WaitsForSlot {
		t.Fatalf("the second run is %+v (%v), want it to wait for a slot", runs, err)
	}
	second := runs[0]
	h.configure("max-running = 2\n")
	h.reload()
	h.printed(second.ID, "in\n")
	h.open(gate, 2)
	h.ended(first)
	h.ended(second.ID)
	h.stop()
}

// Only root's crontabs and those of users that ring.users lists may have jobs of the
// ring. A reload is enough to list a user.
func TestHostHoldsRingJobsOfUnlistedUsers(t *testing.T) {
	t.Parallel()
	h := newTestHost(t)
	h.write("etc/cron.d/a", "#@ name=a scope=ring\n0 0 1 1 * ann true\n")
	h.userCrontab("bob", bobID, "#@ name=b scope=ring\n0 0 1 1 * true\n")
	ring := fmt.Sprintf("[ring]\nname = \"test\"\nbind = \"127.%d.%d.%d:7946\"\n", 1+rand.N(250), 1+rand.N(250), 1+rand.N(250))
	h.configure(ring)
	h.start()
	want := func(ref, why string) {
		t.Helper()
		if j, err := h.client.Show(h.context(), ref); err != nil || j.Job.Held != "" != (why != "") || !strings.Contains(j.Job.Held, why) {
			t.Errorf("%s is held by %q, %v; want %q", ref, j.Job.Held, err, why)
		}
	}
	want("a", "")
	want("bob/b", `scope=ring is not allowed for "bob": ring.users in cronring.toml does not list this user`)
	diagnostics, err := h.client.Diagnostics(h.context())
	if err != nil || len(diagnostics) != 1 || diagnostics[0].Code != "B414" || !strings.Contains(diagnostics[0].Fix, "ring.users") {
		t.Errorf("diagnostics %+v, %v; want one that says what to do", diagnostics, err)
	}
	h.configure(ring + "users = [\"bob\"]\n")
	h.reload()
	want("bob/b", "")
	h.configure(ring)
	h.reload()
	want("bob/b", "does not list this user")
	h.stop()
}
