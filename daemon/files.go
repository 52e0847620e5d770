package daemon

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/cronring/cronring/daemon/api"
	"github.com/cronring/cronring/daemon/engine/effect"
	"github.com/cronring/cronring/daemon/job"
	"github.com/cronring/cronring/daemon/watchfiles"
)

// watchFiles replaces the files whose arrival starts jobs.
func (l *loop) watchFiles(jobs []effect.FileWatch) {
	all := map[string][]watchfiles.Watch{}
	for _, j := range jobs {
		all[j.Job.User] = append(all[j.Job.User], watchfiles.Watch{Job: j.Job, Globs: j.Patterns, Since: j.Since})
	}
	l.files.Set(all)
}

// runFiles watches files until running jobs are left or ctx ends: the spawner does not pause before
// the processes that watch them have ended.
func (d *shared) runFiles(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		select {
		case <-d.away:
			cancel()
		case <-ctx.Done():
		}
	}()
	return d.files.Run(ctx)
}

// fileNotices reports that files of jobs are not watched. All users can see it, so it has no paths.
func (b backend) fileNotices() []api.Problem {
	faults := b.files.Faults()
	if len(faults) == 0 {
		return nil
	}
	users := map[string]bool{}
	for owned := range faults {
		users[owned.User] = true
	}
	first := slices.Min(slices.Collect(maps.Keys(users)))
	why := "of " + first
	if more := len(users) - 1; more > 0 {
		why += fmt.Sprintf(" and %d other users", more)
	}
	return []api.Problem{{What: fmt.Sprintf("jobs with on=file: whose files are not watched: %d", len(faults)), Why: why, Fix: "cronring why JOB shows the reason"}}
}

// FileFault returns why the files of a job with on=file: are not watched, or "".
func (b backend) FileFault(j job.Owned) string { return b.files.Faults()[j] }
