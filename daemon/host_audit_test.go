package daemon

import (
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/cronring/cronring/daemon/api"
	"github.com/cronring/cronring/daemon/job"
)

// wantAction requests the audit log until it has an action: versions of crontabs are stored beside
// the loop.
func (h *testHost) wantAction(what, subject string, is func(job.Action) bool) {
	h.t.Helper()
	for late := time.Now().Add(hostPatience); ; {
		found, err := h.client.Actions(h.context(), api.ActionQuery{})
		if err != nil {
			h.t.Fatal(err)
		}
		if slices.ContainsFunc(found.Actions, func(a job.Action) bool {
			return a.What == what && strings.HasSuffix(a.Subject, subject) && is(a)
		}) {
			return
		}
		if time.Now().After(late) {
			h.t.Fatalf("no such %s of %q in %+v", what, subject, found.Actions)
		}
	}
}

// The audit log has what requests, files and signals changed, also while the daemon was down.
func TestHostAudit(t *testing.T) {
	t.Parallel()
	h := newTestHost(t)
	h.write("etc/cron.d/a", "#@ name=a\n0 0 1 1 * ann true\n")
	h.userCrontab("ann", annID, "#@ name=own\n0 0 1 1 * true\n")
	h.configure("max-running = 3\n")
	h.start()
	if _, err := h.client.Pause(h.context(), api.PauseRequest{Refs: []string{"a"}, Reason: "new disk"}); err != nil {
		t.Fatal(err)
	}
	h.wantAction("pause", "a", func(a job.Action) bool {
		return a.Who == "root" && a.UID != nil && *a.UID == 0 && strings.HasPrefix(a.From, "socket, process ") && a.Owner == "ann" &&
			a.Why == "new disk" && a.Before == "not paused" && a.After == "paused"
	})
	h.configure("max-running = 4\nqueue-max = 7\n")
	h.write("etc/cron.d/a", "#@ name=a\n1 0 1 1 * ann true\n")
	h.signal(syscall.SIGHUP)
	h.said("configuration read")
	h.reload() // comes after that of the signal
	h.wantAction("reload", "", func(a job.Action) bool { return a.From == "signal" && a.Who == "" })
	h.wantAction("reload", "", func(a job.Action) bool { return a.Who == "root" })
	h.wantAction("configuration", "max-running", func(a job.Action) bool {
		return a.Before == "3" && a.After == "4" && strings.HasSuffix(a.From, "cronring.toml")
	})
	h.wantAction("configuration", "queue-max", func(a job.Action) bool { return a.Before == "10000" && a.After == "7" })
	h.wantAction("edit", "cron.d/a", func(a job.Action) bool {
		return a.From == "file" && a.Who == "" && a.Owner == "root" && a.Before != a.After
	})
	h.stop()

	h.userCrontab("ann", annID, "#@ name=own\n2 0 1 1 * true\n")
	h.start()
	h.wantAction("edit", "crontabs/ann", func(a job.Action) bool { return a.From == "file" && a.Owner == "ann" })
	h.wantAction("pause", "a", func(a job.Action) bool { return a.Why == "new disk" })
	h.stop()
}
