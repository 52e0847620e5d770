package jobinfo

import (
	"time"

	"github.com/cronring/cronring/daemon/api"
	"github.com/cronring/cronring/daemon/job"
)

// Stamp changes when a strip does.
type Stamp struct {
	last  job.RunID
	live  int
	began time.Time
	state job.State
}

func StampOf(r *api.Row) Stamp { return Stamp{r.LastRun, r.Live, r.Began, r.State} }

// Patience is how long what is known of a job is shown after it has changed, so
// that what changes often is asked together.
const Patience = time.Second
