package prune

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"math"
	"strings"

	"github.com/cronring/cronring/daemon/job"
	"github.com/cronring/cronring/daemon/store/database"
)

// dropJob forgets a job, unless something of it came back meanwhile.
const dropJob = `DELETE FROM job WHERE n = ?1 AND NOT EXISTS (SELECT 1 FROM run WHERE run.job = ?1)
	AND NOT EXISTS (SELECT 1 FROM occurrence AS o WHERE o.job = ?1 AND o.run IS NULL)`

// forgetGone removes the oldest jobs beyond a limit that users other than root had and that are no
// longer installed, with all their history. Otherwise a user could fill the disk by installing
// crontab after crontab with new names.
func (p *pruning) forgetGone(ctx context.Context) error {
	if p.policy.Gone == 0 || p.policy.Installed == nil {
		return nil
	}
	var owners []string
	err := p.step(ctx, func() error {
		return p.Each(ctx, func(rows *sql.Rows) error {
			var owner string
			err := rows.Scan(&owner)
			owners = append(owners, owner)
			return err
		}, usersOf("job", "owner", ""))
	})
	for _, owner := range owners {
		if err == nil {
			err = p.forgetGoneOf(ctx, owner)
		}
	}
	return err
}

func (p *pruning) forgetGoneOf(ctx context.Context, owner string) error {
	var numbers [][]driver.Value
	gone, last := 0, int64(math.MaxInt64)
	for seen := pageRows; seen == pageRows; {
		err := p.page(ctx, &seen, func(rows *sql.Rows) error {
			var id job.ID
			err := rows.Scan(&last, &id)
			if err != nil || p.policy.Installed(id, strings.TrimSuffix(owner, "/")) {
				return err
			}
			if gone++; gone > p.policy.Gone {
				numbers = append(numbers, []driver.Value{last})
			}
			return nil
		}, "SELECT n, id FROM job WHERE owner = ? AND owner <> '' AND n < ? ORDER BY n DESC LIMIT ?", owner, last)
		if err != nil {
			return err
		}
	}
	for _, n := range numbers {
		for _, c := range []cut{
			{find: allRuns, to: math.MaxInt64, args: []any{n[0]}, drop: dropRun, count: &p.done.Runs},
			{find: moreSkips, to: math.MaxInt64, args: []any{n[0], int64(math.MaxInt64), 0}, drop: dropSkip, count: &p.done.Skips},
		} {
			if err := p.cut(ctx, c); err != nil {
				return err
			}
		}
	}
	if err := p.flush(ctx, 1); err != nil {
		return err
	}
	for _, drop := range []string{"DELETE FROM ledger WHERE job = ?", "DELETE FROM hold WHERE job = ?", "DELETE FROM state WHERE job = ?"} {
		if _, err := p.dropAll(ctx, drop, numbers); err != nil {
			return err
		}
	}
	n, err := p.dropAll(ctx, dropJob, numbers)
	p.done.Jobs += n
	return err
}

// What the history has of jobs, with whether it is older than ?3, and how it is removed.
const (
	summariesOfJobs = `SELECT ledger.job, user, job.id, coalesce(ended, watched, 0) < ?3 FROM ledger JOIN job ON job.n = ledger.job
		WHERE (ledger.job, user) > (?1, ?2) ORDER BY ledger.job, user LIMIT ?4`
	statesOfJobs = `SELECT state.job, user, job.id, max(at) < ?3 FROM state JOIN job ON job.n = state.job
		WHERE (state.job, user) > (?1, ?2) GROUP BY state.job, user ORDER BY state.job, user LIMIT ?4`

	dropSummary = "DELETE FROM ledger WHERE job = ? AND user = ?"
	dropStates  = "DELETE FROM state WHERE job = ? AND user = ?"
)

// forget removes summaries and states of jobs that are gone.
func (p *pruning) forget(ctx context.Context) error {
	if p.policy.Age == 0 || p.policy.Installed == nil {
		return nil
	}
	for find, drop := range map[string]string{summariesOfJobs: dropSummary, statesOfJobs: dropStates} {
		var gone [][]driver.Value
		var n int64
		var user string
		for seen := pageRows; seen == pageRows; {
			err := p.page(ctx, &seen, func(rows *sql.Rows) error {
				var id job.ID
				var old bool
				err := rows.Scan(&n, &user, &id, &old)
				if err == nil && old && !p.policy.Installed(id, user) {
					gone = append(gone, []driver.Value{n, user})
				}
				return err
			}, find, n, user, database.NanosBound(p.now.Add(-p.policy.Age)))
			if err != nil {
				return err
			}
		}
		if _, err := p.dropAll(ctx, drop, gone); err != nil {
			return err
		}
	}
	return nil
}
