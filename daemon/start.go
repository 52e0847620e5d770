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

	"github.com/cronring/cronring/crontab"
	"github.com/cronring/cronring/daemon/account"
	"github.com/cronring/cronring/daemon/budget"
	"github.com/cronring/cronring/daemon/conditions"
	"github.com/cronring/cronring/daemon/engine/effect"
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
	"github.com/cronring/cronring/daemon/spool"
	"github.com/cronring/cronring/daemon/watchfiles"
)

func newLoop(o *Options, service *manager.Manager) (l *loop, err error) {
	l = &loop{
		shared: shared{
			options: *o, manager: service, boot: bootID(),
			requests: make(chan request, 64),
			rereads:  make(chan chan<- error),
			pruneNow: make(chan struct{}, 1),
			loaded:   make(chan struct{}),
			away:     make(chan struct{}),
			arrivals: make(chan event.Files),
		},
		memory:  budget.New(spawn.UserMemory, spawn.RootMemory),
		waiting: map[effect.Token]chan<- effect.Answer{},
		entries: map[job.RunID]*crontab.Entry{},
		locks:   map[string]*spool.StampLock{},
	}
	l.hub = hub.New(l.memory)
	l.logWriter, l.log, err = runlog.Open(o.logOptions(o.mailTakes, l.hostZone))
	return l, err
}

// listen opens the control socket: the previous daemon's, the service manager's, or a new one.
func (l *loop) listen(before *handover.Handover) (net.Listener, error) {
	if before != nil {
		l.ownSocket = before.OwnSocket
		return before.Listener()
	}
	given, err := l.manager.Listener()
	if given != nil || err != nil {
		return given, err
	}
	l.ownSocket = true
	return server.Listen(l.options.Socket)
}

// spawning is a running spawner. Its events are kept until the loop receives them.
type spawning struct {
	errgroup.Group
	stop  chan struct{}
	early chan []event.Event
}

// startSpawner starts the spawner, because other steps may need it to look up users.
func (l *loop) startSpawner(ctx context.Context, in inheritance) *spawning {
	l.accounts = account.New(account.Options{Exec: l.execTool, Root: l.options.Root})
	l.spawner = spawn.New(l.spawnOptions())
	l.conditions = conditions.New(conditions.Options{Find: l.accounts.Find, Exec: l.spawner.Exec})
	l.files = watchfiles.New(watchfiles.Options{Find: l.accounts.Find, Exec: l.spawner.Exec, Deliver: l.filesArrived, AsSelf: os.Geteuid() != 0})
	for i := range in.children {
		if !in.children[i].Tail {
			l.hub.Restore(l.printed(&in.children[i]))
		}
	}
	l.spawner.Adopt(in.children)
	s := &spawning{stop: make(chan struct{}), early: make(chan []event.Event, 1)}
	s.Go(func() error { return l.spawner.Run(ctx) })
	go s.listen(l.spawner.Events())
	return s
}

func (s *spawning) listen(said <-chan event.Event) {
	var events []event.Event
	for {
		select {
		case ev := <-said:
			events = append(events, ev)
		case <-s.stop:
			s.early <- events
			return
		}
	}
}

// handBack ends the listening and returns what was heard.
func (s *spawning) handBack() []event.Event {
	close(s.stop)
	return <-s.early
}

func (l *loop) spawnOptions() spawn.Options {
	o := spawn.Options{
		Live:     l.chunk,
		Began:    l.logWriter.Began,
		Ready:    l.logWriter.Ready,
		Memory:   l.memory,
		Location: func(name string) (*time.Location, error) { return l.crontabs.location(name) },
		Accounts: l.accounts,
		Family:   l.options.Family,
		Runs:     l.runs,
		Boot:     l.boot,
		Claim:    func(job.RunID) bool { return l.options.host() },
		Path:     l.options.jobPath(),
		Socket:   l.options.jobSocket(),
		Groups:   l.groups,

		Precedence: true,
	}
	if l.manager.Present() {
		o.Keep = l.manager
	}
	if l.beatsDir() != "" {
		o.Notify = l.beats
	}
	if l.sessions != nil {
		o.Sessions = l.sessions
	}
	c := l.config.current()
	o.Node = c.Ring.Node()
	if l.options.host() {
		locale := l.options.locale()
		o.BaseEnv = func(account.Account) []string {
			return slices.Concat(l.accounts.Environment(l.options.Family), locale)
		}
		o.Limits = func(who account.Account) account.Limits { return l.accounts.Bounds(l.options.Family, who) }
	}
	return o
}

// beatsDir returns the directory of the sockets of runs with watchdog=, or "" without a runtime
// directory. Clients need a complete path.
func (l *loop) beatsDir() string {
	if l.runs == "" {
		return ""
	}
	dir, err := filepath.Abs(filepath.Join(filepath.Dir(l.runs), "notify"))
	if err != nil { // the working directory does not exist
		return ""
	}
	return dir
}

// execTool runs a program of the host for account.
func (l *loop) execTool(ctx context.Context, argv ...string) (stdout []byte, status int, err error) {
	r, err := l.spawner.Exec(ctx, spawn.Tool{Argv: argv, Env: []string{"PATH=/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL=C"}})
	if err == nil && r.Outcome.Kind != job.Exited {
		status = -1
	}
	return r.Output, cmp.Or(status, r.Outcome.Code), err
}

// bootsNow reports whether this is the first start of any cron since the host booted.
func (l *loop) bootsNow(first bool) bool {
	l.unmarked = true
	first = first && !othercron.BootIsMarked(l.options.Root)
	l.logWriter.Cron(l.options.words().Reboot(first))
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
func (l *loop) openRing() {
	c := l.config.current().Ring
	if c.Name == "" {
		return
	}
	l.ring, l.ringless = member.New(member.Options{
		Config: c, State: l.options.State, Version: l.options.Version, Log: l.log,
		Up: func() time.Duration { return l.clock.Now().Up }, Loaded: l.loaded,
	})
	if l.ringless != nil {
		l.ring = nil
		l.log.Error("cannot take part in the ring", "ring", c.Name, "error", l.ringless)
	}
}
