package store

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
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

	Longest time.Duration // of its steps: reads of one snapshot, and transactions
}

// Prune looks for rows in steps, each of which reads one snapshot of the database
// and takes about stepTime: while a snapshot is read, the journal cannot be reset
// and grows. It removes the rows for sliceTime in one transaction, so that commits
// pass in between.
const (
	pageRows  = 2000 // found in one step
	stepTime  = 10 * time.Millisecond
	keepJobs  = 8      // jobs with a keep= of their own that one step looks at
	hop       = 20_000 // rows that one step counts
	sliceTime = time.Millisecond
)

// cut is one way in which rows leave the history. Readers find them and the
// writer only removes them: commits wait for what is removed, not for what is
// looked at.
type cut struct {
	find   string // up to three values that name a row; ?1 is keep, ?2 how many rows, then jobs, user, from and to
	keep   int64
	jobs   string // a list in JSON, where find asks for it
	user   string // likewise
	drop   string // removes that row
	count  *int
	bounds string // the numbers that from (exclusive) to (inclusive) go through, of keep; "": find has no such range
	from   int64
	to     int64
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

// What cuts go through in steps, however many rows there are between two that go:
// runs and skips by time, jobs by number.
const (
	runBounds  = "SELECT coalesce(min(decided), ?1) - 1, ?1 - 1 FROM run"
	skipBounds = "SELECT coalesce(min(at), ?1) - 1, ?1 - 1 FROM occurrence INDEXED BY occurrence_skipped WHERE run IS NULL"
	jobBounds  = "SELECT 0, coalesce(max(n), 0) FROM job"
)

// Rows come in order of time, as they lie on disk: one transaction touches few
// pages then.
const (
	oldRuns      = "SELECT id FROM run WHERE decided > ?5 AND decided <= ?6 AND " + over + " AND run.job " + others + " ORDER BY decided LIMIT ?2"
	oldSkips     = "SELECT due, job, era FROM occurrence AS o WHERE run IS NULL AND at > ?5 AND at <= ?6 AND o.job " + others + " ORDER BY at LIMIT ?2"
	oldRecords   = "SELECT id FROM record WHERE at < ?1 LIMIT ?2"
	oldLives     = "SELECT id FROM life WHERE seen < ?1 AND id < (SELECT max(id) FROM life) LIMIT ?2"
	oldBackfills = "SELECT id FROM backfill WHERE asked < ?1 AND state <> 'going' AND id < (SELECT max(id) FROM backfill) LIMIT ?2"
	moreLetters  = `SELECT run FROM (SELECT run, row_number() OVER (PARTITION BY user ORDER BY run DESC) AS place FROM dead)
		WHERE place > ?1 ORDER BY run LIMIT ?2`

	runsOfUser  = "FROM run WHERE user = ?4 AND user <> 'root'"
	skipsOfUser = "FROM occurrence AS o WHERE o.user = ?4 AND o.user <> 'root' AND o.run IS NULL"
	fillsOfUser = "FROM backfill WHERE user = ?4 AND user <> 'root'"
	factsOfUser = "FROM record WHERE share = ?4 AND share <> ''"

	moreRunsOfUser  = "SELECT id " + runsOfUser + " AND id < ?1 AND " + over + " ORDER BY id LIMIT ?2"
	moreSkipsOfUser = "SELECT due, job, era " + skipsOfUser + " AND due < ?1 ORDER BY due, job, era LIMIT ?2"
	moreFillsOfUser = "SELECT id " + fillsOfUser + " AND id < ?1 AND state <> 'going' AND id < (SELECT max(id) FROM backfill) ORDER BY id LIMIT ?2"
	moreFactsOfUser = "SELECT id " + factsOfUser + " AND id < ?1 ORDER BY id LIMIT ?2"

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
		WHERE ` + within(which) + `job.id ` + which + listed + ` ORDER BY run.id LIMIT ?2`
}

func moreSkips(which string) string {
	return `SELECT o.due, o.job, o.era FROM job CROSS JOIN occurrence AS o ON o.job = job.n AND o.run IS NULL AND o.due <=
		(SELECT due FROM occurrence AS kept WHERE kept.job = job.n AND kept.run IS NULL ORDER BY due DESC LIMIT 1 OFFSET ?1)
		WHERE ` + within(which) + `job.id ` + which + listed + ` ORDER BY o.due LIMIT ?2`
}

// within is the range of jobs that a step looks at. Jobs that are named are few.
func within(which string) string {
	if which == "IN " {
		return ""
	}
	return "job.n > ?5 AND job.n <= ?6 AND "
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
			cut{find: oldRuns, keep: before, jobs: jobs, drop: dropRun, count: &done.Runs, bounds: runBounds},
			cut{find: oldSkips, keep: before, jobs: jobs, drop: dropSkip, count: &done.Skips, bounds: skipBounds},
			cut{find: oldRecords, keep: before, drop: dropRecord, count: uncounted},
			cut{find: oldLives, keep: before, drop: dropLife, count: uncounted},
			cut{find: oldBackfills, keep: before, drop: dropBackfill, count: uncounted})
	}
	if p.PerJob > 0 {
		cuts = append(cuts,
			cut{find: moreRuns("NOT IN "), keep: int64(p.PerJob), jobs: jobs, drop: dropRun, count: &done.Runs, bounds: jobBounds},
			cut{find: moreSkips("NOT IN "), keep: int64(p.PerJob), jobs: jobs, drop: dropSkip, count: &done.Skips, bounds: jobBounds})
	}
	if p.Letters > 0 {
		cuts = append(cuts, cut{find: moreLetters, keep: int64(p.Letters), drop: dropLetter, count: &done.Letters})
	}
	return cuts
}

func (k Keep) cuts(now time.Time, done *Pruned) (cuts []cut) {
	before := nanosBound(now.Add(-k.Age))
	for part := range slices.Chunk(k.Jobs, keepJobs) {
		jobs := list(part)
		if k.Age > 0 {
			cuts = append(cuts,
				cut{find: oldRunsOfThese, keep: before, jobs: jobs, user: k.User, drop: dropRun, count: &done.Runs},
				cut{find: oldSkipsOfThese, keep: before, jobs: jobs, drop: dropSkip, count: &done.Skips})
		}
		if k.PerJob > 0 {
			cuts = append(cuts,
				cut{find: moreRunsOf("IN ", " AND run.user = ?4", " AND kept.user = ?4"), keep: int64(k.PerJob), jobs: jobs, user: k.User, drop: dropRun, count: &done.Runs},
				cut{find: moreSkips("IN "), keep: int64(k.PerJob), jobs: jobs, drop: dropSkip, count: &done.Skips})
		}
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
// they stay. Commits may go on meanwhile; a second Prune waits for the first.
func (s *Store) Prune(ctx context.Context, now time.Time, p Policy) (done Pruned, err error) {
	s.pruning.Lock()
	defer s.pruning.Unlock()
	s.longest = 0
	defer func() { done.Longest = s.longest }()
	for _, c := range p.cuts(now, &done) {
		if err := s.cut(ctx, c); err != nil {
			return done, fmt.Errorf("prune history: %w", err)
		}
	}
	err = s.pruneOutput(ctx, p, &done)
	if err == nil {
		err = s.pruneUsers(ctx, p, &done)
	}
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
		users, key, rows, find, drop string
		count                        *int
	}{
		{usersOf("run", "user", "root"), "id", runsOfUser, moreRunsOfUser, dropRun, &done.Runs},
		{usersOf("occurrence", "user", "root"), "due", skipsOfUser, moreSkipsOfUser, dropSkip, &done.Skips},
		{usersOf("backfill", "user", "root"), "id", fillsOfUser, moreFillsOfUser, dropBackfill, uncounted},
		{usersOf("record", "share", ""), "id", factsOfUser, moreFactsOfUser, dropRecord, uncounted},
	} {
		var users []string
		err := s.step(func() error {
			return s.each(ctx, func(rows *sql.Rows) error {
				var user string
				err := rows.Scan(&user)
				users = append(users, user)
				return err
			}, kind.users)
		})
		if err != nil {
			return err
		}
		for _, user := range users {
			oldest, ok, err := s.oldest(ctx, kind.key, kind.rows, user, p.Rows)
			if err == nil && ok {
				err = s.cut(ctx, cut{find: kind.find, keep: oldest, user: user, drop: kind.drop, count: kind.count})
			}
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// oldest returns the key of the oldest of a user's newest n rows; ok is false if the
// user has fewer. It counts some rows at a time.
func (s *Store) oldest(ctx context.Context, key, rows, user string, n int) (at int64, ok bool, err error) {
	at = math.MaxInt64
	query := "SELECT " + key + " " + rows + " AND " + key + " < ?1 ORDER BY " + key + " DESC LIMIT 1 OFFSET ?2"
	for err == nil && n > 0 {
		some := min(n, hop)
		err = s.step(func() error { return s.read.QueryRowContext(ctx, query, at, some-1, nil, user).Scan(&at) })
		n -= some
	}
	if errors.Is(err, sql.ErrNoRows) {
		return 0, false, nil
	}
	return at, err == nil, err
}

// printed is how much the runs of users other than root have printed, as far as it
// was counted. What was removed since is still in it.
type printed struct {
	upTo  int64 // the newest run
	bytes map[string]int64
}

const (
	endedRuns = "SELECT coalesce((SELECT min(id) - 1 FROM run WHERE " + live + "), (SELECT max(id) FROM run), 0)"
	outputOf  = `SELECT output.run, user, sum(length(data)) FROM output CROSS JOIN run ON run.id = output.run
		WHERE output.run > ? AND output.run <= ? AND user <> 'root' GROUP BY output.run ORDER BY output.run DESC`
)

// pruneOutput removes the oldest output of users whose runs printed too much. What
// was counted is remembered, so that it looks at new runs alone, until somebody
// seems to exceed the limit.
func (s *Store) pruneOutput(ctx context.Context, p Policy, done *Pruned) error {
	if p.Output == 0 || s.Bytes() < p.Output {
		return nil // all that is kept is less
	}
	var top int64
	if err := s.read.QueryRowContext(ctx, endedRuns).Scan(&top); err != nil {
		return err
	}
	exceeds := s.printed.bytes == nil
	if !exceeds {
		err := s.eachOutput(ctx, s.printed.upTo, top, func(_ int64, user string, size int64) {
			s.printed.bytes[user] += size
			exceeds = exceeds || s.printed.bytes[user] > p.Output
		})
		if err != nil {
			s.printed.bytes = nil
			return err
		}
	}
	s.printed.upTo = top
	if !exceeds {
		return nil
	}
	var old [][]driver.Value
	bytes := map[string]int64{}
	err := s.eachOutput(ctx, 0, top, func(run int64, user string, size int64) {
		if bytes[user] += size; bytes[user] > p.Output {
			bytes[user] -= size
			old = append(old, []driver.Value{run})
		}
	})
	if err != nil {
		return err
	}
	slices.Reverse(old)
	n, err := s.dropAll(ctx, dropOutput, old)
	done.Outputs += n
	if err == nil {
		s.printed.bytes = bytes
	}
	return err
}

// eachOutput calls f for the runs of users other than root from (exclusive) to
// (inclusive), newest first, with what each has printed.
func (s *Store) eachOutput(ctx context.Context, from, to int64, f func(run int64, user string, size int64)) error {
	return s.inSteps(ctx, 0, to-from, func(first, last int64) error {
		return s.step(func() error {
			return s.each(ctx, func(rows *sql.Rows) error {
				var run, size int64
				var user string
				err := rows.Scan(&run, &user, &size)
				f(run, user, size)
				return err
			}, outputOf, to-last, to-first)
		})
	})
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
	take := func(rows *sql.Rows) error {
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
	}
	err := s.step(func() error {
		return s.each(ctx, take, "SELECT n, id, owner FROM job WHERE owner <> '' ORDER BY owner, n DESC")
	})
	if err != nil || len(jobs) == 0 {
		return err
	}
	for _, c := range []cut{
		{find: runsOfJobs, keep: nanosBound(now), jobs: list(jobs), drop: dropRun, count: &done.Runs},
		{find: skipsOfJobs, keep: nanosBound(now), jobs: list(jobs), drop: dropSkip, count: &done.Skips},
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
		err := s.step(func() error {
			return s.each(ctx, func(rows *sql.Rows) error {
				var n int64
				var user string
				var id job.ID
				err := rows.Scan(&n, &user, &id)
				if err == nil && !p.Installed(id, user) {
					gone = append(gone, []driver.Value{n, user})
				}
				return err
			}, find, nanosBound(now.Add(-p.Age)))
		})
		if err == nil {
			_, err = s.dropAll(ctx, drop, gone)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// cut removes rows step by step.
func (s *Store) cut(ctx context.Context, c cut) error {
	if c.bounds == "" {
		return s.cutRange(ctx, c)
	}
	var args []any
	if strings.Contains(c.bounds, "?1") {
		args = append(args, c.keep)
	}
	var from, to int64
	if err := s.read.QueryRowContext(ctx, c.bounds, args...).Scan(&from, &to); err != nil {
		return err
	}
	return s.inSteps(ctx, from, to, func(from, to int64) error {
		c.from, c.to = from, to
		return s.cutRange(ctx, c)
	})
}

// inSteps calls f for one part after the other of a range, as long as f takes about
// stepTime for each.
func (s *Store) inSteps(ctx context.Context, from, to int64, f func(from, to int64) error) error {
	const first = 8
	for width := int64(first); from < to; {
		next := to
		if width < to-from {
			next = from + width
		}
		begun := time.Now()
		if err := f(from, next); err != nil {
			return err
		}
		from = next
		switch took := time.Since(begun); {
		case took > stepTime:
			width = max(1, width/2)
		case took < stepTime/2 && width < math.MaxInt64/2:
			width *= 2
		}
		if err := rest(ctx, begun); err != nil {
			return err
		}
	}
	return nil
}

// cutRange removes the rows of a range.
func (s *Store) cutRange(ctx context.Context, c cut) error {
	for {
		begun := time.Now()
		var rows [][]driver.Value
		err := s.step(func() (err error) {
			rows, err = s.keys(ctx, c)
			return err
		})
		if err != nil {
			return err
		}
		n, err := s.dropAll(ctx, c.drop, rows)
		*c.count += n
		if err != nil || len(rows) < pageRows {
			return err
		}
		if err := rest(ctx, begun); err != nil {
			return err
		}
	}
}

// rest waits for as long as a step took, so that Prune has half of one processor at
// most.
func rest(ctx context.Context, begun time.Time) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(time.Since(begun)):
		return nil
	}
}

// step measures a read of one snapshot, or a transaction.
func (s *Store) step(f func() error) error {
	begun := time.Now()
	err := f()
	s.longest = max(s.longest, time.Since(begun))
	return err
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

// args returns the arguments of find, as far as it has them: the driver refuses more.
func (c *cut) args() []any {
	args := []any{c.keep, pageRows, c.jobs, c.user, c.from, c.to}
	for i := len(args); i > 2; i-- {
		if strings.Contains(c.find, "?"+strconv.Itoa(i)) {
			return args[:i]
		}
	}
	return args[:2]
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
	defer func() { s.longest = max(s.longest, time.Since(begun)) }()
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
