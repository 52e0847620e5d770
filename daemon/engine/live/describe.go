package live

import (
	"fmt"
	"time"

	"github.com/cronring/cronring/daemon/job"
)

// DescribeState describes the state of a run that is in the way.
func (r *Run) DescribeState(now time.Time) string {
	switch r.State {
	case job.RunRunning:
		return fmt.Sprintf("run %d had been going for %s", r.ID, now.Sub(r.Run.Started).Round(time.Second))
	case job.RunWaiting, job.RunQueued:
		switch r.WaitsOn() {
		case job.WaitsOnDelay, job.WaitsOnHours:
			return fmt.Sprintf("run %d waits for its time at %s", r.ID, r.NotBefore.Format(time.RFC3339))
		case job.WaitsOnRetry:
			return fmt.Sprintf("run %d waits for its retry at %s", r.ID, r.NotBefore.Format(time.RFC3339))
		case job.WaitsOnConditions:
			return fmt.Sprintf("run %d waits for the conditions of its entry", r.ID)
		case job.WaitsOnCheck:
			return fmt.Sprintf("run %d waits for the command of if=", r.ID)
		case job.WaitsOnParents:
			return fmt.Sprintf("run %d waits for the runs that after= names", r.ID)
		case job.WaitsOnSlot:
			return fmt.Sprintf("run %d waits for a slot", r.ID)
		}
		return fmt.Sprintf("run %d waits for an earlier one", r.ID)
	default:
		return fmt.Sprintf("run %d is about to start", r.ID)
	}
}

// FormatTime formats an instant in the time zone of an entry.
func FormatTime(t time.Time, zone *time.Location) string {
	return t.In(zone).Format("Mon 2 Jan 2006 15:04:05 MST")
}

// DescribeOccurrence describes the occurrence of a run: the run's number, when it was due, its
// attempt and its end.
func (r *Run) DescribeOccurrence() string {
	text := fmt.Sprintf("run %d, due %s", r.ID, FormatTime(r.Due, r.Zone))
	if r.Attempt > 1 {
		text += fmt.Sprintf(", attempt %d", r.Attempt)
	}
	if !r.Run.Ended.IsZero() {
		text += ", ended " + FormatTime(r.Run.Ended, r.Zone)
	}
	return text
}

// DescribeFailure describes the failure.
func (r *Run) DescribeFailure() string {
	if r.State == job.RunDropped {
		return "its next attempt did not come: " + string(r.Reason)
	}
	return r.Result()
}

// DescribeWait describes until when a run waits, in the entry's time zone.
func DescribeWait(r *Run) string { return "until " + r.NotBefore.In(r.Zone).Format(time.RFC3339) }
