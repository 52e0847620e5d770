package crontabs

import (
	"strings"
	"testing"

	"github.com/cronring/cronring/daemon/api"
	"github.com/cronring/cronring/daemon/spool"
)

// TestCrontabBeyondTheLimitIsRejected installs crontabs with more entries than
// a user may have in each way that the server offers.
func TestCrontabBeyondTheLimitIsRejected(t *testing.T) {
	h := newHost(t)
	limit := 1000
	h.crontabs.MaxEntries = func() int { return limit }
	const entry = "0 5 * * * true\n"
	large := strings.Repeat(entry, 1001)
	good, e := h.install(annUID, "", strings.Repeat(entry, 1000))
	if e != nil || good.Entries != 1000 {
		t.Fatalf("a crontab at the limit: %+v, %v", good, e)
	}
	rejects := func(what string, uid uint32, path string, request any, why string) {
		t.Helper()
		_, e := h.post(uid, path, request)
		if e == nil || e.Kind != api.Usage || !strings.Contains(e.What, "is not installed: it is too large") || !strings.Contains(e.Why, why) || !strings.Contains(e.Fix, "max-entries-per-user") {
			t.Errorf("%s: got %+v", what, e)
		}
	}
	const jobs = "the crontab has 1,001 jobs, and the limit of a user is 1,000"
	rejects("crontab FILE", annUID, "/v1/crontab/install", api.InstallRequest{File: "-", Text: []byte(large)}, jobs)
	rejects("crontab -u ann FILE of root", 0, "/v1/crontab/install", api.InstallRequest{User: "ann", File: "-", Text: []byte(large)}, jobs)
	rejects("cronring edit", annUID, "/v1/file/install", api.CrontabFileRequest{Text: []byte(large)}, jobs)
	rejects("16 MB", annUID, "/v1/crontab/install", api.InstallRequest{File: "-", Text: []byte(strings.Repeat(entry, 1_000_000))}, "bytes, and the limit of a user who may have 1000 entries is 1048576")
	if got := h.crontab(annUID, ""); strings.Count(string(got.Text), entry) != 1000 {
		t.Errorf("the crontab now has %d entries", strings.Count(string(got.Text), entry))
	}
	if _, e := h.install(0, "", large); e != nil {
		t.Errorf("root's own crontab: %v", e)
	}

	// What was there before the limit stays, is shown, and may shrink, but not
	// come back.
	who, _ := users.Find(t.Context(), "ann")
	if err := spool.Install(h.places, who, large); err != nil {
		t.Fatal(err)
	}
	if _, e := h.install(annUID, "", entry); e != nil {
		t.Errorf("a smaller crontab: %v", e)
	}
	_, e = h.post(annUID, "/v1/undo", api.UndoRequest{})
	if e == nil || !strings.Contains(e.Why, jobs) {
		t.Errorf("undo: got %+v", e)
	}
}
