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

// Patience is the longest delay until a change of a job is requested, so that
// frequent changes are requested together.
const Patience = time.Second
