package packaging

import (
	"context"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/cronring/cronring/packaging/machinetest"
)

// TestPiupartsFindsNothing has piuparts install, remove and purge the package in a
// root without a cron: what is there afterwards has to be what was there before.
func TestPiupartsFindsNothing(t *testing.T) {
	t.Parallel()
	machinetest.Need(t)
	if _, err := exec.LookPath("piuparts"); err != nil {
		t.Skip("SKIPPED, NOT TESTED: piuparts is not installed, so the package is not checked with it")
	}
	ctx, cancel := context.WithTimeout(t.Context(), 15*time.Minute)
	defer cancel()
	check := exec.CommandContext(ctx, "sh", "-euc", `
		cp -a "$("$1/boot-systemd.sh" root --pkgs "$2")" "$3"
		chroot "$3" dpkg --purge cron
		exec piuparts -d bookworm -m 'http://deb.debian.org/debian main' --existing-chroot="$3" --no-eatmydata "$4"`,
		"piuparts", lab, machinetest.Packages, filepath.Join(t.TempDir(), "root"), aPackage(t, "*.deb"))
	check.WaitDelay = time.Minute
	said, err := check.CombinedOutput()
	if err != nil || !strings.Contains(string(said), "PASS: All tests.") {
		t.Errorf("%v\n%s", err, said)
	}
}
