package packaging

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/cronring/cronring/packaging/machinetest"
)

// TestOfDebiansCron runs the tests of Debian's source package of cron with our
// package installed instead.
func TestOfDebiansCron(t *testing.T) {
	t.Parallel()
	machinetest.Need(t)
	fetched := func(args ...string) string {
		t.Helper()
		dir, err := exec.Command(filepath.Join(lab, "debs.sh"), args...).Output()
		if err != nil {
			t.Fatalf("debs.sh %v: %v", args, err)
		}
		return strings.TrimSpace(string(dir))
	}
	files := map[string]string{"more": "#!/bin/sh\nexec /lab/apt.sh cron\n"}
	add := func(folder, pattern string) {
		t.Helper()
		paths := glob(t, pattern)
		if len(paths) == 0 {
			t.Fatalf("there is no %s", pattern)
		}
		for _, path := range paths {
			files[filepath.Join(folder, filepath.Base(path))] = text(t, path)
		}
	}
	add("debs", filepath.Join(fetched("bookworm", "cron", "cron-daemon-common"), "*"))
	add("source/debian/tests", filepath.Join(fetched("--source", "bookworm", "cron"), "debian/tests/*"))
	add("new", aPackage(t, "*.deb"))
	add("", filepath.Join(lab, "apt.sh"))
	add("", filepath.Join(lab, "takeover.sh"))
	machine{
		packages: machinetest.Packages + " adduser bsdextrautils exim4-daemon-light mailutils python3-minimal rsyslog",
		proof:    "debian-tests", debian: true, limit: 15 * time.Minute, files: files,
	}.run(t)
}
