package daemon

import (
	"cmp"
	"context"
	"net"
	"os"
	"path/filepath"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/cronring/cronring/daemon/account"
	"github.com/cronring/cronring/daemon/budget"
	"github.com/cronring/cronring/daemon/conditions"
	"github.com/cronring/cronring/daemon/engine/event"
	"github.com/cronring/cronring/daemon/handover"
	"github.com/cronring/cronring/daemon/hub"
	"github.com/cronring/cronring/daemon/job"
	"github.com/cronring/cronring/daemon/manager"
	"github.com/cronring/cronring/daemon/member"
	"github.com/cronring/cronring/daemon/othercron"
	"github.com/cronring/cronring/daemon/runlog"
	"github.com/cronring/cronring/daemon/server"
	"github.com/cronring/cronring/daemon/spawn"
	"github.com/cronring/cronring/daemon/watchfiles"
)

// openShared returns the shared part with its log open. Its other parts are opened later.
func openShared(o *Options, service *manager.Manager) (d *shared, err error) {
	d = &shared{
		options: *o, manager: service, boot: bootID(),
		memory:     budget.New(spawn.UserMemory, spawn.RootMemory),
		compared:   budget.New(mostComparisons, mostComparisons),
		loopClient: loopClient{requests: make(chan request, 64), rereads: make(chan chan<- error), arrivals: make(chan event.Files)},
		pruneNow:   make(chan struct{}, 1),
		loaded:     make(chan struct{}),
		away:       make(chan struct{}),
	}
	d.hub = hub.New(d.memory)
	d.logWriter, d.log, err = runlog.Open(o.logOptions(o.mailTakes, d.hostZone))
	return d, err
}

// listen opens the control socket: the previous daemon's, the service manager's, or a new one.
func (d *shared) listen(before *handover.Handover) (net.Listener, error) {
	if before != nil {
		d.ownSocket = before.OwnSocket
		return before.Listener()
	}
	given, err := d.manager.Listener()
	if given != nil || err != nil {
		return given, err
	}
	d.ownSocket = true
	return server.Listen(d.options.Socket)
}

// spawning is a running spawner. Its events are kept until the loop receives them.
type spawning struct {
	errgroup.Group
	stop  chan struct{}
	early chan []event.Event
}

// startSpawner starts the spawner, because other steps may need it to look up users.
func (d *shared) startSpawner(ctx context.Context, in inheritance) *spawning {
	d.accounts = account.New(account.Options{Exec: d.execTool, Root: d.options.Root})
	d.spawner = spawn.New(d.spawnOptions())
	d.conditions = conditions.New(conditions.Options{Find: d.accounts.Find, Exec: d.spawner.Exec})
	d.files = watchfiles.New(watchfiles.Options{Find: d.accounts.Find, Exec: d.spawner.Exec, Deliver: d.filesArrived, AsSelf: os.Geteuid() != 0})
	for i := range in.children {
		if !in.children[i].Tail {
			d.hub.Restore(d.printed(&in.children[i]))
		}
	}
	d.spawner.Adopt(in.children)
	s := &spawning{stop: make(chan struct{}), early: make(chan []event.Event, 1)}
	s.Go(func() error { return d.spawner.Run(ctx) })
	go s.collect(d.spawner.Events())
	return s
}

// collect keeps the events of the spawner until the loop runs.
func (s *spawning) collect(from <-chan event.Event) {
	var events []event.Event
	for {
		select {
		case ev := <-from:
			events = append(events, ev)
		case <-s.stop:
			s.early <- events
			return
		}
	}
}

// collected ends collect and returns its events.
func (s *spawning) collected() []event.Event {
	close(s.stop)
	return <-s.early
}

func (d *shared) spawnOptions() spawn.Options {
	o := spawn.Options{
		Live:     d.chunk,
		Began:    d.logWriter.Began,
		Ready:    d.logWriter.Ready,
		Memory:   d.memory,
		Location: func(name string) (*time.Location, error) { return d.crontabs.location(name) },
		Accounts: d.accounts,
		Family:   d.options.Family,
		Runs:     d.runs,
		Boot:     d.boot,
		Claim:    func(job.RunID) bool { return d.options.host() },
		Path:     d.options.jobPath(),
		Socket:   d.options.jobSocket(),
		Groups:   d.groups,

		Precedence: true,
	}
	if d.manager.Present() {
		o.Keep = d.manager
	}
	if d.beatsDir() != "" {
		o.Notify = d.beats
	}
	if d.sessions != nil {
		o.Sessions = d.sessions
	}
	c := d.config.current()
	o.Node = c.Ring.Node()
	if d.options.host() {
		locale := d.options.locale()
		o.BaseEnv = func(account.Account) []string {
			return slices.Concat(d.accounts.Environment(d.options.Family), locale)
		}
		o.Limits = func(who account.Account) account.Limits { return d.accounts.Bounds(d.options.Family, who) }
	}
	return o
}

// beatsDir returns the directory of the sockets of runs with watchdog=, or "" without a runtime
// directory. Clients need a complete path.
func (d *shared) beatsDir() string {
	if d.runs == "" {
		return ""
	}
	dir, err := filepath.Abs(filepath.Join(filepath.Dir(d.runs), "notify"))
	if err != nil { // the working directory does not exist
		return ""
	}
	return dir
}

// execTool runs a program of the host for account.
func (d *shared) execTool(ctx context.Context, argv ...string) (stdout []byte, status int, err error) {
	r, err := d.spawner.Exec(ctx, spawn.Tool{Argv: argv, Env: []string{"PATH=/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL=C"}})
	if err == nil && r.Outcome.Kind != job.Exited {
		status = -1
	}
	return r.Output, cmp.Or(status, r.Outcome.Code), err
}

// bootsNow reports whether this is the first start of any cron since the host booted.
func (d *shared) bootsNow(first bool) bool {
	first = first && !othercron.BootIsMarked(d.options.Root)
	d.logWriter.Cron(budget.Root, d.options.words().Reboot(first))
	return first
}

// markBoot creates the marks of this boot after the commit of the first step: a daemon that ends
// before that has not decided the @reboot entries.
func (l *loop) markBoot() {
	if !l.unmarked {
		return
	}
	l.unmarked = false
	if err := othercron.MarkBoot(l.options.Root); err != nil {
		l.log.Warn("another cron may run the @reboot entries of this boot again", "error", err)
	}
}

// openRing makes this host's part in the ring that the configuration names. What
// keeps it out keeps no other job from running: it is a problem of the status, and
// ring jobs are held.
func (d *shared) openRing() {
	c := d.config.current().Ring
	if c.Name == "" {
		return
	}
	d.ring, d.ringless = member.New(member.Options{
		Config: c, State: d.options.State, Version: d.options.Version, Log: d.log,
		Up: func() time.Duration { return d.clock.Now().Up }, Loaded: d.loaded,
	})
	if d.ringless != nil {
		d.ring = nil
		d.log.Error("cannot take part in the ring", "ring", c.Name, "error", d.ringless)
	}
}
