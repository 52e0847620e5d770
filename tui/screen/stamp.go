package screen

import (
	"time"

	"github.com/cronring/cronring/daemon/api"
	"github.com/cronring/cronring/daemon/job"
)

// pastStamp changes when a strip does.
type pastStamp struct {
	last  job.RunID
	live  int
	began time.Time
	state job.State
}

func stampOf(r *api.Row) pastStamp { return pastStamp{r.LastRun, r.Live, r.Began, r.State} }

// patience is how long what is known of a job is shown after it has changed, so
// that what changes often is asked together.
const patience = time.Second
