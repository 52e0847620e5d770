package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/cronring/cronring/daemon/hosttest"
)

// TestHostScript runs the commands of the manual pages, and the scripts of
// testdata/script that need a host of their own: both programs as they are shipped,
// and the daemon as root's.
func TestHostScript(t *testing.T) {
	hosttest.Root(t, "only root can make a host")
	probe := exec.Command("unshare", "-m", "--propagation", "private", "sh", "-ec", `
		mount -t tmpfs tmpfs /run; mkdir /run/u /run/w
		mount -t overlay overlay -o lowerdir=/etc,upperdir=/run/u,workdir=/run/w /etc
		mount -t tmpfs tmpfs /var/spool; mount -t tmpfs tmpfs /var/lib`)
	if out, err := probe.CombinedOutput(); err != nil {
		hosttest.Missing(t, "no mount name space can be made here: %v: %s", err, out)
	}
	bin := hosttest.Programs(t)
	t.Run("manual", func(t *testing.T) { tryManual(t, bin) })
	scripts, err := filepath.Glob("../../testdata/script/host_*.txtar")
	if err != nil || len(scripts) == 0 {
		t.Fatalf("no scripts: %v", err)
	}
	testscript.Run(t, testscript.Params{
		Files:         scripts,
		UpdateScripts: os.Getenv("UPDATE_SCRIPTS") != "",
		Setup: func(e *testscript.Env) error {
			e.Setenv("PATH", bin+string(os.PathListSeparator)+e.Getenv("PATH"))
			e.Vars = append(e.Vars, "TZ=UTC", "NO_COLOR=", "LANG=C.UTF-8")
			return nil
		},
	})
}
