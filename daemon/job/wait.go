package job

// WaitsOn is the kind of event that a waiting run needs before it can begin. Programs must decide
// by WaitsOn how to treat such a run, not by its Reason.
type WaitsOn uint8

// The values of WaitsOn.
const (
	WaitsOnNothing    WaitsOn = iota // it is about to start, runs or is over
	WaitsOnRun                       // an earlier run of its job
	WaitsOnSlot                      // of a pool, of its user or of the host
	WaitsOnCheck                     // the command of if=
	WaitsOnParents                   // the jobs in after=
	WaitsOnRetry                     // the time of its next attempt
	WaitsOnDelay                     // the delay of its period, of the host's start or of runs caught up before it
	WaitsOnHours                     // the times that window=, blackout= and the host allow
	WaitsOnClaim                     // a grant of the ring as new as its start
	WaitsOnConditions                // the host: load=, pressure=, need-memory=, need-disk=, on-battery=
	allWaitsOn                       // the number of values
)

// waits has the stored reason and state for each value of WaitsOn.
var waits = [allWaitsOn]struct {
	reason Reason
	state  RunState
}{
	WaitsOnRun:     {WaitsForRun, RunQueued},
	WaitsOnSlot:    {WaitsForSlot, RunQueued},
	WaitsOnClaim:   {WaitsForClaim, RunQueued},
	WaitsOnCheck:   {WaitsForCheck, RunWaiting},
	WaitsOnParents: {WaitsForParents, RunWaiting},
	WaitsOnRetry:   {WaitsForRetry, RunWaiting},
	WaitsOnDelay:   {WaitsForDelay, RunWaiting},
	WaitsOnHours:   {WaitsForHours, RunWaiting},

	WaitsOnConditions: {WaitsForConditions, RunWaiting},
}

// Wait makes the run a waiting one.
func (r *Run) Wait(on WaitsOn) { r.State, r.Reason = waits[on].state, waits[on].reason }

// WaitsOn returns what the run waits for.
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
