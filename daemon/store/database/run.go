package database

import (
	"context"
	"encoding/json"
	"fmt"
	"time"
)

// What job.Run.Failed, job.Run.OK and job.RunState.Live mean, and which runs are of
// occurrences that were not run after all. All but WasOK are conditions of indexes
// as well, which serve only queries with the same words. Attempts that others follow
// are among the failed, and preempted ones only in the index.
const (
	IsFailed = Failed + " AND NOT (verdict = 'retry' AND reason = 'preempted')"

	Failed  = "outcome <> '' AND verdict NOT IN ('ok', 'skip', 'left') AND (verdict <> '' OR outcome <> 'exited' OR code <> 0)"
	WasOK   = "(verdict = 'ok' OR verdict = '' AND outcome = 'exited' AND code = 0)"
	Live    = "state NOT IN ('ended', 'dropped')"
	Skipped = "(state = 'dropped' AND attempt <= 1 OR verdict = 'skip')"
)

// RunBefore returns the number of the newest run decided before a time. Where the clock
// was set back, runs of before that may have higher numbers: they are taken as
// decided later.
func (db *DB) RunBefore(ctx context.Context, t time.Time) (id int64, err error) {
	row := db.read.QueryRowContext(ctx, `SELECT coalesce((SELECT id FROM run INDEXED BY run_decided
		WHERE decided < ? ORDER BY decided DESC LIMIT 1), 0)`, NanosBound(t))
	if err := row.Scan(&id); err != nil {
		return 0, fmt.Errorf("find the run before a time: %w", err)
	}
	return id, nil
}

// RunsBetween returns the numbers of the newest runs decided before two times: the runs decided from the
// first to the second have higher numbers than the first one, and none higher than the second.
func (db *DB) RunsBetween(ctx context.Context, from, to time.Time) (first, last int64, err error) {
	if first, err = db.RunBefore(ctx, from); err == nil {
		last, err = db.RunBefore(ctx, to)
	}
	return first, last, err
}

// List returns names or numbers as the JSON array that json_each reads.
func List[T ~string | ~int64](values []T) string {
	text, _ := json.Marshal(values) // such values can always be encoded
	return string(text)
}
