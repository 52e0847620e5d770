package job

// WaitsOn is what a run waits for that has not begun. What a program does with such a
// run depends on it, never on the run's Reason.
type WaitsOn uint8

// What a run can wait for.
const (
	WaitsOnNothing WaitsOn = iota // it is about to start, runs or is over
	WaitsOnRun                    // an earlier run of its job
	WaitsOnSlot                   // of a pool, of its user or of the host
	WaitsOnCheck                  // the command of if=
	WaitsOnParents                // the jobs in after=
	WaitsOnRetry                  // the time of its next attempt
	WaitsOnDelay                  // the delay and the hours of its period
)

// waits is how a run that waits is stored.
var waits = [...]struct {
	reason Reason
	state  RunState
}{
	WaitsOnRun:     {WaitsForRun, RunQueued},
	WaitsOnSlot:    {WaitsForSlot, RunQueued},
	WaitsOnCheck:   {WaitsForCheck, RunWaiting},
	WaitsOnParents: {WaitsForParents, RunWaiting},
	WaitsOnRetry:   {WaitsForRetry, RunWaiting},
	WaitsOnDelay:   {WaitsForDelay, RunWaiting},
}

// Wait makes a run one that waits.
func (r *Run) Wait(on WaitsOn) { r.State, r.Reason = waits[on].state, waits[on].reason }

// WaitsOn returns what a run waits for.
func (r *Run) WaitsOn() WaitsOn {
	if r.State == RunQueued || r.State == RunWaiting {
		for on, w := range waits {
			if w.reason == r.Reason {
				return WaitsOn(on)
			}
		}
	}
	return WaitsOnNothing
}
