// Package machine owns how tests boot a machine with systemd.
package machine

import (
	"cmp"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
)

// Packages are in the root of all machines that need no others: the fewer sets
// of them, the fewer roots are made.
const Packages = "cron busybox-static"

// Tests boots a machine, from a package two folders below the module's, and runs the calling test binary's own tests named
// TestIn there, each of which must pass. In the machine the environment variable
// inside is set. They run in a process that is not a service of the machine, so
// that they can control systemd. LAB_SUITE selects a release of Debian, by default
// bookworm. If no machine can be booted, the test is skipped with a message.
func Tests(t *testing.T, inside string) {
	if testing.Short() {
		t.Skip("SKIPPED, NOT TESTED: boots a machine, which -short leaves out")
	}
	if os.Geteuid() != 0 {
		t.Skip("SKIPPED, NOT TESTED: only root can boot a machine")
	}
	for _, tool := range []string{"mmdebstrap", "unshare", "nsenter", "bash"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skipf("SKIPPED, NOT TESTED: booting a machine needs %s", tool)
		}
	}
	names, err := exec.Command("/proc/self/exe", "-test.list", "^TestIn").Output()
	if err != nil {
		t.Fatal(err)
	}
	binary := filepath.Join(t.TempDir(), "lab.test")
	if err := copyProgram(binary); err != nil {
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
			/lab/lab.test -test.v -test.timeout 5m -test.run '^TestIn' &
		wait $!`, "bash", "../../testdata/lab/boot-systemd.sh", binary,
		cmp.Or(os.Getenv("LAB_SUITE"), "bookworm"), inside, Packages)
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGTERM}
	out, err := cmd.CombinedOutput()
	return string(out), err
}

func copyProgram(to string) error {
	from, err := os.Open("/proc/self/exe")
	if err != nil {
		return err
	}
	defer from.Close()
	f, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o755)
	if err != nil {
		return err
	}
	if _, err := io.Copy(f, from); err != nil {
		f.Close()
		return err
	}
	return f.Close()
}
