package daemon

import (
	"errors"
	"testing"

	"github.com/cronring/cronring/daemon/spool"
)

func TestStampIsLockedAcrossDaemons(t *testing.T) {
	t.Parallel()
	h := newTestHost(t)
	gate := h.fifo("gate")
	h.write("var/spool/anacron/upkeep", today())
	h.write("etc/anacrontab", "2 0 upkeep echo begun; read x <"+gate.Name()+"\n")
	h.withManager()
	h.start()
	r := h.run("upkeep")[0]
	h.printed(r.ID, "begun\n")
	locked := func(when string) {
		t.Helper()
		lock, err := spool.LockStamp(h.path("var/spool/anacron"), "upkeep")
		if err == nil {
			lock.Close()
		}
		if !errors.Is(err, spool.ErrStampLocked) {
			t.Errorf("%s: got %v, want the stamp to be locked", when, err)
		}
	}
	locked("while it runs")
	h.renew()
	locked("after the program was executed anew")
	h.stop()
	h.start()
	locked("after a restart")
	h.open(gate, 1)
	h.wantRun(r.ID, "ok", "begun\n")
	h.stop() // what is done aside is done then
	lock, err := spool.LockStamp(h.path("var/spool/anacron"), "upkeep")
	if err != nil {
		t.Fatalf("after its end: %v", err)
	}
	defer lock.Close()
	if _, ok := spool.ReadStamps(h.path("var/spool/anacron"))["upkeep"]; !ok {
		t.Error("it left no stamp")
	}
}
