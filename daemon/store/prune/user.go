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

// sizes counts what the runs of users have printed, and their variables and parents. It includes what
// was removed after it was counted.
type sizes struct {
	upTo  int64 // the newest run before the oldest live one
	bytes map[string]int64
}

const (
	endedRuns  = "SELECT coalesce((SELECT min(id) - 1 FROM run WHERE " + database.Live + "), (SELECT max(id) FROM run), 0)"
	newestRuns = endedRuns + ", (SELECT coalesce(max(id), 0) FROM run)"
	sizesOf    = `SELECT id, user, coalesce((SELECT sum(length(data)) FROM output WHERE output.run = run.id), 0) +
		CASE WHEN ` + trimmable + ` THEN coalesce(octet_length(asked -> '$.env'), 0) + coalesce(octet_length(parents), 0) ELSE 0 END
		FROM run WHERE id > ? AND id <= ? ORDER BY id DESC`
)

// sizes removes the oldest output, variables and parents of users whose runs have too much. It reads
// only runs that it has not counted yet, and those since the oldest live run, until a user seems to
// exceed the limit.
func (p *pruning) sizes(ctx context.Context) error {
	if p.policy.Bytes == 0 || p.DB.Bytes() < p.policy.Bytes {
		return nil // all that is kept is less
	}
	var settled, newest int64
	if err := p.Row(ctx, newestRuns).Scan(&settled, &newest); err != nil {
		return err
	}
	known := &p.pruner.sizes
	exceeds := known.bytes == nil
	if !exceeds {
		recent := map[string]int64{}
		err := p.eachSize(ctx, known.upTo, newest, func(run int64, user string, size int64) {
			if run > settled {
				recent[user] += size
			} else {
				known.bytes[user] += size
			}
			exceeds = exceeds || known.bytes[user]+recent[user] > p.policy.Bytes
		})
		if err != nil {
			known.bytes = nil
			return err
		}
	}
	if known.upTo = settled; exceeds {
		return p.removeOldest(ctx, settled, newest)
	}
	return nil
}

// removeOldest removes what exceeds the limit, and counts the rest.
func (p *pruning) removeOldest(ctx context.Context, settled, newest int64) error {
	var old [][]driver.Value
	all, bytes := map[string]int64{}, map[string]int64{}
	err := p.eachSize(ctx, 0, newest, func(run int64, user string, size int64) {
		if all[user]+size > p.policy.Bytes {
			old = append(old, []driver.Value{run})
			return
		}
		if all[user] += size; run <= settled {
			bytes[user] += size
		}
	})
	if err != nil {
		return err
	}
	slices.Reverse(old)
	n, err := p.dropAll(ctx, dropOutput, old)
	p.done.Outputs += n
	if err == nil {
		_, err = p.dropAll(ctx, trim, old)
	}
	if err == nil {
		p.pruner.sizes.bytes = bytes
	}
	return err
}

// eachSize calls f for the runs from (exclusive) to (inclusive), newest first, with their sizes. As runs
// can have thousands of pieces of output, the number of runs of a step follows the time that it takes.
func (p *pruning) eachSize(ctx context.Context, from, to int64, f func(run int64, user string, size int64)) error {
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
			}, sizesOf, first, to)
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
