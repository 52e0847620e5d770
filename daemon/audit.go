package daemon

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/cronring/cronring/daemon/config"
	"github.com/cronring/cronring/daemon/job"
	"github.com/cronring/cronring/daemon/journal"
	"github.com/cronring/cronring/daemon/spool"
	"github.com/cronring/cronring/daemon/store/audit"
)

// auditTime bounds how long a request waits until the audit log has its actions.
const auditTime = 10 * time.Second

// Audit stores actions in the audit log. If the disk takes none, the log of the daemon has them.
func (d *shared) Audit(ctx context.Context, actions []job.Action) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), auditTime)
	defer cancel()
	err := d.history.Record(ctx, d.config.current().AuditRows, actions...)
	if err == nil {
		return
	}
	for _, a := range actions {
		d.log.Warn("an action is not in the audit log", "error", err, journal.UserKey, a.Who, "from", a.From, "what", a.What, "subject", a.Subject)
	}
}

// auditSignal notes that a signal made the daemon read its files again.
func (d *shared) auditSignal(ctx context.Context) {
	d.Audit(ctx, []job.Action{{At: d.clock.Now().Wall, From: "signal", What: "reload"}})
}

// mostChanges limits the changed keys that one reading of the configuration notes.
const mostChanges = 1000

// auditConfiguration notes the keys of the configuration that have another value than before.
func (d *shared) auditConfiguration(ctx context.Context, before, after []config.Row) {
	was := map[string]config.Row{}
	for _, r := range before {
		was[r.Key] = r
	}
	var changed []job.Action
	note := func(old, now config.Row) {
		file := now.At.File
		if file == "" {
			file = old.At.File
		}
		changed = append(changed, job.Action{
			At: d.clock.Now().Wall, From: strings.TrimSpace("file " + file), What: "configuration", Subject: now.Key, Before: old.Value, After: now.Value,
		})
	}
	for _, r := range after {
		if old := was[r.Key]; old.Value != r.Value {
			note(old, r)
		}
		delete(was, r.Key)
	}
	for _, r := range before {
		if old, gone := was[r.Key]; gone {
			note(old, config.Row{Key: r.Key})
		}
	}
	if more := len(changed) - mostChanges; more > 0 {
		changed = append(changed[:mostChanges], job.Action{
			At: d.clock.Now().Wall, From: "file", What: "configuration", After: fmt.Sprintf("%d more keys changed", more),
		})
	}
	if len(changed) > 0 {
		d.Audit(ctx, slices.Clip(changed))
	}
}

// auditFile notes that a program other than the daemon changed a crontab.
func (d *shared) auditFile(ctx context.Context, c spool.Change, user string, before, after int64) {
	a := job.Action{
		At: d.clock.Now().Wall, From: "file", What: "edit", Subject: c.Path, Owner: user,
		Before: fmt.Sprint("revision ", before), After: fmt.Sprint("revision ", after),
	}
	if c.Kind == spool.Gone {
		a.What = "remove"
	}
	if user != "root" {
		a.Share = audit.Share(c.UID)
	}
	d.Audit(ctx, []job.Action{a})
}
