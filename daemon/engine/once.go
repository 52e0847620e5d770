package engine

import (
	"fmt"
	"time"

	"github.com/cronring/cronring/crontab/option"
	"github.com/cronring/cronring/daemon/engine/live"
	"github.com/cronring/cronring/daemon/job"
)

// An entry with once-per= has at most one success in a period: once an occurrence has
// succeeded, the others of the period are skipped. Their failures do not count, so that
// they are further chances. The ledger has the due time of the newest success, and
// overlap=skip is the default, so that no two runs can succeed side by side.

// succeeded returns which success of a job lets an occurrence be skipped, or "".
func (e *Engine) succeeded(j *firing, due time.Time) (detail string) {
	per := j.options.OncePer
	if per == option.OncePerNone || j.by != "" {
		return ""
	}
	return e.successIn(per, e.ledger(j.id, j.entry.User()).SuccessDue, due, j.entry.Zone().Location())
}

// successIn returns the success of a period, or "". done is the due time of the newest
// success.
func (e *Engine) successIn(per option.OncePer, done, due time.Time, zone *time.Location) (detail string) {
	if done.IsZero() || !per.Same(done, due, zone) && !(per == option.OncePerDue && e.wasBefore(done, due)) {
		return ""
	}
	return fmt.Sprintf("the occurrence of %s succeeded", done.In(zone).Format(time.RFC3339))
}

// wasBefore reports whether an occurrence repeats one up to a success, because the clock
// was set back. A success of another day has a wrong time itself.
func (e *Engine) wasBefore(done, due time.Time) bool {
	return due.Before(done) && done.Sub(e.now.Wall) < 24*time.Hour && done.After(e.now.Wall)
}

// succeededMeanwhile drops a run that was held back if the job had a success in its
// period. Runs that a person requested continue.
func (e *Engine) succeededMeanwhile(r *live.Run, j *firing) bool {
	if r.Options.OncePer == option.OncePerNone || r.Requested() {
		return false
	}
	detail := e.succeeded(j, r.Due)
	if detail != "" {
		e.dropFor(r, job.AlreadyRan, detail)
	}
	return detail != ""
}
