package prune

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"math"
	"time"

	"github.com/cronring/cronring/daemon/store/database"
	"github.com/cronring/cronring/daemon/wake"
)

// rows is rows that were found and are not removed yet.
type rows struct {
	names [][]driver.Value
	count *int
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
		err = p.pause(ctx)
	}
	return err
}

func (p *pruning) took(d time.Duration) {
	p.done.Steps++
	p.done.Longest = max(p.done.Longest, d)
	p.spent += d
}

func (p *pruning) pause(ctx context.Context) error {
	if p.spent < stepTime {
		return ctx.Err()
	}
	if err := wake.Sleep(ctx, p.spent); err != nil {
		return err
	}
	p.spent = 0
	return nil
}

// dropAll removes rows and counts them. Commits pass in between.
func (p *pruning) dropAll(ctx context.Context, text string, keys [][]driver.Value) (dropped int, err error) {
	for dropped < len(keys) && err == nil {
		var n int
		if n, err = p.drop(ctx, text, keys[dropped:]); err == nil {
			dropped += n
			err = p.pause(ctx)
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
