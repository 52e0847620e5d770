package cronview

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/cronring/cronring/crontab"
	"github.com/cronring/cronring/daemon/api"
	"github.com/cronring/cronring/daemon/othercron"
	"github.com/cronring/cronring/daemon/spool"
)

// How often crontabs and the log are read.
const (
	crontabsEvery = 10 * time.Second
	startsEvery   = time.Minute
)

// live reads crontabs and the log of cron until ctx ends or a daemon runs.
func (h *host) live(ctx context.Context) {
	crontabs, starts := time.NewTicker(crontabsEvery), time.NewTicker(startsEvery)
	defer crontabs.Stop()
	defer starts.Stop()
	h.readStarts(ctx, time.Now())
	for {
		select {
		case <-ctx.Done():
			return
		case <-h.Subscribed:
		case done := <-h.reload:
			h.read(ctx)
			close(done)
		case <-crontabs.C:
			if h.daemon(ctx) == nil {
				return
			}
			h.read(ctx)
		case now := <-starts.C:
			h.readStarts(ctx, now)
		}
	}
}

// read reads the crontabs, and loads them if they changed.
func (h *host) read(ctx context.Context) {
	scan := h.source.Scan(ctx)
	scan.Crontabs = slices.DeleteFunc(slices.Clone(scan.Crontabs), func(f *crontab.File) bool {
		return f.Format == crontab.Anacron // cron does not run it
	})
	changed := scan.Changed
	if !h.spool.Root {
		changed = h.readOwn(ctx, &scan) || changed
	}
	h.describe(scan.Refused)
	if !changed && len(h.Facts()) > 0 {
		return
	}
	h.Reread(time.Now().UTC(), scan.Diagnostics, scan.Crontabs...)
	h.matched.index(h.View())
}

// readOwn adds the crontab of a user who may not read the spool, and reports whether it changed.
func (h *host) readOwn(ctx context.Context, scan *spool.Snapshot) (changed bool) {
	path, err := h.paths.UserCrontab(h.spool.Account)
	if err != nil || slices.ContainsFunc(scan.Crontabs, func(f *crontab.File) bool { return f.Name == path }) {
		return false
	}
	text, changed, err := h.users.ownCrontab(ctx)
	if err != nil {
		if !errors.Is(err, fs.ErrNotExist) {
			scan.Refused = append(scan.Refused, spool.Refusal{Path: path, Word: "CAN'T OPEN", Why: err.Error()})
		}
		return changed
	}
	o := spool.SourceOptions{Host: h.spool, Paths: h.paths}
	file, diagnostics := crontab.Parse(path, text, o.Config(path, false))
	scan.Crontabs = append(scan.Crontabs, file)
	scan.Diagnostics = append(scan.Diagnostics, diagnostics...)
	return changed
}

// readable returns the refusals without those of files that only root may read, and whether there are
// such files.
func readable(all []spool.Refusal, root bool) (kept []spool.Refusal, hidden bool) {
	kept = slices.DeleteFunc(slices.Clone(all), func(r spool.Refusal) bool {
		return !root && (r.Code == spool.CodeDirectory || r.Code == spool.CodeOpen)
	})
	return kept, len(kept) < len(all)
}

// describe sets the refused crontabs and the health.
func (h *host) describe(refused []spool.Refusal) {
	h.mu.Lock()
	defer h.mu.Unlock()
	var hidden bool
	h.refusals, hidden = readable(refused, h.spool.Root)
	h.health.NoDaemon = "no daemon: from the crontabs; no cron found. Start: systemctl start cronring"
	if cron := h.runner(); cron != "" {
		h.health.NoDaemon = "no daemon: from the crontabs; " + cron + " runs them. Take over: cronring import"
	}
	h.health.Notices = nil
	if hidden {
		h.health.Notices = []api.Problem{{What: "the crontabs of other users cannot be read", Why: "only root may read them", Fix: "sudo cronring"}}
	}
}

// runner returns the program of the cron that runs the jobs, or "".
func (h *host) runner() string {
	pid, _ := os.ReadFile(filepath.Join(h.root, othercron.PIDFile))
	name, _ := os.ReadFile(filepath.Join(h.root, "/proc", filepath.Base(strings.TrimSpace(string(pid))), "comm"))
	if program := strings.TrimSpace(string(name)); program == "cron" || program == "crond" { // and not a later process
		return program
	}
	return ""
}
