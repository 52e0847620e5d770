// Package machinetest owns booted machines with systemd for tests.
package machinetest

import (
	"cmp"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"github.com/cronring/cronring/daemon/hosttest"
)

// Packages are the Debian packages of all machines that need no others. If most machines have
// the same packages, few roots must be made.
const Packages = "cron busybox-static"

// Need skips a test with a message if it cannot boot a machine.
func Need(t testing.TB, programs ...string) {
	t.Helper()
	if testing.Short() {
		t.Skip("SKIPPED, NOT TESTED: -short excludes tests that boot a machine")
	}
	hosttest.Root(t, "only root can boot a machine")
	for _, name := range append(programs, "mmdebstrap", "unshare", "nsenter", "bash") {
		if _, err := exec.LookPath(name); err != nil {
			hosttest.Missing(t, "booting a machine needs %s", name)
		}
	}
}

// tests matches the names of the tests that run in a machine, and no other words such as TestInstall.
const tests = "^TestIn[A-Z]"

// RunTests boots a machine and runs there the tests of the calling test binary whose names begin
// with TestIn and another capital letter. Each must pass. The caller's package must be two
// directories below the module's. In the machine the environment variable inside is set. The tests
// run in a process that is not a service of the machine, so that they can control systemd.
// LAB_SUITE selects a release of Debian, by default bookworm.
func RunTests(t *testing.T, inside string) {
	t.Helper()
	Need(t)
	names, err := exec.Command("/proc/self/exe", "-test.list", tests).Output()
	if err != nil {
		t.Fatal(err)
	}
	binary := filepath.Join(t.TempDir(), "lab.test")
	if err := hosttest.CopyProgram("/proc/self/exe", binary); err != nil {
		t.Fatal(err)
	}
	out, err := inMachine(binary, inside)
	t.Logf("in the machine:\n%s", out)
	if err != nil {
		t.Errorf("the machine: %v", err)
	}
	for name := range strings.FieldsSeq(string(names)) {
		if !strings.Contains(out, "--- PASS: "+name+" ") {
			t.Errorf("%s did not pass in the machine", name)
		}
	}
}

func inMachine(binary, inside string) (string, error) {
	runtime.LockOSThread() // the death of the thread would be taken for ours
	defer runtime.UnlockOSThread()
	cmd := exec.Command("bash", "-euc", `
		machine=$("$1" boot --suite "$3" --pkgs "$5" --copy "$2:/lab/lab.test")
		trap '"$1" stop "$machine"' EXIT
		trap 'exit 1' TERM
		nsenter --target "$(cat "$machine/leader.pid")" --all --root --wd -- \
			env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin "$4=1" \
			/lab/lab.test -test.v -test.timeout 8m -test.run "$6" &
		wait $!`, "bash", "../../testdata/lab/boot-systemd.sh", binary,
		cmp.Or(os.Getenv("LAB_SUITE"), "bookworm"), inside, Packages, tests)
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGTERM}
	out, err := cmd.CombinedOutput()
	return string(out), err
}
