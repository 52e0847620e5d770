package sandbox

import (
	"errors"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"github.com/cronring/cronring/crontab"
	"github.com/cronring/cronring/crontab/option"
	"github.com/cronring/cronring/daemon/hosttest"
)

// unfit returns why an entry with these options cannot run, or "".
func unfit(t *testing.T, items string) string {
	t.Helper()
	file, diagnostics := crontab.Parse("t", "#@ "+items+"\n* * * * * true\n* * * * * plain\n", crontab.Config{Format: crontab.User, Owner: "bob"})
	if len(diagnostics) > 0 {
		t.Fatal(diagnostics)
	}
	secrets := func([]option.Credential) string { return "no memory" }
	if got := Unfit(file.Entries[1].Options(), secrets); got != "" {
		t.Fatalf("got %q, want nothing for an entry without isolation", got)
	}
	return Unfit(file.Entries[0].Options(), secrets)
}

// TestUnfitOnOldKernels: an entry is held if the kernel is too old for its sandbox, or has no
// Landlock.
func TestUnfitOnOldKernels(t *testing.T) {
	defer func(f func() (int, error)) { version = f }(version)
	for _, tt := range []struct {
		abi           int
		err           error
		basic, strict string
	}{
		{0, syscall.ENOSYS, "does not have or does not use", "does not have or does not use"},
		{0, syscall.EOPNOTSUPP, "does not have or does not use", "does not have or does not use"},
		{2, nil, "as in Linux 6.2", "as in Linux 6.12"},
		{3, nil, "", "as in Linux 6.12"},
		{5, nil, "", "as in Linux 6.12"},
		{6, nil, "", ""},
		{99, nil, "", ""},
	} {
		version = func() (int, error) { return tt.abi, tt.err }
		for items, want := range map[string]string{"sandbox=basic": tt.basic, "sandbox=strict write=/srv": tt.strict} {
			if got := unfit(t, items); (got == "") != (want == "") || !strings.Contains(got, want) {
				t.Errorf("version %d, %s: got %q, want %q", tt.abi, items, got, want)
			}
		}
	}
	version = func() (int, error) { return 0, errors.New("not asked") }
	if got := unfit(t, "credential=a:/x"); got != "Its isolation cannot be enforced: no memory." {
		t.Errorf("credential: got %q", got)
	}
	if got := unfit(t, "umask=027"); got != "" {
		t.Errorf("no sandbox: got %q", got)
	}
}

// TestUnfitNetwork runs itself again as another user, who cannot make a network.
func TestUnfitNetwork(t *testing.T) {
	if os.Getenv("SANDBOX_TEST_USER") != "" {
		if got := unfit(t, "network=no"); !strings.Contains(got, "network=no requires a daemon that can make network namespaces, as root") {
			t.Errorf("got %q", got)
		}
		return
	}
	hosttest.Root(t, "only root can become another user")
	before := networkOf(t)
	if got := unfit(t, "network=no"); got != "" {
		t.Errorf("root: got %q", got)
	}
	if got := networkOf(t); got != before {
		t.Errorf("the test left its network %s for %s", before, got)
	}
	cmd := exec.Command("/proc/self/exe", "-test.run=^TestUnfitNetwork$")
	cmd.Env = append(os.Environ(), "SANDBOX_TEST_USER=1")
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v: %s", err, out)
	}
}

func networkOf(t *testing.T) string {
	t.Helper()
	link, err := os.Readlink("/proc/thread-self/ns/net")
	if err != nil {
		t.Fatal(err)
	}
	return link
}

// TestHomeMustBeTheUsers: the home directory of a system user is often one of the system.
func TestHomeMustBeTheUsers(t *testing.T) {
	home := t.TempDir()
	own := uint32(os.Geteuid())
	for _, tt := range []struct {
		home string
		uid  uint32
		want bool
	}{
		{home, own, true}, {home, own + 1, false}, {"/", own, false}, {"/proc/self/root", own, false}, {"/..", own, false},
		{"/nonexistent", own, false}, {"", own, false}, {"/etc/passwd", own, false}, {".", own, false},
	} {
		p := Plan{Level: option.SandboxBasic, Home: tt.home}
		if got := len(p.Writable(tt.uid)) > len(temporary); got != tt.want {
			t.Errorf("%q of user %d: got %v, want %v", tt.home, tt.uid, got, tt.want)
		}
	}
}
