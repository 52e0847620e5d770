package prune

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
	"github.com/cronring/cronring/daemon/store/statistics"
)

// Pruner removes history beyond a policy.
type Pruner struct {
	db      *database.DB
	blocks  *statistics.Reader
	running sync.Mutex // held by Prune, with the next two
	swept   time.Time  // when it looked at all jobs
	sizes   sizes
	changes changes
}

// New returns the pruner of a history. blocks makes the blocks that statistics are read from.
func New(db *database.DB, blocks *statistics.Reader) *Pruner {
	return &Pruner{db: db, blocks: blocks}
}

// Note notes that a record of the job with a number was written.
func (s *Pruner) Note(n int64, r *job.Record) { s.changes.note(n, r) }

// Prune searches for rows in steps, each of which reads one snapshot of the database: while a
// snapshot is read, the journal cannot be reset and grows. It removes rows in transactions of
// sliceTime, so that commits can run in between. After stepTime it pauses for as long, so that it
// uses at most half of one processor.
const (
	pageRows  = 500 // rows that one step reads
	stepTime  = 10 * time.Millisecond
	sliceTime = time.Millisecond
)

// sweepEvery is how often Prune checks all jobs. In between it checks those that got new runs or
// skips: the others have as many as before, and their age limit can wait.
const sweepEvery = 24 * time.Hour

// pruning is one Prune.
type pruning struct {
	*database.DB
	pruner  *Pruner
	policy  Policy
	now     time.Time
	done    *Pruned
	changed unchecked
	ages    map[time.Duration]int64 // by age: the first run that is younger
	spent   time.Duration           // in steps since the last rest
	found   map[string]*rows        // by how they are removed
}

// Prune removes history beyond the policy. Marks always stay. Commits may continue meanwhile; a
// second Prune waits for the first.
func (s *Pruner) Prune(ctx context.Context, now time.Time, policy Policy) (done Pruned, err error) {
	s.running.Lock()
	defer s.running.Unlock()
	policy.All = policy.All || now.Sub(s.swept).Abs() >= sweepEvery
	if policy.All {
		s.swept = now
	}
	p := &pruning{DB: s.db, pruner: s, policy: policy, now: now, done: &done, changed: s.changes.take(), ages: map[time.Duration]int64{}, found: map[string]*rows{}}
	for _, part := range []func(context.Context) error{p.jobs, p.others, p.users, p.sizes, p.forget, p.forgetGone, p.blocks} {
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
	for n, id := range p.changed.runs {
		if err := p.runsOf(ctx, n, id); err != nil {
			return err
		}
	}
	for n, id := range p.changed.skips {
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
	if p.policy.DeadLetters > 0 {
		return p.deadLetters(ctx)
	}
	return nil
}

// deadLetters removes the oldest dead letters of users who have too many. Each KiB of their variables and
// parents counts as one more, because these are kept as long as the dead letter.
func (p *pruning) deadLetters(ctx context.Context) error {
	has := map[string]int{}
	var old [][]driver.Value
	last := int64(math.MaxInt64)
	for seen := pageRows; seen == pageRows; {
		err := p.page(ctx, &seen, func(rows *sql.Rows) error {
			var user string
			var size int
			err := rows.Scan(&last, &user, &size)
			if has[user] += 1 + size>>10; has[user] > p.policy.DeadLetters {
				old = append(old, []driver.Value{last})
			}
			return err
		}, letters, last)
		if err != nil {
			return err
		}
	}
	n, err := p.dropAll(ctx, dropDeadLetter, old)
	p.done.DeadLetters += n
	return err
}
