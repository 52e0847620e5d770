// Package hosts owns the requests that the dashboard sends to the daemons of several hosts, to all at
// the same time.
package hosts

import (
	"context"
	"errors"
	"iter"
	"sync"
	"time"

	"github.com/cronring/cronring/daemon/api"
	"github.com/cronring/cronring/daemon/wake"
)

// Most is the highest number of hosts that are asked.
const Most = 100

// Times between two questions to a host. After an error the pause doubles from the first to the
// last.
const (
	refresh    = 5 * time.Second
	firstPause = 2 * time.Second
	lastPause  = time.Minute
	patience   = 15 * time.Second // for one answer
)

// Report is the state of a host, or why it is unknown.
type Report struct {
	Host   string
	Status api.Status
	Err    error
	Retry  time.Duration // after an error: until the next question
}

// Ask asks the daemon of a host for its state.
type Ask func(ctx context.Context, host string) (api.Status, error)

// Watch asks the first Most of the hosts again and again, each independently of the others, and
// yields their reports until ctx ends.
func Watch(ctx context.Context, names []string, ask Ask) iter.Seq[Report] {
	return func(yield func(Report) bool) {
		ctx, cancel := context.WithCancel(ctx)
		var running sync.WaitGroup
		defer running.Wait()
		defer cancel()
		reports := make(chan Report)
		for _, name := range names[:min(len(names), Most)] {
			running.Go(func() { watch(ctx, name, ask, reports) })
		}
		for {
			select {
			case r := <-reports:
				if !yield(r) {
					return
				}
			case <-ctx.Done():
				return
			}
		}
	}
}

// watch reports the state of one host until ctx ends.
func watch(ctx context.Context, name string, ask Ask, to chan<- Report) {
	backoff := firstPause
	for {
		r := Report{Host: name}
		r.Status, r.Err = askOnce(ctx, name, ask)
		pause := refresh
		if r.Err == nil {
			backoff = firstPause
		} else {
			pause, r.Retry = backoff, backoff
			backoff = min(2*backoff, lastPause)
		}
		select {
		case to <- r:
		case <-ctx.Done():
			return
		}
		if wake.Sleep(ctx, pause) != nil {
			return
		}
	}
}

// errSlow is the error of a host that does not answer.
var errSlow = errors.New("no answer after 15 s")

func askOnce(ctx context.Context, name string, ask Ask) (api.Status, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, patience, errSlow)
	defer cancel()
	s, err := ask(ctx, name)
	if err != nil && ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	return s, err
}
