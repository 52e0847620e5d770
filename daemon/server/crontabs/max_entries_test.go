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
	rejects := func(what string, uid uint32, request api.CrontabFileRequest, why string) {
		t.Helper()
		_, e := h.change(uid, request)
		if e == nil || e.Kind != api.Usage || !strings.Contains(e.What, "is not installed: it is too large") || !strings.Contains(e.Why, why) || !strings.Contains(e.Fix, "max-entries-per-user") {
			t.Errorf("%s: got %+v", what, e)
		}
	}
	const jobs = "the crontab has 1,001 jobs, and the limit of a user is 1,000"
	rejects("crontab FILE", annUID, api.CrontabFileRequest{Source: "-", Text: []byte(large), Strict: true}, jobs)
	rejects("crontab -u ann FILE of root", 0, api.CrontabFileRequest{User: "ann", Source: "-", Text: []byte(large), Strict: true}, jobs)
	rejects("cronring edit", annUID, api.CrontabFileRequest{Text: []byte(large)}, jobs)
	rejects("16 MB", annUID, api.CrontabFileRequest{Source: "-", Text: []byte(strings.Repeat(entry, 1_000_000)), Strict: true}, "bytes, and the limit of a user who may have 1000 entries is 1048576")
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
