package crontabs

import (
	"cmp"
	"context"
	"errors"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/cronring/cronring/crontab"
	"github.com/cronring/cronring/daemon/api"
	"github.com/cronring/cronring/daemon/job"
	"github.com/cronring/cronring/daemon/server/call"
)

// Reload reads all crontab files again.
func (ed *Editor) Reload(ctx context.Context, c *call.Call) error {
	c.Patient()
	c.Did(job.Action{What: "reload"})
	diagnostics, err := ed.loader.Reload(ctx)
	if err != nil {
		return err
	}
	return c.Answer(api.Diagnostics{V: api.Version, Diagnostics: api.NewDiagnostics(diagnostics)})
}

// awaitReload waits until the daemon has read the crontabs again, and adds to the answer what prevents
// it from reading the changed one.
func (ed *Editor) awaitReload(ctx context.Context, c *call.Call, answer *api.Installed) {
	err := ed.reloads.after(func() error {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), reloadTimeout)
		defer cancel()
		_, err := ed.loader.Reload(ctx)
		if _, refused := errors.AsType[*api.Error](err); refused { // all was read; other files are not the caller's business now
			return nil
		}
		return err
	})
	if err != nil && c.Peer.Admin {
		answer.Notice = join(answer.Notice, "the daemon reported while it read its crontabs: "+err.Error())
	}
	for _, refused := range ed.loader.Refused() {
		if refused.Path == answer.File {
			answer.Notice = join(answer.Notice, "the daemon does not read it: "+cmp.Or(refused.Why, refused.Word))
		}
	}
}

func join(a, b string) string { return strings.TrimPrefix(a+"; "+b, "; ") }

// sharedReload lets callers that wait for a reload share one. Otherwise a caller that installs
// crontabs in a loop would make the daemon read all crontabs each time.
type sharedReload struct {
	mu      sync.Mutex
	done    uint64 // the newest change that a reload has covered
	changes atomic.Uint64
}

// after returns when a reload that began after the call has ended.
func (s *sharedReload) after(reload func() error) error {
	mine := s.changes.Add(1)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.done >= mine {
		return nil
	}
	covered := s.changes.Load()
	if err := reload(); err != nil {
		return err
	}
	s.done = covered
	return nil
}

// Diagnostics answers with the diagnostics on all loaded crontabs.
func (ed *Editor) Diagnostics(_ context.Context, c *call.Call) error {
	return c.Answer(api.Diagnostics{V: api.Version, Diagnostics: api.NewDiagnostics(ed.loader.Diagnostics())})
}

// CountFor returns the numbers of errors and warnings that a user sees in the status: an admin those
// in all crontabs, other users those in their own.
func (ed *Editor) CountFor(p call.Peer) (errors, warnings int) {
	file := ""
	if !p.Admin {
		if file = ed.Own(p); file == "" {
			return 0, 0
		}
	}
	return countIn(ed.loader.Diagnostics(), file)
}

// Count returns the numbers of errors and warnings.
func Count(diagnostics []crontab.Diagnostic) (errors, warnings int) { return countIn(diagnostics, "") }

// countIn is Count for a file, or for all files if file is empty.
func countIn(diagnostics []crontab.Diagnostic, file string) (errors, warnings int) {
	for _, d := range diagnostics {
		switch {
		case file != "" && d.File != file:
		case d.Severity == crontab.Error:
			errors++
		case d.Severity == crontab.Warning:
			warnings++
		}
	}
	return errors, warnings
}

// On returns the diagnostics on the line of an entry.
func On(e *crontab.Entry, all []crontab.Diagnostic) []crontab.Diagnostic {
	var diagnostics []crontab.Diagnostic
	for _, d := range all {
		if d.File == e.File().Name && d.Line == e.Line() {
			diagnostics = append(diagnostics, d)
		}
	}
	return diagnostics
}
