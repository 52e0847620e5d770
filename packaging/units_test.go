package packaging

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/cronring/cronring/daemon/filetest"
	"github.com/cronring/cronring/packaging/machinetest"
)

func TestUnitsInstalled(t *testing.T) {
	t.Parallel()
	machinetest.Need(t)
	machine{packages: machinetest.Packages, proof: "units", args: []string{"run"}}.run(t)
}

// Debian 12 has systemd 252, Debian 13 has 257.
func TestUnitsOnNewerSystemd(t *testing.T) {
	needLong(t, "a root of another release takes its time: CRONRING_LONG=1")
	machinetest.Need(t)
	machine{suite: "trixie", packages: machinetest.Packages, proof: "units", args: []string{"run"}}.run(t)
}

func TestInstallAndUninstall(t *testing.T) {
	dest := t.TempDir()
	files := func() []string {
		var all []string
		err := filepath.WalkDir(dest, func(path string, d os.DirEntry, err error) error {
			if err == nil && !d.IsDir() {
				all = append(all, strings.TrimPrefix(path, dest))
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		return all
	}
	for _, target := range []string{"install", "uninstall"} {
		make := exec.Command("make", "-s", "-C", "..", target, "BIN="+binaries(t), "DESTDIR="+dest, "PREFIX=/opt/ring", "FAMILY=rhel")
		if said, err := make.CombinedOutput(); err != nil {
			t.Fatalf("make %s: %v\n%s", target, err, said)
		}
		got := strings.Join(files(), " ")
		if target == "uninstall" {
			if want := "/etc/cronring/cronring.toml"; got != want {
				t.Errorf("after uninstall: got %s, want the settings alone: %s", got, want)
			}
			continue
		}
		for _, want := range []string{
			"/opt/ring/sbin/cronringd", "/opt/ring/bin/cronring", "/opt/ring/bin/crontab", "/etc/pam.d/cronring",
			"/opt/ring/lib/systemd/system/cronring.service", "/opt/ring/lib/systemd/system/cronring.socket",
			"/opt/ring/share/man/man8/cronringd.8", "/opt/ring/share/man/man7/cronring-options.7", "/opt/ring/share/man/man1/cronring-list.1", "/etc/cronring/cronring.toml",
		} {
			if !strings.Contains(got+" ", want+" ") {
				t.Errorf("make install: no %s among %s", want, got)
			}
		}
		unit, err := os.ReadFile(filepath.Join(dest, "opt/ring/lib/systemd/system/cronring.service"))
		if err != nil || !strings.Contains(string(unit), "\nExecStart=/opt/ring/sbin/cronringd ") {
			t.Errorf("the unit does not start the daemon of its PREFIX (%v):\n%s", err, unit)
		}
	}
}

// The sample contains the defaults, so without its comment signs it is valid and changes nothing.
func TestSampleConfiguration(t *testing.T) {
	sample, err := os.ReadFile("cronring.toml")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	filetest.Write(t, filepath.Join(dir, "cronring.toml"), regexp.MustCompile(`(?m)^#(\[[a-z.]+\]$|[a-z-]+ = )`).ReplaceAllString(string(sample), "$1"), 0o755)
	check := exec.Command(filepath.Join(binaries(t), "cronringd"), "--check-config", "--config", dir)
	if said, err := check.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, said)
	}
}
