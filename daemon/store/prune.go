package store

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"math"
	"sync"
	"time"

	"github.com/cronring/cronring/daemon/job"
	"github.com/cronring/cronring/daemon/store/database"
)

// Policy limits the history that is kept. Zero fields mean no limit.
type Policy struct {
	PerJob  int           // runs, and skips, of one job
	Age     time.Duration // since the decision
	Letters int           // dead letters of one account
	Output  int64         // bytes that runs of one account but root have printed
	Rows    int           // maximum runs, skips, backfills and other facts of each user other than root, for each kind
	Gone    int           // jobs of each user other than root that are no longer installed
	All     bool          // look at all jobs, as once in sweepEvery

	// Own returns the limits of a job instead of PerJob and Age; ok is false for jobs without their
	// own. nil means that no job has its own.
	Own func(id job.ID) (k Keep, ok bool)

	// Installed reports whether a user has a job of that name, or a live run of it. The data of
	// other jobs is removed once it is as old as Age, or exceeds Gone. nil keeps everything. The
	// functions are called by the goroutine of Prune.
	Installed func(id job.ID, user string) bool
}

// Keep limits the history of one job. Zero limits keep everything. They do not affect runs that
// another user had under the same name.
type Keep struct {
	User   string
	PerJob int
	Age    time.Duration
}

// Pruned counts what Prune removed.
type Pruned struct {
	Runs, Skips, Letters int
	Outputs              int // runs whose output was removed
	Jobs                 int // jobs that were removed

	Steps   int           // reads of one snapshot, and transactions
	Longest time.Duration // of the steps
	Widest  int           // most rows that one step looked at
}

// Prune searches for rows in steps, each of which reads one snapshot of the database: while a
// snapshot is read, the journal cannot be reset and grows. It removes rows in transactions of
// sliceTime, so that commits can run in between. After stepTime it pauses for as long, so that it
// uses at most half of one processor.
const (
	pageRows  = 500 // that one step looks at
	stepTime  = 10 * time.Millisecond
	sliceTime = time.Millisecond
)

// sweepEvery is how often Prune checks all jobs. In between it checks those that got new runs or
// skips: the others have as many as before, and their age limit can wait.
const sweepEvery = 24 * time.Hour

// news lists the jobs with rows that Prune has not checked yet.
type news struct {
	mu sync.Mutex
	unchecked
}

// unchecked are jobs with new rows.
type unchecked struct {
	runs, skips map[int64]job.ID // jobs by number
	users       map[string]bool  // their users
}

// note takes a record of the job with a number.
func (k *news) note(n int64, r *job.Record) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.runs == nil {
		k.unchecked = unchecked{map[int64]job.ID{}, map[int64]job.ID{}, map[string]bool{}}
	}
	if r.Run == nil {
		k.skips[n], k.users[r.User] = r.Job, true
		return
	}
	k.runs[n], k.users[r.Run.User] = r.Job, true
}

// take returns what was noted since the last call.
func (k *news) take() unchecked {
	k.mu.Lock()
	defer k.mu.Unlock()
	taken := k.unchecked
	k.unchecked = unchecked{}
	return taken
}

// cut is one way in which rows leave the history. Readers find the rows and the writer only removes
// them, so that commits wait for removals, but not for searches.
type cut struct {
	find  string // rows between the keys ?1 and ?2 in their order, ?3 at most: key, what names the row, whether it goes
	to    int64  // rows with this key and later ones stay
	args  []any  // of find, from ?4 on
	drop  string // removes the row of that name
	count *int
}

// over selects the runs that Prune may remove: no live run, not a job's newest, not the run that
// ended its newest occurrence, and no dead letter. A run that is over never becomes any of these
// again.
const over = `state IN ('ended', 'dropped') AND run.id < (SELECT max(id) FROM run AS newest WHERE newest.job = run.job)
	AND NOT EXISTS (SELECT 1 FROM ledger WHERE ledger.job = run.job AND ledger.run = run.id)
	AND NOT EXISTS (SELECT 1 FROM dead WHERE dead.run = run.id)`

// page selects the rows of one step, in the order of an index; gone is an expression for whether
// they are removed.
func page(key, name, gone, from string) string {
	return "SELECT " + key + ", " + name + ", " + gone + " " + from + " AND " + key + " > ?1 AND " + key + " < ?2 ORDER BY " + key + " LIMIT ?3"
}

// Where rows are found. The first value of each is a job or a user.
const (
	runsOfJob  = "FROM run WHERE job = ?4"
	skipsOfJob = "FROM occurrence WHERE job = ?4 AND run IS NULL"

	runsOfUser  = "FROM run WHERE user = ?4 AND user <> 'root'"
	skipsOfUser = "FROM occurrence WHERE user = ?4 AND user <> 'root' AND run IS NULL"
	fillsOfUser = "FROM backfill WHERE user = ?4 AND user <> 'root'"
	factsOfUser = "FROM record WHERE share = ?4 AND share <> ''"
)

const skipName = "due, job, era"

// fillOver is over for backfills: it excludes running ones and the newest.
const fillOver = "state <> 'going' AND id < (SELECT max(id) FROM backfill)"

var (
	moreRuns  = page("id", "id", "("+over+") AND (?5 = '' OR user = ?5)", runsOfJob)
	allRuns   = page("id", "id", "state IN ('ended', 'dropped')", runsOfJob)
	moreSkips = page("due", skipName, "due < ?5 OR at < ?6", skipsOfJob)

	oldRecords   = page("at", "id", "1", "FROM record WHERE true")
	oldLives     = page("seen", "id", "id < (SELECT max(id) FROM life)", "FROM life WHERE true")
	oldBackfills = page("asked", "id", fillOver, "FROM backfill WHERE true")
	letters      = "SELECT run, user FROM dead WHERE run < ? ORDER BY run DESC LIMIT ?"

	moreRunsOfUser  = page("id", "id", over, runsOfUser)
	moreSkipsOfUser = page("due", skipName, "1", skipsOfUser)
	moreFillsOfUser = page("id", "id", fillOver, fillsOfUser)
	moreFactsOfUser = page("id", "id", "1", factsOfUser)
)

const (
	dropRun      = "DELETE FROM run WHERE id = ?"
	dropSkip     = "DELETE FROM occurrence WHERE due = ? AND job = ? AND era = ?"
	dropRecord   = "DELETE FROM record WHERE id = ?"
	dropLife     = "DELETE FROM life WHERE id = ?"
	dropBackfill = "DELETE FROM backfill WHERE id = ?"
	dropLetter   = "DELETE FROM dead WHERE run = ?"
	dropOutput   = "DELETE FROM output WHERE run = ?"
)

// pruning is one Prune.
type pruning struct {
	*Store
	policy Policy
	now    time.Time
	done   *Pruned
	news   unchecked
	ages   map[time.Duration]int64 // by age: the first run that is younger
	spent  time.Duration           // in steps since the last rest
	found  map[string]*rows        // by how they are removed
}

// rows is rows that were found and are not removed yet.
type rows struct {
	names [][]driver.Value
	count *int
}

// Prune removes history beyond the policy. Marks always stay. Commits may continue meanwhile; a
// second Prune waits for the first.
func (s *Store) Prune(ctx context.Context, now time.Time, policy Policy) (done Pruned, err error) {
	s.pruning.Lock()
	defer s.pruning.Unlock()
	policy.All = policy.All || now.Sub(s.swept).Abs() >= sweepEvery
	if policy.All {
		s.swept = now
	}
	p := &pruning{Store: s, policy: policy, now: now, done: &done, news: s.news.take(), ages: map[time.Duration]int64{}, found: map[string]*rows{}}
	for _, part := range []func(context.Context) error{p.jobs, p.others, p.users, p.outputs, p.forget, p.forgetGone, p.blocks} {
		err := part(ctx)
		if err == nil {
			err = p.flush(ctx, 1)
		}
		if err != nil {
			s.swept = time.Time{}
			return done, fmt.Errorf("prune history: %w", err)
		}
	}
	return done, nil
}

// jobs removes the runs and skips of jobs that have too many, or too old ones.
func (p *pruning) jobs(ctx context.Context) error {
	if p.policy.All {
		return p.eachJob(ctx, func(n int64, id job.ID) error { return errors.Join(p.runsOf(ctx, n, id), p.skipsOf(ctx, n, id)) })
	}
	for n, id := range p.news.runs {
		if err := p.runsOf(ctx, n, id); err != nil {
			return err
		}
	}
	for n, id := range p.news.skips {
		if err := p.skipsOf(ctx, n, id); err != nil {
			return err
		}
	}
	return nil
}

// eachJob calls f for all jobs.
func (p *pruning) eachJob(ctx context.Context, f func(n int64, id job.ID) error) error {
	ids, last := map[int64]job.ID{}, int64(0)
	for seen := pageRows; seen == pageRows; {
		clear(ids)
		err := p.page(ctx, &seen, func(rows *sql.Rows) error {
			var id job.ID
			err := rows.Scan(&last, &id)
			ids[last] = id
			return err
		}, "SELECT n, id FROM job WHERE n > ? ORDER BY n LIMIT ?", last)
		if err != nil {
			return err
		}
		for n, id := range ids {
			if err := f(n, id); err != nil {
				return err
			}
		}
	}
	return nil
}

// page calls f for the rows of a query, whose last argument is pageRows, in one step,
// and counts them. With fewer than pageRows it was the last page.
func (p *pruning) page(ctx context.Context, seen *int, f func(*sql.Rows) error, query string, args ...any) error {
	*seen = 0
	defer func() { p.done.Widest = max(p.done.Widest, *seen) }()
	return p.step(ctx, func() error {
		return p.Each(ctx, func(rows *sql.Rows) error {
			*seen++
			return f(rows)
		}, query, append(args, pageRows)...)
	})
}

func (p *pruning) keep(id job.ID) Keep {
	if p.policy.Own != nil {
		if k, ok := p.policy.Own(id); ok {
			return k
		}
	}
	return Keep{PerJob: p.policy.PerJob, Age: p.policy.Age}
}

func (p *pruning) runsOf(ctx context.Context, n int64, id job.ID) error {
	k := p.keep(id)
	most, err := p.oldest(ctx, "id", runsOfJob, n, k.PerJob)
	if err != nil {
		return err
	}
	young, err := p.youngest(ctx, k.Age)
	if err != nil {
		return err
	}
	return p.cut(ctx, cut{find: moreRuns, to: max(most, young), args: []any{n, k.User}, drop: dropRun, count: &p.done.Runs})
}

// youngest returns the number of the first run that is younger than an age.
func (p *pruning) youngest(ctx context.Context, age time.Duration) (int64, error) {
	if age == 0 {
		return math.MinInt64, nil
	}
	if _, ok := p.ages[age]; !ok {
		id, err := p.RunBefore(ctx, p.now.Add(-age))
		if err != nil {
			return 0, err
		}
		p.ages[age] = id + 1
	}
	return p.ages[age], nil
}

// skipsOf goes by the due time, which is before that of the decision.
func (p *pruning) skipsOf(ctx context.Context, n int64, id job.ID) error {
	k, old := p.keep(id), int64(math.MinInt64)
	most, err := p.oldest(ctx, "due", skipsOfJob, n, k.PerJob)
	if err != nil {
		return err
	}
	if k.Age > 0 {
		old = database.NanosBound(p.now.Add(-k.Age))
	}
	return p.cut(ctx, cut{find: moreSkips, to: max(most, old), args: []any{n, most, old}, drop: dropSkip, count: &p.done.Skips})
}

// others removes old facts that are not runs or skips, and excess dead letters.
func (p *pruning) others(ctx context.Context) error {
	uncounted := new(int)
	var cuts []cut
	if p.policy.Age > 0 {
		before := database.NanosBound(p.now.Add(-p.policy.Age))
		cuts = append(cuts,
			cut{find: oldRecords, to: before, drop: dropRecord, count: uncounted},
			cut{find: oldLives, to: before, drop: dropLife, count: uncounted},
			cut{find: oldBackfills, to: before, drop: dropBackfill, count: uncounted})
	}
	for _, c := range cuts {
		if err := p.cut(ctx, c); err != nil {
			return err
		}
	}
	if p.policy.Letters > 0 {
		return p.letters(ctx)
	}
	return nil
}

// letters removes the oldest dead letters of users who have too many.
func (p *pruning) letters(ctx context.Context) error {
	has := map[string]int{}
	var old [][]driver.Value
	last := int64(math.MaxInt64)
	for seen := pageRows; seen == pageRows; {
		err := p.page(ctx, &seen, func(rows *sql.Rows) error {
			var user string
			err := rows.Scan(&last, &user)
			if has[user]++; has[user] > p.policy.Letters {
				old = append(old, []driver.Value{last})
			}
			return err
		}, letters, last)
		if err != nil {
			return err
		}
	}
	n, err := p.dropAll(ctx, dropLetter, old)
	p.done.Letters += n
	return err
}

// oldest returns the key of the oldest of the newest most rows of a job or user; the
// lowest number if there are fewer, or most is 0. It counts some rows at a time.
func (p *pruning) oldest(ctx context.Context, key, rows string, of any, most int) (at int64, err error) {
	if most == 0 {
		return math.MinInt64, nil
	}
	at = math.MaxInt64
	query := "SELECT " + key + " " + rows + " AND " + key + " < ?1 ORDER BY " + key + " DESC LIMIT 1 OFFSET ?2"
	for err == nil && most > 0 {
		some := min(most, pageRows)
		p.done.Widest = max(p.done.Widest, some)
		err = p.step(ctx, func() error { return p.Row(ctx, query, at, some-1, nil, of).Scan(&at) })
		most -= some
	}
	if errors.Is(err, sql.ErrNoRows) {
		return math.MinInt64, nil
	}
	return at, err
}

// cut finds rows page by page, and removes them when they are many.
func (p *pruning) cut(ctx context.Context, c cut) error {
	if p.found[c.drop] == nil {
		p.found[c.drop] = &rows{count: c.count}
	}
	r := p.found[c.drop]
	for from := int64(math.MinInt64); c.to > math.MinInt64; {
		seen := 0
		err := p.step(ctx, func() error {
			return p.Each(ctx, func(row *sql.Rows) error {
				seen++
				name, goes, err := scanName(row, &from)
				if goes {
					r.names = append(r.names, name)
				}
				return err
			}, c.find, append([]any{from, c.to, pageRows}, c.args...)...)
		})
		p.done.Widest = max(p.done.Widest, seen)
		if err != nil {
			return err
		}
		if err := p.flush(ctx, pageRows); err != nil || seen < pageRows {
			return err
		}
	}
	return nil
}

// flush removes the rows that were found, if there are at least least of them.
func (p *pruning) flush(ctx context.Context, least int) error {
	for drop, r := range p.found {
		if len(r.names) < least {
			continue
		}
		n, err := p.dropAll(ctx, drop, r.names)
		*r.count += n
		if err != nil {
			return err
		}
		r.names = nil
	}
	return nil
}

// scanName reads a row of a page.
func scanName(row *sql.Rows, key *int64) (name []driver.Value, goes bool, err error) {
	columns, err := row.Columns()
	if err != nil {
		return nil, false, err
	}
	name = make([]driver.Value, len(columns)-2)
	dest := []any{key}
	for i := range name {
		dest = append(dest, &name[i])
	}
	return name, goes, row.Scan(append(dest, &goes)...)
}

// step measures a read of one snapshot, or a transaction, and rests now and then.
func (p *pruning) step(ctx context.Context, f func() error) error {
	begun := time.Now()
	err := f()
	p.took(time.Since(begun))
	if err == nil {
		err = p.rest(ctx)
	}
	return err
}

func (p *pruning) took(d time.Duration) {
	p.done.Steps++
	p.done.Longest = max(p.done.Longest, d)
	p.spent += d
}

func (p *pruning) rest(ctx context.Context) error {
	if p.spent < stepTime {
		return ctx.Err()
	}
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(p.spent):
		p.spent = 0
		return nil
	}
}

// dropAll removes rows and counts them. Commits pass in between.
func (p *pruning) dropAll(ctx context.Context, text string, keys [][]driver.Value) (dropped int, err error) {
	for dropped < len(keys) && err == nil {
		var n int
		if n, err = p.drop(ctx, text, keys[dropped:]); err == nil {
			dropped += n
			err = p.rest(ctx)
		}
	}
	return dropped, err
}

// drop removes as many rows as one transaction has time for, at least one. Rows that come back after
// a power loss are removed again.
func (p *pruning) drop(ctx context.Context, text string, keys [][]driver.Value) (n int, err error) {
	var begun time.Time
	err = p.WriteUnsynced(ctx, func(w *database.Writer) error {
		begun = time.Now()
		if text == dropJob {
			w.ForgetJobs()
		}
		return w.With(ctx, text, func(stmt driver.Stmt) error {
			for n < len(keys) && (n == 0 || time.Since(begun) < sliceTime) {
				if _, err := w.Exec(stmt, keys[n]...); err != nil {
					return err
				}
				n++
			}
			return nil
		})
	})
	if !begun.IsZero() {
		p.took(time.Since(begun))
	}
	if err != nil {
		return 0, err
	}
	return n, nil
}
