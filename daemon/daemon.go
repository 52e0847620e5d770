package daemon

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/cronring/cronring/daemon/clock"
	"github.com/cronring/cronring/daemon/config"
	"github.com/cronring/cronring/daemon/handover"
	"github.com/cronring/cronring/daemon/manager"
	"github.com/cronring/cronring/daemon/othercron"
	"github.com/cronring/cronring/daemon/preserve"
	"github.com/cronring/cronring/daemon/recorder"
	"github.com/cronring/cronring/daemon/server/beats"
	"github.com/cronring/cronring/daemon/shim"
	"github.com/cronring/cronring/daemon/store"
	"github.com/cronring/cronring/daemon/store/database"
)

// Run is the daemon. It opens everything in order, loops until it is stopped (a signal, or the end
// of ctx), and closes everything in reverse. It returns when everything that it started has ended,
// except jobs that it leaves running for a later daemon. If it replaces itself by exec, it does not
// return.
func Run(ctx context.Context, o Options) error {
	before, err := handover.Take()
	if err != nil {
		return err
	}
	lock, err := holdHost(&o, before)
	if err != nil {
		return err
	}
	service, err := manager.Open()
	if err != nil {
		return err
	}
	next, err := operate(ctx, &o, before, service)
	service.Close()
	if next == nil {
		return errors.Join(err, release(lock))
	}
	if lock != nil {
		next.Lock = int(lock.Fd())
	}
	defer runtime.KeepAlive(lock) // else it may be closed, and another cron start
	return become(next, o.Signals)
}

// become executes the program at the path of this one. If an upgrade left a file there that cannot
// be executed, it executes this program again.
func become(next *handover.Handover, signals <-chan os.Signal) error {
	path, err := program()
	if err == nil {
		err = next.Execute(path, signals)
	}
	slog.Error("cannot execute the program that replaced this one; continuing with this one", "error", err)
	return next.Execute("/proc/self/exe", signals)
}

// holdHost makes sure that no other cron runs on the host, if this daemon is
// to be its cron; otherwise the lock is nil.
func holdHost(o *Options, before *handover.Handover) (lock *os.File, err error) {
	switch {
	case !o.host():
		return nil, nil
	case before != nil && before.Lock != 0:
		return os.NewFile(uintptr(before.Lock), o.path(othercron.PIDFile)), nil
	}
	lock, o.relieves, err = othercron.Lock(o.Root)
	return lock, err
}

func release(lock *os.File) error {
	if lock == nil {
		return nil
	}
	return lock.Close()
}

// operate is one life of the daemon. It returns what the next life needs if the program will be
// executed again.
func operate(ctx context.Context, o *Options, before *handover.Handover, service *manager.Manager) (next *handover.Handover, err error) {
	o.Socket = cmp.Or(o.Socket, filepath.Join(o.State, "cronring.sock"))
	inForce := openConfiguration(o, before)
	d, err := openShared(o, service)
	if err != nil {
		return nil, err
	}
	d.config = inForce
	defer d.logWriter.Close()
	if d.history, err = d.openHistory(ctx); err != nil {
		return nil, err
	}
	defer d.history.Close()
	records := recorder.New(d.history, d.log, &d.storeState)
	d.runs, err = makeRuntime(cmp.Or(o.Runtime, o.State))
	switch {
	case err != nil && o.Runtime != "":
		return nil, err
	case err != nil: // the disk of the history is full or read-only
		d.log.Warn("a crash of the daemon ends running jobs when they print", "error", err)
	}
	d.preserver = preserve.New(d.runs, o.State)
	memory, err := d.history.Restore(ctx)
	if err != nil {
		return nil, fmt.Errorf("read history: %w", err)
	}
	if before != nil {
		before.Replay(&memory, d.boot)
		if err := before.ReplayRan(ctx, d.history, &memory); err != nil {
			return nil, fmt.Errorf("read history: %w", err)
		}
	}
	if d.clock, err = clock.Open(); err != nil {
		return nil, err
	}
	d.begun = d.clock.Now()
	listener, err := d.listen(before)
	if err != nil {
		return nil, err
	}
	defer listener.Close()

	if err := d.openGroups(); err != nil {
		return nil, err
	}
	defer d.groups.Close()
	d.beats = beats.New(&d.loopClient, d.beatsDir())
	defer d.beats.Shut()
	life, endLife := context.WithCancel(context.WithoutCancel(ctx))
	defer endLife()
	d.life = life
	inherited := d.inherit(life, records, before, memory.Live)
	if err := d.openSessions(inherited.children); err != nil {
		return nil, err
	}
	d.restoreBeats(&inherited)
	spawning := d.startSpawner(life, inherited)
	if d.sessions != nil {
		d.sessions.Mode() // is logged
		defer d.sessions.Close()
	}
	if err := d.openCrontabs(ctx, memory.Seed, before != nil); err != nil {
		endLife()
		return nil, errors.Join(err, spawning.Wait())
	}
	if memory.Unowned {
		d.setOwners(ctx, &memory, &inherited)
	}
	d.openMail()
	d.openNotices()
	d.openRing()
	l := newLoop(d, records, memory, inherited)

	var tasks errgroup.Group
	tasks.Go(func() error { return d.clock.Run(life) })
	tasks.Go(func() error { return d.manager.Run(life) })
	tasks.Go(func() error { return d.logWriter.Run(life) })
	tasks.Go(func() error { return d.prune(life) })
	if o.Runtime != "" { // else the output is on the disk
		tasks.Go(func() error { return d.preserver.Run(life, cmp.Or(o.preserve, preserve.Interval)) })
	}
	if d.mailer != nil {
		tasks.Go(func() error { return d.mailer.Run(life) })
	}
	tasks.Go(func() error { return d.notices.Run(life) })
	tasks.Go(func() error { return d.runFiles(life) })
	serving, stopServing := context.WithCancel(life)
	answering := d.server()
	if address := inForce.current().Listen; address != "" {
		webhooks := answering.Webhooks(func() map[string]config.Token { return inForce.current().Tokens })
		d.listening = webhooks.Problem
		tasks.Go(func() error {
			select {
			case <-d.loaded:
				webhooks.Run(serving, address)
			case <-serving.Done():
			}
			return nil
		})
	}
	// Before the jobs are loaded, an answer would be that there are none.
	loaded := func(serve func(context.Context, net.Listener) error) func(context.Context, net.Listener) error {
		return func(ctx context.Context, listener net.Listener) error {
			select {
			case <-d.loaded:
			case <-ctx.Done():
			}
			return serve(ctx, listener)
		}
	}
	tasks.Go(func() error { return loaded(answering.Serve)(serving, listener) })
	if d.ring != nil {
		d.ring.Run(life, tasks.Go, d.View, d.history, loaded(answering.ServeMembers))
	}
	tasks.Go(func() error { return d.watchCrontabs(serving) })

	compareCtx, endComparisons := context.WithCancel(life)
	d.compareCtx = compareCtx
	how, err := l.run(ctx, spawning.collected())
	endComparisons()
	d.background.Wait()
	if d.mailer != nil {
		d.mailer.Close()
	}
	d.hub.Close()
	switch how {
	case renewal:
		next, err = l.handOver(listener)
	case parting:
		err = errors.Join(err, shim.Start(d.runs, d.spawner.Handover()))
	}
	stopServing()
	endLife()
	if how == waiting {
		err = errors.Join(err, spawning.Wait(), d.leaveTails())
	}
	return next, errors.Join(err, tasks.Wait())
}

// openHistory logs a message before it upgrades a long history, because no job starts meanwhile.
func (d *shared) openHistory(ctx context.Context) (*store.Store, error) {
	size, outdated := database.Outdated(d.options.State)
	if !outdated {
		return store.Open(ctx, d.options.State)
	}
	d.log.Info("upgrading the history; jobs start when that is done", "megabytes", size>>20)
	d.logWriter.WriteAll() // logWriter.Run has not started yet
	begun := time.Now()
	done := d.manager.Upgrading()
	defer done()
	history, err := store.Open(ctx, d.options.State)
	if err == nil {
		d.log.Info("the history is upgraded", "after", time.Since(begun).Round(time.Millisecond).String())
	}
	return history, err
}

// makeRuntime makes the directory of files that outlive the daemon but not the boot, and in it the
// directory for the output of running jobs, which it returns.
func makeRuntime(dir string) (runs string, err error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", fmt.Errorf("make runtime directory: %w", err)
	}
	runs = filepath.Join(dir, "runs")
	if err := os.Mkdir(runs, 0o700); err != nil && !errors.Is(err, os.ErrExist) {
		return "", fmt.Errorf("make runtime directory: %w", err)
	}
	return runs, nil
}
