package simulated

import (
	"slices"
	"time"

	"github.com/cronring/cronring/crontab"
	"github.com/cronring/cronring/daemon/engine"
	"github.com/cronring/cronring/daemon/engine/event"
)

// Reread replaces all crontabs at a time, in a new engine. So nothing that was due before is decided.
func (w *World) Reread(now time.Time, diagnostics []crontab.Diagnostic, all ...*crontab.File) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.engine, w.now, w.diagnostics = engine.New(engine.State{}), now, diagnostics
	w.stepLocked(event.Load{Crontabs: all})
}

// Forget removes the oldest facts, and keeps n.
func (w *World) Forget(n int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if extra := len(w.records) - n; extra > 0 {
		w.records, w.runsOf = slices.Delete(slices.Clone(w.records), 0, extra), -1
	}
}
