package live

import (
	"slices"
	"time"

	"github.com/cronring/cronring/crontab/option"
	"github.com/cronring/cronring/daemon/job"
)

// A run is stopped with stop-signal=, and with KILL after stop-grace=, of which a manual stop has
// its own default. A daemon that ends uses abandonGrace at most.
const abandonGrace = 2 * time.Second

// Grace returns the time between the signal and KILL.
func (r *Run) Grace() time.Duration {
	grace := r.Options.StopGrace
	if r.StopReason == job.StopAsked {
		grace = r.UsualGrace()
		if r.Run.Stop != nil {
			grace = r.Run.Stop.Grace
		}
	}
	if r.Hurry || r.StopReason == job.DaemonStopped {
		return min(grace, abandonGrace)
	}
	return grace
}

// UsualGrace returns the grace for a manual stop that does not set one.
func (r *Run) UsualGrace() time.Duration {
	if r.isSet("stop-grace") {
		return r.Options.StopGrace
	}
	return option.ManualStopGrace
}

// isSet reports whether an option is set explicitly.
func (r *Run) isSet(key string) bool {
	return slices.ContainsFunc(r.Options.Items, func(o option.Option) bool { return o.Key == key })
}
