package prune

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"math"
	"slices"

	"github.com/cronring/cronring/daemon/store/statistics"
)

const nextRun = "SELECT id / ?2 FROM run WHERE id >= ?1 * ?2 ORDER BY id LIMIT 1"

// blocks makes the blocks that are missing, the newest first.
func (p *pruning) blocks(ctx context.Context) error {
	var top int64
	if err := p.Row(ctx, endedRuns).Scan(&top); err != nil {
		return err
	}
	missing, err := p.missingBlocks(ctx, (top+1)/statistics.BlockRuns)
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
		err = p.step(ctx, func() error { return p.Row(ctx, nextRun, n, statistics.BlockRuns).Scan(&n) })
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
	if _, err := p.dropAll(ctx, statistics.BeginBlock, [][]driver.Value{{n}}); err != nil {
		return err
	}
	var data []byte
	err := p.step(ctx, func() (err error) {
		data, err = p.pruner.blocks.MakeBlock(ctx, n)
		return err
	})
	if err == nil {
		_, err = p.dropAll(ctx, statistics.FillBlock, [][]driver.Value{{n, data}})
	}
	return err
}
