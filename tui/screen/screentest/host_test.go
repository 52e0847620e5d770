package screentest

import (
	"testing"

	"github.com/cronring/cronring/daemon/job"
)

// A host in no ring answers requests about the ring, and has ring jobs.
func TestHostInNoRing(t *testing.T) {
	w := NewHost("2026-11-20T17:00:00Z")
	w.LoadCrontabs(nil, Crontab("/etc/cron.d/a", "", "#@ name=held scope=ring\n0 0 * * * root true\n"))
	c := Serve(t, w)
	if ring, err := c.Ring(t.Context()); err != nil || ring.Name != "" {
		t.Errorf("ring: got %+v, %v", ring, err)
	}
	all, err := readBoard(t.Context(), c)
	if err != nil || len(all.Rows) != 1 || all.Rows[0].State != job.StateHeld {
		t.Errorf("board: got %+v, %v, want a job that is held", all.Rows, err)
	}
}
