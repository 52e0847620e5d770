package inventory_test

import (
	"path/filepath"
	"syscall"
	"testing"

	"github.com/cronring/cronring/cmd/cronring/inventory/inventorytest"
	"github.com/cronring/cronring/crontab"
)

func TestMachineReadsWithinItsRoot(t *testing.T) {
	root := inventorytest.Plant(t, inventorytest.Files{
		"/etc/outside": "-> /etc/passwd", "/etc/above": "-> ../../../../../../../../etc/passwd",
		"/etc/inside": "-> /usr/lib/there", "/usr/lib/there": "text",
	})
	if err := syscall.Mkfifo(filepath.Join(root, "fifo"), 0o600); err != nil {
		t.Fatal(err)
	}
	m := inventorytest.Machine(t, root, crontab.Debian, "UTC")
	for name, want := range map[string]string{"/etc/outside": "", "/etc/above": "", "/etc/inside": "text", "/fifo": ""} {
		if got, err := m.Read(name); got != want || (err == nil) != (want != "" || name == "/fifo") {
			t.Errorf("%s: got %q, %v; want %q", name, got, err, want)
		}
	}
}
