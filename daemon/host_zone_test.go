package daemon

import (
	"errors"
	"os"
	"testing"

	"github.com/cronring/cronring/daemon/hosttest"
)

func TestHostSaysThatItsZoneIsAnother(t *testing.T) {
	t.Parallel()
	const zones = "/usr/share/zoneinfo/"
	if _, err := os.Stat(zones + "Asia/Tokyo"); err != nil {
		hosttest.Missing(t, "there are no zones in %v", zones)
	}
	h := newTestHost(t)
	link := func(zone string) {
		t.Helper()
		err := errors.Join(os.Symlink(zones+zone, h.path("etc/new")), os.Rename(h.path("etc/new"), h.path("etc/localtime")))
		if err != nil {
			t.Fatal(err)
		}
	}
	link("Europe/Berlin")
	h.start()
	h.reload()
	link("Asia/Tokyo")
	h.reload()
	h.reload()
	h.said("time zone is another", "zone=Asia/Tokyo", "before=Europe/Berlin")
	if n := h.count("time zone is another"); n != 1 {
		t.Errorf("it was said %d times", n)
	}
}
