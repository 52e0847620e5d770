package store

import (
	"bytes"
	"context"
	"database/sql"
	"database/sql/driver"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/cronring/cronring/daemon/job"
)

// blockRuns is how many numbers of runs a block covers, as the triggers of the schema
// have it. To read a million runs from blocks takes a twentieth of the time that
// their rows take.
const blockRuns = 1024

// A block holds its runs newest first: the JSON of their kinds, a zero byte, and
// blockFields numbers of each run.
const blockFields = 11

// runKind is what many runs have in common.
type runKind struct {
	User    string          `json:"user"`
	Trigger job.Trigger     `json:"trigger"`
	State   job.RunState    `json:"state"`
	Outcome job.OutcomeKind `json:"outcome"`
	Verdict job.Verdict     `json:"verdict"`
}

// Which times of a run are known.
const (
	knowsDue = 1 << iota
	knowsStarted
	knowsEnded
)

const runsOfBlock = `SELECT id, job, due, decided, started, ended, code, cpu, memory, user, trigger, state, outcome, verdict
	FROM run WHERE id >= ? AND id < ? ORDER BY id DESC`

// makeBlock reads the runs of a block.
func (s *Store) makeBlock(ctx context.Context, n int64) ([]byte, error) {
	var numbers []byte
	var kinds []runKind
	index := map[runKind]int{}
	var newer int64 // when the run before was decided
	err := s.each(ctx, func(rows *sql.Rows) error {
		var id, in, decided, code, cpu, memory, known int64
		var due, started, ended sql.NullInt64
		var kind runKind
		err := rows.Scan(&id, &in, &due, &decided, &started, &ended, &code, &cpu, &memory,
			&kind.User, &kind.Trigger, &kind.State, &kind.Outcome, &kind.Verdict)
		for bit, t := range map[int64]sql.NullInt64{knowsDue: due, knowsStarted: started, knowsEnded: ended} {
			if t.Valid {
				known |= bit
			}
		}
		k, ok := index[kind]
		if !ok {
			k = len(kinds)
			kinds, index[kind] = append(kinds, kind), k
		}
		for _, v := range [blockFields]int64{
			id % blockRuns, in, int64(k), known, newer - decided, due.Int64 - decided, started.Int64 - decided, ended.Int64 - started.Int64, code, cpu, memory,
		} {
			numbers = binary.AppendVarint(numbers, v)
		}
		newer = decided
		return err
	}, runsOfBlock, n*blockRuns, (n+1)*blockRuns)
	if err != nil {
		return nil, err
	}
	head, err := json.Marshal(kinds)
	return slices.Concat(head, []byte{0}, numbers), err
}

var errBlock = errors.New("a block of runs is damaged")

// eachOfBlock calls f for the runs of a block whose numbers are above first and up to
// last, newest first. jobs are by number.
func eachOfBlock(data []byte, n int64, first, last job.RunID, jobs []job.ID, f func(*job.Run)) error {
	var kinds []runKind
	head, rows, ok := bytes.Cut(data, []byte{0})
	if err := json.Unmarshal(head, &kinds); err != nil || !ok {
		return errors.Join(errBlock, err)
	}
	var r job.Run
	var decided int64
	var v [blockFields]int64
	for len(rows) > 0 {
		for i := range v {
			value, size := binary.Varint(rows)
			if size <= 0 {
				return errBlock
			}
			v[i], rows = value, rows[size:]
		}
		decided -= v[4]
		if r.ID = job.RunID(n*blockRuns + v[0]); r.ID <= first || r.ID > last {
			continue
		}
		if uint64(v[1]) >= uint64(len(jobs)) || uint64(v[2]) >= uint64(len(kinds)) {
			return errBlock
		}
		kind, known := &kinds[v[2]], v[3]
		at := func(bit, nanos int64) time.Time { return instant(sql.NullInt64{Int64: nanos, Valid: known&bit != 0}) }
		r.Job, r.User, r.Trigger, r.State, r.Verdict = jobs[v[1]], kind.User, kind.Trigger, kind.State, kind.Verdict
		r.Decided, r.Due = fromNanos(decided), at(knowsDue, decided+v[5])
		r.Started, r.Ended = at(knowsStarted, decided+v[6]), at(knowsEnded, decided+v[6]+v[7])
		r.Outcome.Kind, r.Outcome.Code = kind.Outcome, int(v[8])
		r.Usage.CPU, r.Usage.Memory = time.Duration(v[9]), v[10]
		f(&r)
	}
	return nil
}

// allBetween is Between of all jobs: from blocks, and from rows where there are none.
func (s *Store) allBetween(ctx context.Context, first, last job.RunID, n int, f func(*job.Run)) error {
	jobs, err := s.jobsByNumber(ctx)
	if err != nil {
		return err
	}
	left := n
	take := func(r *job.Run) {
		if left > 0 {
			f(r)
		}
		left--
	}
	rows := func(from, to job.RunID) error {
		if left <= 0 || from >= to {
			return nil
		}
		return s.eachBrief(ctx, take, "FROM run CROSS JOIN job ON job.n = run.job WHERE run.id > ? AND run.id <= ? ORDER BY run.id DESC LIMIT ?", from, to, left)
	}
	for n := int64(last) / blockRuns; left > 0 && last > first; n-- {
		var data []byte
		err := s.read.QueryRowContext(ctx, "SELECT n, runs FROM block WHERE n <= ? AND n >= ? AND runs NOTNULL ORDER BY n DESC LIMIT 1", n, int64(first)/blockRuns).Scan(&n, &data)
		if errors.Is(err, sql.ErrNoRows) {
			return rows(first, last)
		}
		begin := max(first, job.RunID(n*blockRuns-1))
		if err == nil {
			err = rows(max(first, job.RunID(n*blockRuns+blockRuns-1)), last)
		}
		if err == nil {
			err = eachOfBlock(data, n, begin, last, jobs, take)
		}
		if err != nil {
			return fmt.Errorf("read block %d: %w", n, err)
		}
		last = begin
	}
	return nil
}

func (s *Store) jobsByNumber(ctx context.Context) (jobs []job.ID, err error) {
	err = s.each(ctx, func(rows *sql.Rows) error {
		var n int
		var id job.ID
		err := rows.Scan(&n, &id)
		jobs = append(jobs, make([]job.ID, max(0, n-len(jobs)))...)
		jobs = append(jobs, id)
		return err
	}, "SELECT n, id FROM job ORDER BY n")
	if err != nil {
		return nil, fmt.Errorf("read jobs: %w", err)
	}
	return jobs, nil
}

// What blocks are made with. A block whose runs change while they are read is not
// there any more when it is to be filled.
const (
	beginBlock = "INSERT INTO block (n) VALUES (?) ON CONFLICT DO NOTHING"
	fillBlock  = "UPDATE block SET runs = ?2 WHERE n = ?1"
	nextRun    = "SELECT id / ?2 FROM run WHERE id >= ?1 * ?2 ORDER BY id LIMIT 1"
)

// blocks makes the blocks that are missing, the newest first.
func (p *pruning) blocks(ctx context.Context) error {
	var top int64
	if err := p.read.QueryRowContext(ctx, endedRuns).Scan(&top); err != nil {
		return err
	}
	missing, err := p.missingBlocks(ctx, (top+1)/blockRuns)
	if err != nil {
		return err
	}
	for _, n := range slices.Backward(missing) {
		if err := p.block(ctx, n); err != nil {
			return err
		}
	}
	return nil
}

// missingBlocks lists the blocks below a number that have runs and are not there.
func (p *pruning) missingBlocks(ctx context.Context, end int64) (missing []int64, err error) {
	have := map[int64]bool{}
	from := int64(math.MinInt64)
	for seen := pageRows; seen == pageRows && err == nil; {
		err = p.page(ctx, &seen, func(rows *sql.Rows) error {
			err := rows.Scan(&from)
			have[from] = true
			return err
		}, "SELECT n FROM block WHERE n > ? AND runs NOTNULL ORDER BY n LIMIT ?", from)
	}
	for n := int64(0); n < end && err == nil; n++ {
		if have[n] {
			continue
		}
		err = p.step(ctx, func() error { return p.read.QueryRowContext(ctx, nextRun, n, blockRuns).Scan(&n) })
		if errors.Is(err, sql.ErrNoRows) {
			return missing, nil
		}
		if err == nil && n < end && !have[n] {
			missing = append(missing, n)
		}
	}
	return missing, err
}

func (p *pruning) block(ctx context.Context, n int64) error {
	if _, err := p.dropAll(ctx, beginBlock, [][]driver.Value{{n}}); err != nil {
		return err
	}
	var data []byte
	err := p.step(ctx, func() (err error) {
		data, err = p.makeBlock(ctx, n)
		return err
	})
	if err == nil {
		_, err = p.dropAll(ctx, fillBlock, [][]driver.Value{{n, data}})
	}
	return err
}
