package live

import "time"

// StartedLate reports whether a run began later than max-late= allows, or has not begun
// by now and is that late.
func (r *Run) StartedLate(now time.Time) bool {
	began := r.Run.Started
	if began.IsZero() {
		began = now
	}
	return r.Options.MaxLate > 0 && r.Attempt == 1 && !began.Before(r.Due.Add(r.Options.MaxLate))
}

// WasLate reports whether a run that has ended started late or took too long.
func (r *Run) WasLate() bool {
	return r.StartedLate(r.Run.Started) || r.Options.MaxRun > 0 && r.Run.Length() >= r.Options.MaxRun
}
