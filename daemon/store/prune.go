package store

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/cronring/cronring/daemon/job"
)

// Policy is how much history is kept. Zero fields keep everything.
type Policy struct {
	PerJob  int           // runs, and skips, of one job
	Age     time.Duration // since the decision
	Other   []Keep        // of jobs for which PerJob and Age do not count
	Letters int           // dead letters of one account
	Output  int64         // bytes that runs of one account but root have printed
	Rows    int           // runs, skips, backfills and other facts of each user other than root, so many of each kind
	Gone    int           // jobs of each user other than root that are not installed any more

	// Installed reports whether a user has a job of that name, or a run of it
	// lives. What is remembered of one that is gone is removed once it is as old
	// as Age, or exceeds Gone. It is called by the goroutine of Prune; nil keeps
	// everything.
	Installed func(id job.ID, user string) bool
}

// Keep is how much history is kept of some jobs of an account. Zero bounds keep
// everything. Runs that another account had under the name of such a job stay:
// it is not for this one to say how long.
type Keep struct {
	User   string
	Jobs   []job.ID // each is in one Keep at most
	PerJob int
	Age    time.Duration
}

// Pruned counts what Prune removed.
type Pruned struct {
	Runs, Skips, Letters int
	Outputs              int // runs of which what they printed was removed
	Jobs                 int // that were forgotten
}

// Prune looks for so many rows in one go, and removes them for so long in one
// transaction: commits pass in between.
const (
	pageRows  = 10_000
	sliceTime = time.Millisecond
)

// cut is one way in which rows leave the history. Readers find them and the
// writer only removes them: commits wait for what is removed, not for what is
// looked at.
type cut struct {
	find  string // up to three values that name a row; ?1 is keep, ?2 how many rows, then jobs and user
	keep  int64
	jobs  string // a list in JSON, where find asks for it
	user  string // likewise
	drop  string // removes that row
	count *int
}

// over is what Prune may take: no live run, never a job's newest, nor the one
// by which its newest occurrence was over, and no dead letter. As runs neither
// come back to life nor become any of that again, what is over stays so.
const over = `state IN ('ended', 'dropped') AND run.id < (SELECT max(id) FROM run AS newest WHERE newest.job = run.job)
	AND NOT EXISTS (SELECT 1 FROM ledger WHERE ledger.job = run.job AND ledger.run = run.id)
	AND NOT EXISTS (SELECT 1 FROM dead WHERE dead.run = run.id)`

// listed are the jobs that a cut names: those that it is about, or those that
// it leaves to others.
const (
	listed = "(SELECT value FROM json_each(?3))"
	others = "NOT IN (SELECT n FROM job WHERE id IN " + listed + ")"
	these  = "(SELECT n FROM job WHERE id IN " + listed + ") AS these CROSS JOIN "
)

// Rows come in order of time, as they lie on disk: one transaction touches few
// pages then.
const (
	oldRuns      = "SELECT id FROM run WHERE decided < ?1 AND " + over + " AND run.job " + others + " ORDER BY decided LIMIT ?2"
	oldSkips     = "SELECT due, job, era FROM occurrence AS o WHERE run IS NULL AND at < ?1 AND o.job " + others + " ORDER BY at LIMIT ?2"
	oldRecords   = "SELECT id FROM record WHERE at < ?1 LIMIT ?2"
	oldLives     = "SELECT id FROM life WHERE seen < ?1 AND id < (SELECT max(id) FROM life) LIMIT ?2"
	oldBackfills = "SELECT id FROM backfill WHERE asked < ?1 AND state <> 'going' AND id < (SELECT max(id) FROM backfill) LIMIT ?2"
	moreLetters  = `SELECT run FROM (SELECT run, row_number() OVER (PARTITION BY user ORDER BY run DESC) AS place FROM dead)
		WHERE place > ?1 ORDER BY run LIMIT ?2`
	moreOutput = `SELECT id FROM (SELECT id, sum(size) OVER (PARTITION BY user ORDER BY id DESC) AS total FROM
		(SELECT run.id, user, sum(length(data)) AS size FROM output CROSS JOIN run ON run.id = output.run AND user <> 'root' GROUP BY output.run))
		WHERE total > ?1 ORDER BY id LIMIT ?2`

	runsOfUser  = "FROM run WHERE user = ?3 AND user <> 'root'"
	skipsOfUser = "FROM occurrence AS o WHERE o.user = ?3 AND o.user <> 'root' AND o.run IS NULL"
	fillsOfUser = "FROM backfill WHERE user = ?3 AND user <> 'root'"
	factsOfUser = "FROM record WHERE share = ?3 AND share <> ''"

	moreRunsOfUser  = "SELECT id " + runsOfUser + " AND id <= (SELECT id " + runsOfUser + " ORDER BY id DESC LIMIT 1 OFFSET ?1) AND " + over + " ORDER BY id LIMIT ?2"
	moreSkipsOfUser = "SELECT due, job, era " + skipsOfUser + " AND (due, job, era) <= (SELECT due, job, era " + skipsOfUser + " ORDER BY due DESC, job DESC, era DESC LIMIT 1 OFFSET ?1) ORDER BY due, job, era LIMIT ?2"
	moreFillsOfUser = "SELECT id " + fillsOfUser + " AND id <= (SELECT id " + fillsOfUser + " ORDER BY id DESC LIMIT 1 OFFSET ?1) AND state <> 'going' AND id < (SELECT max(id) FROM backfill) ORDER BY id LIMIT ?2"
	moreFactsOfUser = "SELECT id " + factsOfUser + " AND id <= (SELECT id " + factsOfUser + " ORDER BY id DESC LIMIT 1 OFFSET ?1) ORDER BY id LIMIT ?2"

	runsOfJobs  = "SELECT run.id FROM " + these + "run ON run.job = these.n AND state IN ('ended', 'dropped') AND decided < ?1 ORDER BY run.id LIMIT ?2"
	skipsOfJobs = "SELECT o.due, o.job, o.era FROM " + these + "occurrence AS o ON o.job = these.n AND o.run IS NULL AND o.at < ?1 ORDER BY o.due LIMIT ?2"

	oldRunsOfThese  = "SELECT run.id FROM " + these + "run ON run.job = these.n AND run.user = ?4 AND decided < ?1 AND " + over + " ORDER BY run.id LIMIT ?2"
	oldSkipsOfThese = `SELECT o.due, o.job, o.era FROM ` + these + `occurrence AS o
		ON o.job = these.n AND o.run IS NULL AND o.at < ?1 ORDER BY o.due LIMIT ?2`

	dropRun      = "DELETE FROM run WHERE id = ?"
	dropSkip     = "DELETE FROM occurrence WHERE due = ? AND job = ? AND era = ?"
	dropRecord   = "DELETE FROM record WHERE id = ?"
	dropLife     = "DELETE FROM life WHERE id = ?"
	dropBackfill = "DELETE FROM backfill WHERE id = ?"
	dropLetter   = "DELETE FROM dead WHERE run = ?"
	dropOutput   = "DELETE FROM output WHERE run = ?"
)

// moreRuns and moreSkips find what is beyond the number that is kept, of the
// jobs that which chooses, or of their runs those of one account.
func moreRuns(which string) string { return moreRunsOf(which, "", "") }

func moreRunsOf(which, own, keptOwn string) string {
	return `SELECT run.id FROM job CROSS JOIN run ON run.job = job.n` + own + ` AND ` + over + ` AND run.id <=
		(SELECT id FROM run AS kept WHERE kept.job = job.n` + keptOwn + ` ORDER BY id DESC LIMIT 1 OFFSET ?1)
		WHERE job.id ` + which + listed + ` ORDER BY run.id LIMIT ?2`
}

func moreSkips(which string) string {
	return `SELECT o.due, o.job, o.era FROM job CROSS JOIN occurrence AS o ON o.job = job.n AND o.run IS NULL AND o.due <=
		(SELECT due FROM occurrence AS kept WHERE kept.job = job.n AND kept.run IS NULL ORDER BY due DESC LIMIT 1 OFFSET ?1)
		WHERE job.id ` + which + listed + ` ORDER BY o.due LIMIT ?2`
}

func (p Policy) cuts(now time.Time, done *Pruned) (cuts []cut) {
	var exempt []job.ID
	for _, k := range p.Other {
		exempt = append(exempt, k.Jobs...)
		cuts = append(cuts, k.cuts(now, done)...)
	}
	jobs, uncounted := list(exempt), new(int)
	if p.Age > 0 {
		before := nanosBound(now.Add(-p.Age))
		cuts = append(cuts,
			cut{oldRuns, before, jobs, "", dropRun, &done.Runs},
			cut{oldSkips, before, jobs, "", dropSkip, &done.Skips},
			cut{oldRecords, before, "", "", dropRecord, uncounted},
			cut{oldLives, before, "", "", dropLife, uncounted},
			cut{oldBackfills, before, "", "", dropBackfill, uncounted})
	}
	if p.PerJob > 0 {
		cuts = append(cuts,
			cut{moreRuns("NOT IN "), int64(p.PerJob), jobs, "", dropRun, &done.Runs},
			cut{moreSkips("NOT IN "), int64(p.PerJob), jobs, "", dropSkip, &done.Skips})
	}
	if p.Letters > 0 {
		cuts = append(cuts, cut{moreLetters, int64(p.Letters), "", "", dropLetter, &done.Letters})
	}
	if p.Output > 0 {
		cuts = append(cuts, cut{moreOutput, p.Output, "", "", dropOutput, &done.Outputs})
	}
	return cuts
}

func (k Keep) cuts(now time.Time, done *Pruned) (cuts []cut) {
	jobs := list(k.Jobs)
	if k.Age > 0 {
		before := nanosBound(now.Add(-k.Age))
		cuts = append(cuts,
			cut{oldRunsOfThese, before, jobs, k.User, dropRun, &done.Runs},
			cut{oldSkipsOfThese, before, jobs, "", dropSkip, &done.Skips})
	}
	if k.PerJob > 0 {
		cuts = append(cuts,
			cut{moreRunsOf("IN ", " AND run.user = ?4", " AND kept.user = ?4"), int64(k.PerJob), jobs, k.User, dropRun, &done.Runs},
			cut{moreSkips("IN "), int64(k.PerJob), jobs, "", dropSkip, &done.Skips})
	}
	return cuts
}

// list is names of jobs as json_each takes them.
func list(jobs []job.ID) string {
	if len(jobs) == 0 {
		return "[]"
	}
	text, _ := json.Marshal(jobs)
	return string(text)
}

// Prune removes history that the policy does not keep. Marks are no history:
// they stay. Commits may go on meanwhile.
func (s *Store) Prune(ctx context.Context, now time.Time, p Policy) (done Pruned, err error) {
	for _, c := range p.cuts(now, &done) {
		if err := s.cut(ctx, c); err != nil {
			return done, fmt.Errorf("prune history: %w", err)
		}
	}
	err = s.pruneUsers(ctx, p, &done)
	if err == nil {
		err = s.forget(ctx, now, p)
	}
	if err == nil {
		err = s.forgetGone(ctx, now, p, &done)
	}
	if err != nil {
		return done, fmt.Errorf("prune history: %w", err)
	}
	return done, nil
}

// usersOf lists the users of an index without reading all of it.
func usersOf(table, column, but string) string {
	which := " FROM " + table + " WHERE " + column + " <> '" + but + "'"
	if table == "occurrence" {
		which += " AND run IS NULL"
	}
	return `WITH RECURSIVE users (name) AS (SELECT min(` + column + `)` + which + ` UNION ALL
		SELECT (SELECT min(` + column + `)` + which + ` AND ` + column + ` > name) FROM users WHERE name IS NOT NULL)
		SELECT name FROM users WHERE name IS NOT NULL`
}

// pruneUsers removes the oldest rows of users who have too many. It looks at one
// user at a time, so that no query takes long.
func (s *Store) pruneUsers(ctx context.Context, p Policy, done *Pruned) error {
	if p.Rows == 0 {
		return nil
	}
	uncounted := new(int)
	for _, kind := range []struct {
		users, find, drop string
		count             *int
	}{
		{usersOf("run", "user", "root"), moreRunsOfUser, dropRun, &done.Runs},
		{usersOf("occurrence", "user", "root"), moreSkipsOfUser, dropSkip, &done.Skips},
		{usersOf("backfill", "user", "root"), moreFillsOfUser, dropBackfill, uncounted},
		{usersOf("record", "share", ""), moreFactsOfUser, dropRecord, uncounted},
	} {
		var users []string
		err := s.each(ctx, func(rows *sql.Rows) error {
			var user string
			err := rows.Scan(&user)
			users = append(users, user)
			return err
		}, kind.users)
		if err != nil {
			return err
		}
		for _, user := range users {
			if err := s.cut(ctx, cut{find: kind.find, keep: int64(p.Rows), user: user, drop: kind.drop, count: kind.count}); err != nil {
				return err
			}
		}
	}
	return nil
}

// dropJob forgets a job, unless something of it came back meanwhile.
const dropJob = `DELETE FROM job WHERE n = ?1 AND NOT EXISTS (SELECT 1 FROM run WHERE run.job = ?1)
	AND NOT EXISTS (SELECT 1 FROM occurrence AS o WHERE o.job = ?1 AND o.run IS NULL)`

// forgetGone forgets the jobs that users other than root had and that are not
// installed any more, the oldest beyond a number, with all that the history has of
// them. Else a user who installs crontab after crontab, each with other names,
// fills the disk.
func (s *Store) forgetGone(ctx context.Context, now time.Time, p Policy, done *Pruned) error {
	if p.Gone == 0 || p.Installed == nil {
		return nil
	}
	var jobs []job.ID
	var numbers [][]driver.Value
	left, of := 0, ""
	err := s.each(ctx, func(rows *sql.Rows) error {
		var n int64
		var id job.ID
		var owner string
		if err := rows.Scan(&n, &id, &owner); err != nil {
			return err
		}
		if owner != of {
			left, of = p.Gone, owner
		}
		if len(jobs) == pageRows || p.Installed(id, strings.TrimSuffix(owner, "/")) {
			return nil
		}
		if left--; left < 0 {
			jobs, numbers = append(jobs, id), append(numbers, []driver.Value{n})
		}
		return nil
	}, "SELECT n, id, owner FROM job WHERE owner <> '' ORDER BY owner, n DESC")
	if err != nil || len(jobs) == 0 {
		return err
	}
	for _, c := range []cut{
		{runsOfJobs, nanosBound(now), list(jobs), "", dropRun, &done.Runs},
		{skipsOfJobs, nanosBound(now), list(jobs), "", dropSkip, &done.Skips},
	} {
		if err := s.cut(ctx, c); err != nil {
			return err
		}
	}
	for _, drop := range []string{"DELETE FROM ledger WHERE job = ?", "DELETE FROM hold WHERE job = ?", "DELETE FROM state WHERE job = ?"} {
		if _, err := s.dropAll(ctx, drop, numbers); err != nil {
			return err
		}
	}
	n, err := s.dropAll(ctx, dropJob, numbers)
	done.Jobs += n
	return err
}

// What is remembered of jobs, with the time of its newest change, and how it is
// removed.
const (
	oldLedgers = `SELECT ledger.job, user, job.id FROM ledger JOIN job ON job.n = ledger.job
		WHERE coalesce(ended, watched, 0) < ?1`
	oldStates = `SELECT state.job, user, job.id FROM state JOIN job ON job.n = state.job
		GROUP BY state.job, user HAVING max(at) < ?1`

	dropLedger = "DELETE FROM ledger WHERE job = ? AND user = ?"
	dropStates = "DELETE FROM state WHERE job = ? AND user = ?"
)

// forget removes what is remembered of jobs that are gone.
func (s *Store) forget(ctx context.Context, now time.Time, p Policy) error {
	if p.Age == 0 || p.Installed == nil {
		return nil
	}
	for find, drop := range map[string]string{oldLedgers: dropLedger, oldStates: dropStates} {
		var gone [][]driver.Value
		err := s.each(ctx, func(rows *sql.Rows) error {
			var n int64
			var user string
			var id job.ID
			err := rows.Scan(&n, &user, &id)
			if err == nil && !p.Installed(id, user) {
				gone = append(gone, []driver.Value{n, user})
			}
			return err
		}, find, nanosBound(now.Add(-p.Age)))
		if err == nil {
			_, err = s.dropAll(ctx, drop, gone)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// cut removes rows page by page. It rests between two pages for as long as the
// first one took, so that it has half of one processor at most.
func (s *Store) cut(ctx context.Context, c cut) error {
	for {
		begun := time.Now()
		rows, err := s.keys(ctx, c)
		if err != nil {
			return err
		}
		n, err := s.dropAll(ctx, c.drop, rows)
		*c.count += n
		if err != nil || len(rows) < pageRows {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(time.Since(begun)):
		}
	}
}

// dropAll removes rows and counts them. Commits pass in between.
func (s *Store) dropAll(ctx context.Context, text string, keys [][]driver.Value) (dropped int, err error) {
	for dropped < len(keys) {
		n, err := s.drop(ctx, text, keys[dropped:])
		if err != nil {
			return dropped, err
		}
		dropped += n
	}
	return dropped, nil
}

// args returns the arguments of find. The driver refuses one that the query does
// not name.
func (c *cut) args() []any {
	args := []any{c.keep, pageRows}
	if c.jobs != "" {
		args = append(args, c.jobs)
	}
	if c.user != "" || strings.Contains(c.find, "?4") {
		args = append(args, c.user)
	}
	return args
}

// keys names the rows that a cut takes, or some of them if they are many.
func (s *Store) keys(ctx context.Context, c cut) (keys [][]driver.Value, err error) {
	err = s.each(ctx, func(rows *sql.Rows) error {
		columns, err := rows.Columns()
		if err != nil {
			return err
		}
		key, dest := make([]driver.Value, len(columns)), make([]any, len(columns))
		for i := range key {
			dest[i] = &key[i]
		}
		keys = append(keys, key)
		return rows.Scan(dest...)
	}, c.find, c.args()...)
	return keys, err
}

// drop removes as many rows as one transaction has time for, at least one.
func (s *Store) drop(ctx context.Context, text string, keys [][]driver.Value) (n int, err error) {
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	w, err := s.writer(ctx)
	if err != nil {
		return 0, err
	}
	begun := time.Now()
	if text == dropJob {
		clear(w.jobs)
	}
	err = w.transact(func() error {
		stmt, err := w.conn.(driver.ConnPrepareContext).PrepareContext(ctx, text)
		if err != nil {
			return err
		}
		defer stmt.Close()
		for n < len(keys) && (n == 0 || time.Since(begun) < sliceTime) {
			if _, err := w.exec(stmt, keys[n]...); err != nil {
				return err
			}
			n++
		}
		return nil
	})
	if err != nil {
		return 0, err
	}
	return n, nil
}
