package shell

import (
	"context"
	"fmt"
	"slices"

	"github.com/cronring/cronring/daemon/api"
	"github.com/cronring/cronring/daemon/job"
	"github.com/cronring/cronring/tui/change"
	"github.com/cronring/cronring/tui/keys"
	"github.com/cronring/cronring/tui/screen"
)

// do does what is done to jobs and runs, the same on every screen. It reports
// whether the action was one of those.
func (s *Shell) do(a keys.Action, about screen.Subject) bool {
	front := s.front()
	if open, ok := s.screens.Opened[a]; ok {
		s.push(open(s.w, about))
		return true
	}
	switch a {
	case keys.Run:
		s.confirm(front, change.Run(s.w, about))
	case keys.Stop:
		s.confirm(front, change.Stop(s.w, about))
	case keys.Pause:
		s.pause(front, about)
	case keys.Acknowledge:
		s.confirm(front, change.Acknowledge(s.w, about))
	case keys.Delete:
		s.confirm(front, change.Remove(s.w, about))
	case keys.Retry:
		s.confirm(front, change.Retry(s.w, about))
	case keys.Backfill:
		s.backfill(about)
	case keys.Copy:
		s.over = newCopyMenu(s.w, about)
	default:
		return false
	}
	return true
}

// refusesSubject returns why an action does not apply to a subject, or "".
func (s *Shell) refusesSubject(a keys.Action, about screen.Subject) string {
	if _, isSubject := s.w.Keys.Binding(a, keys.Subject); !isSubject || a == keys.Add {
		return ""
	}
	if len(about.Jobs) == 0 && about.Run == 0 && (a != keys.Edit || about.File == "") {
		return "nothing is selected"
	}
	rows := s.w.Rows(about)
	switch a {
	case keys.Stop:
		if about.Run == 0 && !slices.ContainsFunc(rows, func(r api.Row) bool { return r.Live > 0 }) {
			return "not running"
		}
	case keys.Acknowledge:
		if !slices.ContainsFunc(rows, func(r api.Row) bool { return r.State == job.StateFailing }) {
			return "nothing has failed since it was acknowledged"
		}
	case keys.Backfill:
		if len(about.Jobs) != 1 {
			return "one job at a time"
		}
	case keys.ShowOutput, keys.PageOutput:
		if about.Run == 0 && len(rows) > 0 && rows[0].LastRun == 0 && rows[0].Live == 0 {
			return "never run"
		}
	}
	return ""
}

// reload has the daemon read all crontab files again.
func reload() screen.Do {
	return screen.Do{
		Class: screen.Undoable, Question: "read all crontab files again", Command: []string{"cronring", "reload"},
		Call: func(ctx context.Context, d screen.Daemon) (string, error) {
			diagnostics, err := d.Reload(ctx)
			return fmt.Sprintf("read all crontab files again: %d diagnostics", len(diagnostics)), err
		},
	}
}
