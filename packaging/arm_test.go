package packaging

import (
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/cronring/cronring/daemon/filetest"
)

// TestPackagesForARM makes the packages for ARM and runs their programs in an
// emulator of the processor: a crontab is checked, the daemon decides and records
// occurrences, loads an edit and stops, and commands answer. No job runs: the
// emulator refuses clone(2) with CLONE_PARENT and does not emulate the programs that
// an emulated one executes, and the starter needs both. Each start is reported to
// fail. What becomes a job's process is tested on the host's processor only.
func TestPackagesForARM(t *testing.T) {
	needLong(t, "compiling for two other processors takes minutes: CRONRING_LONG=1")
	dist := t.TempDir()
	command(t, nil, "make", "-s", "packages", "ARCHES=arm64 arm", "FORMATS=deb", "DIST="+dist, "BIN="+dist, "SELF="+filepath.Join(binaries(t), "cronring"))
	for _, c := range []struct{ debian, go_, emulator string }{
		{"arm64", "arm64", "qemu-aarch64-static"},
		{"armhf", "arm", "qemu-arm-static"},
	} {
		t.Run(c.debian, func(t *testing.T) {
			need(t, c.emulator, "dpkg-deb")
			found := glob(t, filepath.Join(dist, "*_"+c.debian+".deb"))
			if len(found) != 1 {
				t.Fatalf("packages: %q, want one", found)
			}
			if got := strings.TrimSpace(command(t, nil, "dpkg-deb", "-f", found[0], "Architecture")); got != c.debian {
				t.Errorf("the package is for %s, want %s", got, c.debian)
			}
			tree := t.TempDir()
			command(t, nil, "dpkg-deb", "-x", found[0], tree)
			crontab := filepath.Join(tree, "crontab")
			filetest.Write(t, crontab, "#@ name=tick\n@reboot echo ticked\n#@ name=daily\n0 5 * * * true\n", 0o755)
			smoke := exec.Command("sh", "-euc", `
				emulator=$1 tree=$2
				cronring() { "$emulator" "$tree/usr/bin/cronring" "$@"; }
				cronring --version
				cronring lint "$tree/crontab"
				"$emulator" "$tree/usr/sbin/cronringd" --state "$tree/state" "$tree/crontab" >"$tree/said" 2>&1 &
				daemon=$!
				trap 'kill $daemon; cat "$tree/said"' EXIT
				export CRONRING_SOCKET="$tree/state/cronring.sock"
				for try in $(seq 60); do
					! cronring history tick 2>&1 | grep tick || break
					sleep 0.5 # a poll: the shell has no event for it
				done
				cronring status
				cronring next -n 1 -o json
				echo "0 0 1 1 * true" >>"$tree/crontab"
				cronring reload
				cronring list
				kill $daemon
				timeout 90 tail --pid=$daemon -f /dev/null || { kill -9 $daemon; echo "the emulator hangs"; }
				wait $daemon || true
				trap 'cat "$tree/said"' EXIT`, "smoke", c.emulator, tree)
			said, err := smoke.CombinedOutput()
			for _, want := range []string{"linux/" + c.go_, "0 errors, 0 warnings", "tick[1] sys: starting", "jobs=2", `"daily"`, "0 0 1 1 *", `msg="stopping`} {
				if !strings.Contains(string(said), want) {
					t.Errorf("%q is missing", want)
				}
			}
			if err != nil || t.Failed() {
				t.Errorf("%v on %s\n%s", err, runtime.GOARCH, said)
			}
		})
	}
}
