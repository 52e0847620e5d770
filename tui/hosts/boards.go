package hosts

import (
	"context"
	"iter"
	"sync"
	"time"

	"github.com/cronring/cronring/daemon/api"
	"github.com/cronring/cronring/daemon/wake"
)

// How reports of boards are collected, so that a flood of them is shown a few times a second.
const (
	collectTime = 250 * time.Millisecond
	collectRows = 4096
)

// BoardReport is an update of a host's board, or why no more come.
type BoardReport struct {
	Host   string
	Update api.BoardUpdate
	Err    error
}

// Daemon is the part of a daemon that WatchBoards uses.
type Daemon interface {
	Board(ctx context.Context) iter.Seq2[api.BoardUpdate, error]
	Status(ctx context.Context) (api.Status, error)
}

// WatchBoards follows the boards of the first Most of the hosts, each independently of the others,
// and yields some reports at a time until ctx ends. It follows a board again after an error.
func WatchBoards(ctx context.Context, names []string, daemon func(host string) (Daemon, error)) iter.Seq[[]BoardReport] {
	return func(yield func([]BoardReport) bool) {
		ctx, cancel := context.WithCancel(ctx)
		var running sync.WaitGroup
		defer running.Wait()
		defer cancel()
		reports := make(chan BoardReport)
		for _, name := range names[:min(len(names), Most)] {
			running.Go(func() { watchBoard(ctx, name, daemon, reports) })
		}
		for {
			if some := collect(ctx, reports); len(some) == 0 || !yield(some) {
				return
			}
		}
	}
}

// collect returns the reports that arrive within collectTime after the first, or fewer if they have
// many rows. It returns none when ctx ends.
func collect(ctx context.Context, reports <-chan BoardReport) (some []BoardReport) {
	var over <-chan time.Time
	for rows := 0; rows < collectRows; {
		select {
		case r := <-reports:
			some, rows = append(some, r), rows+len(r.Update.Rows)
			if over == nil {
				over = time.After(collectTime)
			}
		case <-over:
			return some
		case <-ctx.Done():
			return nil
		}
	}
	return some
}

// watchBoard reports the board of one host until ctx ends.
func watchBoard(ctx context.Context, name string, daemon func(host string) (Daemon, error), to chan<- BoardReport) {
	backoff := firstPause
	for {
		err := followBoard(ctx, name, daemon, func(u api.BoardUpdate) bool {
			backoff = firstPause
			return report(ctx, to, BoardReport{Host: name, Update: u})
		})
		if !report(ctx, to, BoardReport{Host: name, Err: err}) {
			return
		}
		if wake.Sleep(ctx, backoff) != nil {
			return
		}
		backoff = min(2*backoff, lastPause)
	}
}

// report sends a report, and returns false if ctx ends first.
func report(ctx context.Context, to chan<- BoardReport, r BoardReport) bool {
	select {
	case to <- r:
		return true
	case <-ctx.Done():
		return false
	}
}

// followBoard yields the updates of a board until the daemon ends them, or does not answer a
// question for its state: a network can fail without an error.
func followBoard(ctx context.Context, name string, daemon func(host string) (Daemon, error), yield func(api.BoardUpdate) bool) error {
	d, err := daemon(name)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	go func() {
		for r := range Watch(ctx, []string{name}, func(ctx context.Context, _ string) (api.Status, error) { return d.Status(ctx) }) {
			if r.Err != nil && ctx.Err() == nil {
				cancel(r.Err)
			}
		}
	}()
	for u, err := range d.Board(ctx) {
		switch {
		case context.Cause(ctx) != nil:
			return context.Cause(ctx)
		case err != nil:
			return err
		case !yield(u):
			return ctx.Err()
		}
	}
	return context.Cause(ctx)
}
