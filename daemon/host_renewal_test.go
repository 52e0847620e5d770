package daemon

import (
	"fmt"
	"os"
	"testing"

	"github.com/cronring/cronring/daemon/api"
)

// If a crontab is missing for a moment while the daemon executes its new program, the daemon
// continues with the crontab's jobs and reads it when it exists again.
func TestRenewalAwaitsACrontabThatCannotBeRead(t *testing.T) {
	t.Parallel()
	h := newTestHost(t)
	gate := h.fifo("gate")
	h.Files = []string{h.path("tab")}
	h.write("tab", fmt.Sprintf("#@ name=long\n@reboot echo up; read x <%s\n", gate.Name()))
	h.start()
	before := h.runsOf("long")
	if n := len(before); n != 1 {
		t.Fatalf("%d runs, want 1", n)
	}
	h.printed(before[0].ID, "up")
	if err := os.Rename(h.path("tab"), h.path("aside")); err != nil {
		t.Fatal(err)
	}
	h.renew()
	if err := os.Rename(h.path("aside"), h.path("tab")); err != nil {
		t.Fatal(err)
	}
	h.said("crontabs read", "count=1")
	h.open(gate, 1)
	if runs := h.runsOf("long"); len(runs) != 1 {
		t.Errorf("runs %+v; want the one that goes on", runs)
	} else {
		h.wantRun(runs[0].ID, "ok", "up\n")
	}
	if jobs, err := h.client.List(h.context(), api.Query{}); err != nil || len(jobs) != 1 {
		t.Errorf("jobs %+v, error %v; want the one of the crontab", jobs, err)
	}
}
