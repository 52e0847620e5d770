package prune

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"slices"
	"time"

	"github.com/cronring/cronring/daemon/store/database"
)

// usersOf lists the users of an index without reading all of it.
func usersOf(file, column, but string) string {
	which := " FROM " + file + " WHERE " + column + " <> '" + but + "'"
	if file == "occurrence" {
		which += " AND run IS NULL"
	}
	return `WITH RECURSIVE users (name) AS (SELECT min(` + column + `)` + which + ` UNION ALL
		SELECT (SELECT min(` + column + `)` + which + ` AND ` + column + ` > name) FROM users WHERE name IS NOT NULL)
		SELECT name FROM users WHERE name IS NOT NULL`
}

// users removes the oldest rows of users who have too many. It looks at one user at a
// time, so that no query takes long.
func (p *pruning) users(ctx context.Context) error {
	if p.policy.Rows == 0 {
		return nil
	}
	uncounted := new(int)
	for _, kind := range []struct {
		users, key, rows, find, drop string
		count                        *int
	}{
		{usersOf("run", "user", "root"), "id", runsOfUser, moreRunsOfUser, dropRun, &p.done.Runs},
		{usersOf("occurrence", "user", "root"), "due", skipsOfUser, moreSkipsOfUser, dropSkip, &p.done.Skips},
		{usersOf("backfill", "user", "root"), "id", fillsOfUser, moreFillsOfUser, dropBackfill, uncounted},
		{usersOf("record", "share", ""), "id", factsOfUser, moreFactsOfUser, dropRecord, uncounted},
	} {
		var users []string
		err := p.step(ctx, func() error {
			return p.Each(ctx, func(rows *sql.Rows) error {
				var user string
				err := rows.Scan(&user)
				if p.policy.All || kind.count == uncounted || p.changed.users[user] {
					users = append(users, user)
				}
				return err
			}, kind.users)
		})
		if err != nil {
			return err
		}
		for _, user := range users {
			most, err := p.oldest(ctx, kind.key, kind.rows, user, p.policy.Rows)
			if err == nil {
				err = p.cut(ctx, cut{find: kind.find, to: most, args: []any{user}, drop: kind.drop, count: kind.count})
			}
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// printed counts how much the runs of users have printed. It includes output that was removed after
// it was counted.
type printed struct {
	upTo  int64 // the newest run
	bytes map[string]int64
}

const (
	endedRuns = "SELECT coalesce((SELECT min(id) - 1 FROM run WHERE " + database.Live + "), (SELECT max(id) FROM run), 0)"
	outputOf  = `SELECT output.run, user, sum(length(data)) FROM output CROSS JOIN run ON run.id = output.run
		WHERE output.run > ? AND output.run <= ? GROUP BY output.run ORDER BY output.run DESC`
)

// outputs removes the oldest output of users whose runs printed too much. It reads only runs that
// it has not counted yet, until a user seems to exceed the limit.
func (p *pruning) outputs(ctx context.Context) error {
	if p.policy.Output == 0 || p.Bytes() < p.policy.Output {
		return nil // all that is kept is less
	}
	var top int64
	if err := p.Row(ctx, endedRuns).Scan(&top); err != nil {
		return err
	}
	exceeds := p.pruner.printed.bytes == nil
	if !exceeds {
		err := p.eachOutput(ctx, p.pruner.printed.upTo, top, func(_ int64, user string, size int64) {
			p.pruner.printed.bytes[user] += size
			exceeds = exceeds || p.pruner.printed.bytes[user] > p.policy.Output
		})
		if err != nil {
			p.pruner.printed.bytes = nil
			return err
		}
	}
	p.pruner.printed.upTo = top
	if !exceeds {
		return nil
	}
	var old [][]driver.Value
	bytes := map[string]int64{}
	err := p.eachOutput(ctx, 0, top, func(run int64, user string, size int64) {
		if bytes[user] += size; bytes[user] > p.policy.Output {
			bytes[user] -= size
			old = append(old, []driver.Value{run})
		}
	})
	if err != nil {
		return err
	}
	slices.Reverse(old)
	n, err := p.dropAll(ctx, dropOutput, old)
	p.done.Outputs += n
	if err == nil {
		p.pruner.printed.bytes = bytes
	}
	return err
}

// eachOutput calls f for the runs from (exclusive) to (inclusive), newest first, with
// what each has printed. As runs can have thousands
// of pieces of output, the number of runs of a step follows the time that it takes.
func (p *pruning) eachOutput(ctx context.Context, from, to int64, f func(run int64, user string, size int64)) error {
	for width := int64(8); from < to; {
		first := max(from, to-width)
		var took time.Duration
		err := p.step(ctx, func() error {
			begun := time.Now()
			defer func() { took = time.Since(begun) }()
			return p.Each(ctx, func(rows *sql.Rows) error {
				var run, size int64
				var user string
				err := rows.Scan(&run, &user, &size)
				f(run, user, size)
				return err
			}, outputOf, first, to)
		})
		if err != nil {
			return err
		}
		to = first
		switch {
		case took > stepTime:
			width = max(1, width/2)
		case took < stepTime/2 && width < pageRows:
			width *= 2
		}
	}
	return nil
}
