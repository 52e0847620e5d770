package daemon

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"

	"github.com/cronring/cronring/daemon/clock"
	"github.com/cronring/cronring/daemon/engine"
	"github.com/cronring/cronring/daemon/server"
	"github.com/cronring/cronring/daemon/spawn"
	"github.com/cronring/cronring/daemon/store"
)

// Run is the daemon. It opens everything in order, loops until it is told to
// stop (a signal, or the end of ctx), and closes everything in reverse. It
// returns when all that it started is gone.
func Run(ctx context.Context, o Options) error {
	if o.Socket == "" {
		o.Socket = filepath.Join(o.State, "cronring.sock")
	}
	log := newLog(o)

	history, err := store.Open(ctx, o.State)
	if err != nil {
		return err
	}
	defer history.Close()
	memory, err := history.Restore(ctx)
	if err != nil {
		return fmt.Errorf("read history: %w", err)
	}
	tables, err := openTables(o, memory.Seed)
	if err != nil {
		return err
	}
	listener, err := server.Listen(o.Socket)
	if err != nil {
		return err
	}
	defer listener.Close()
	alarm, err := clock.Open()
	if err != nil {
		return err
	}

	boot := bootID()
	l := &loop{
		options: o, log: log, tables: tables,
		history: history, clock: alarm, boot: boot,
		engine: engine.New(engine.State{
			Marks: memory.Marks, Live: memory.Live, Holds: memory.Holds, Known: memory.Known,
			NextRun: memory.NextRun, Era: memory.Era, LastSeen: memory.LastSeen,
			Booted: memory.BootID != boot,
		}),
		asks:     make(chan ask, 64),
		waiting:  map[engine.Token]chan<- engine.Answer{},
		pruneNow: make(chan struct{}, 1),
		hub:      newHub(),
		voice:    newVoice(o),
		begun:    alarm.Now().Wall,
	}
	l.spawner = spawn.New(spawn.Options{Live: l.chunk, Location: tables.location})
	l.view.Store(l.engine.View())

	hands, letGo := context.WithCancel(context.WithoutCancel(ctx))
	defer letGo()
	var crew crew
	crew.start(func() error { return alarm.Run(hands) })
	crew.start(func() error { return l.spawner.Run(hands) })
	crew.start(func() error { return l.voice.run(hands) })
	crew.start(func() error { return l.prune(hands) })
	serving, stopServing := context.WithCancel(hands)
	crew.start(func() error { return l.server().Serve(serving, listener) })

	err = l.run(ctx)
	l.hub.close()
	stopServing()
	letGo()
	return errors.Join(err, crew.wait())
}

// crew is the goroutines of a run.
type crew struct{ done []chan error }

func (c *crew) start(f func() error) {
	done := make(chan error, 1)
	c.done = append(c.done, done)
	go func() { done <- f() }()
}

// wait returns when all have ended, in the reverse order of their start.
func (c *crew) wait() error {
	var errs []error
	for i := len(c.done) - 1; i >= 0; i-- {
		errs = append(errs, <-c.done[i])
	}
	return errors.Join(errs...)
}

func newLog(o Options) *slog.Logger {
	if o.JSON {
		return slog.New(slog.NewJSONHandler(o.Stderr, nil))
	}
	return slog.New(slog.NewTextHandler(o.Stderr, nil))
}
