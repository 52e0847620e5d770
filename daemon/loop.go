package daemon

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/cronring/cronring/crontab"
	"github.com/cronring/cronring/daemon/account"
	"github.com/cronring/cronring/daemon/api"
	"github.com/cronring/cronring/daemon/budget"
	"github.com/cronring/cronring/daemon/clock"
	"github.com/cronring/cronring/daemon/conditions"
	"github.com/cronring/cronring/daemon/engine"
	"github.com/cronring/cronring/daemon/engine/effect"
	"github.com/cronring/cronring/daemon/engine/event"
	"github.com/cronring/cronring/daemon/groups"
	"github.com/cronring/cronring/daemon/hub"
	"github.com/cronring/cronring/daemon/job"
	"github.com/cronring/cronring/daemon/manager"
	"github.com/cronring/cronring/daemon/member"
	"github.com/cronring/cronring/daemon/notify"
	"github.com/cronring/cronring/daemon/pamsession"
	"github.com/cronring/cronring/daemon/preserve"
	"github.com/cronring/cronring/daemon/recorder"
	"github.com/cronring/cronring/daemon/runlog"
	"github.com/cronring/cronring/daemon/runmail"
	"github.com/cronring/cronring/daemon/server/beats"
	"github.com/cronring/cronring/daemon/spawn"
	"github.com/cronring/cronring/daemon/spool"
	"github.com/cronring/cronring/daemon/store"
	"github.com/cronring/cronring/daemon/watchfiles"
)

// stepEvents is the maximum number of events in one step: enough to write the ends of a burst of
// jobs in few transactions, few enough that a step stays within milliseconds.
const stepEvents = 256

// loop is the state of the one goroutine that owns the engine. No other goroutine has a reference to it.
type loop struct {
	*shared

	engine         *engine.Engine
	claims         *member.Claims // nil: this host is in no ring
	recorder       *recorder.Recorder
	waiting        map[effect.Token]chan<- effect.Answer
	token          effect.Token
	owed           []event.Event                // consequences of acts that could not even begin
	entries        map[job.RunID]*crontab.Entry // what live runs were started from
	locks          map[string]*spool.StampLock  // anacron's, by period
	leaving        departure
	unmarked       bool             // see markBoot
	spawnerPaused  bool             // the spawner is paused
	unstarted      []effect.Start   // starts that it had not begun then
	handedSignals  chan os.Signal   // signals that the previous daemon received; full at first
	pendingSignals []os.Signal      // for the next daemon
	leaveSignal    os.Signal        // is handled when the other members have taken over
	left           <-chan struct{}  // readable when they have
	killed         <-chan time.Time // readable killTime after the running jobs were ended
	sincePrune     int
}

// shared is the part of the daemon that all goroutines may use. It has no reference to the loop. Fields
// are set before the goroutines that use them start, except crontabs: the spawner uses it only for the
// loop's starts.
type shared struct {
	loopClient
	options    Options
	log        *slog.Logger
	runs       string // directory of the output of running jobs, or ""
	manager    *manager.Manager
	accounts   *account.Directory
	crontabs   *crontabs
	config     *configuration
	history    *store.Store
	clock      *clock.Clock
	spawner    *spawn.Spawner
	conditions *conditions.Meter
	memory     *budget.Budget  // for what runs print, until it is in the history and in its mail
	mailer     *runmail.Mailer // nil: no mail is sent
	notices    *notify.Notifier
	compared   *budget.Budget       // durations that wait for a comparison with the history
	comparing  sync.Mutex           // held during one
	sessions   *pamsession.Sessions // nil: jobs run without
	groups     *groups.Groups
	boot       string
	begun      job.Moment
	life       context.Context // until everything that Run started must end
	compareCtx context.Context // of comparisons, until the loop ends
	ownSocket  bool            // the control socket is removed at the end
	background sync.WaitGroup  // goroutines that write stamps, and check whether runs took unusually long or short
	hub        *hub.Hub
	beats      *beats.Receiver
	logWriter  *runlog.Writer
	preserver  *preserve.Preserver
	ring       *member.Member // nil: this host is in none
	ringless   error          // why it is in none that the configuration names
	listening  func() error   // why the listener is not open; nil: none is configured
	files      *watchfiles.Watcher
	tap        atomic.Pointer[func([]job.Record, []job.Summary)] // see server.Backend
	storeState atomic.Pointer[recorder.Problem]
	pruneNow   chan struct{}
	loaded     chan struct{} // closed when the view has the jobs
	away       chan struct{} // closed when running jobs are about to be left
}

// inbox is the input of one step.
type inbox struct {
	events []event.Event
	ended  []spawn.Ended          // of events, the ends of runs
	late   []spawn.Late           // of events, output after the end of a run
	after  []chan<- effect.Answer // callers that wait for the step, not for an answer of the engine
}

// run steps until the daemon is stopped, and returns how to leave. early are the spawner's events
// until now.
func (l *loop) run(ctx context.Context, early []event.Event) (departure, error) {
	life, end := context.WithCancel(context.WithoutCancel(ctx)) // runs may take long to end once ctx is done
	ctx, cancel := context.WithCancel(ctx)
	var reloads sync.WaitGroup
	defer reloads.Wait()
	defer end()
	defer cancel()

	d := l.shared // for other goroutines
	events, changes := l.firstEvents(ctx)
	l.step(inbox{events: events}, upRecord(l.clock.Now().Wall, l.options))
	l.recall()
	l.resume()
	var first inbox
	for _, ev := range early {
		first.take(ev)
	}
	l.step(first)
	close(l.loaded)
	l.logWriter.Cron(budget.Root, l.options.words().Up(l.options.Version)...)
	l.log.Info("ready", "jobs", l.view.Load().Len(), "socket", l.options.Socket)
	l.reportNoMail()
	l.manager.Ready(l.statusLine())
	keep := d.keepFirst(ctx, changes)
	reloads.Go(func() {
		keep()
		debug.FreeOSMemory() // reading crontabs takes several times what they are
	})

	stop := ctx.Done()
	var giveUp, rested, begun, alone <-chan time.Time
	var parted <-chan []effect.Start
	alive := every(l.manager.Watchdog())
	spawned := l.spawner.Events()
	for !l.mayEnd() {
		var in inbox
		select {
		case <-l.ready():
		case <-l.clock.C():
		case ev := <-spawned:
			in.take(ev)
			spawned, rested = nil, time.After(recorder.BatchDelay)
		case ev := <-l.conditions.Results():
			in.events = append(in.events, ev)
		case ev := <-l.arrivals:
			in.events = append(in.events, ev)
		case <-rested:
			spawned = l.spawner.Events()
		case a := <-l.requests:
			l.register(&in, a)
		case ev := <-l.ring.Events():
			l.claims.Receive(ev)
		case <-l.left:
			if l.leaving == staying {
				l.expectSignal(l.leaveSignal)
			}
		case done := <-l.rereads:
			reloads.Go(func() { done <- d.reload(life, true) })
		case <-l.recorder.Timer():
			l.recorder.Retry()
		case <-alone:
			alone = nil
			if l.engine.HasWaiting() {
				l.recorder.Retry()
			}
		case <-alive:
			l.feedWatchdog()
		case l.unstarted = <-parted:
			parted, l.spawnerPaused = nil, true
			l.refuseUnstarted()
		case <-begun:
			begun, parted = nil, l.pauseSpawner()
		case <-stop:
			stop = nil
			l.drain(&in, waiting)
			giveUp = time.After(l.options.Grace)
		case s := <-l.nextSignals():
			switch how := l.handleSignal(s, &in); how {
			case waiting:
				giveUp = time.After(l.options.Grace)
			case parting:
				begun = time.After(holdTime)
			case renewal:
				parted = l.pauseSpawner()
			case staying:
				if s == syscall.SIGHUP {
					reloads.Go(func() {
						d.auditSignal(life)
						d.reportReloadError(life, d.reload(life, true))
					})
				}
			}
		case <-giveUp:
			l.log.Warn("grace is over, ending running jobs", "grace", l.options.Grace.String())
			l.abandon(&in)
		case <-l.killed:
			parted = l.leaveKilled()
		}
		l.gather(&in)
		l.step(in)
		if alone == nil && l.engine.HasWaiting() {
			alone = time.After(engine.SignOfLife)
		}
		if begun != nil && !l.starting() {
			begun, parted = nil, l.pauseSpawner()
		}
	}
	if l.leaving != renewal {
		l.logWriter.Cron(budget.Root, l.options.words().Down()...)
	}
	l.recorder.Retry() // in any case: this is the last chance
	l.step(inbox{}, job.Record{At: l.clock.Now().Wall, Kind: job.Down})
	l.recorder.Flush(store.Batch{At: l.clock.Now().Wall, Era: l.engine.Era(), BootID: l.boot})
	if l.leaving == renewal {
		return renewal, nil // what is not written yet is handed over
	}
	return l.leaving, l.recorder.Err()
}

// recall finds out again what the runs that live on were started from.
func (l *loop) recall() {
	v := l.view.Load()
	for _, r := range v.Runs() {
		if i, ok := v.Find(r.Job); ok {
			j := v.Job(i)
			l.follow(&r, &j, v.Entry(i))
			if r.State == job.RunRunning || r.State == job.RunDecided {
				l.lockStamp(v.Entry(i)) // another process may have the lock by now; the job keeps running
			}
		}
	}
}

// follow registers a run with the parts that report it until its end.
func (l *loop) follow(r *job.Run, j *job.Job, entry *crontab.Entry) {
	l.entries[r.ID] = entry
	if p := entry.Options().Period; p != nil && entry.File().Format == crontab.Anacron {
		l.logWriter.BeginAnacron(r, j, p.ID)
		return
	}
	l.logWriter.Begin(r, j, entry)
}

// every is a channel that is readable once in a while; never, if that is 0.
func every(d time.Duration) <-chan time.Time {
	if d == 0 {
		return nil
	}
	return time.Tick(d)
}

// feedWatchdog reports to the service manager that both goroutines work on which
// every start depends. Otherwise it restarts the daemon, and running jobs are
// taken over.
func (l *loop) feedWatchdog() {
	if long := l.spawner.Working(); long > l.manager.Watchdog() {
		l.log.Error("starting processes has been stuck; the service manager will restart the daemon", "for", long.Round(time.Second).String())
		return
	}
	l.manager.Alive()
	l.manager.Status(l.statusLine())
}

// ready returns a channel that is readable when the engine should step immediately.
func (l *loop) ready() <-chan struct{} {
	if wake := l.engine.Wake(); len(l.owed) > 0 || !wake.IsZero() && !wake.After(l.clock.Now().Wall) {
		return closed
	}
	return nil
}

var closed = func() chan struct{} { c := make(chan struct{}); close(c); return c }()

// gather adds what has arrived meanwhile, without waiting for more.
func (l *loop) gather(in *inbox) {
	in.events = append(in.events, l.owed...)
	l.owed = nil
	for room := stepEvents*l.recorder.Pace() - len(in.events); room > 0; room-- {
		select {
		case ev := <-l.spawner.Events():
			in.take(ev)
		case ev := <-l.conditions.Results():
			in.events = append(in.events, ev)
		case ev := <-l.arrivals:
			in.events = append(in.events, ev)
		case a := <-l.requests:
			l.register(in, a)
		case ev := <-l.ring.Events():
			l.claims.Receive(ev)
		default:
			return
		}
	}
}

func (in *inbox) take(ev event.Event) {
	switch e := ev.(type) {
	case spawn.Ended:
		in.ended = append(in.ended, e)
		ev = e.Ended
	case spawn.Late:
		in.late = append(in.late, e)
		ev = e.Tick
	}
	in.events = append(in.events, ev)
}

// step is the heart: decide, write down, show, do, set the alarm.
func (l *loop) step(in inbox, more ...job.Record) {
	now := l.clock.Now()
	l.engine.Pace(l.recorder.Pace())
	effects := l.claims.Step(l.engine, now, in.events...)
	batch := store.Batch{At: now.Wall, Era: l.engine.Era(), BootID: l.boot, Records: more}
	l.recorder.Ended(in.ended)
	l.recorder.Late(in.late)
	for _, e := range effects {
		switch e := e.(type) {
		case effect.Fact:
			batch.Records = append(batch.Records, e.Record)
		case effect.Summary:
			batch.Summaries = append(batch.Summaries, e.Summary)
		case effect.Roster:
			batch.Roster = &e
		}
	}
	refused := l.recorder.Commit(batch)
	l.markBoot()
	l.view.Store(l.engine.View())
	l.publish(batch.Records)
	if tap := l.tap.Load(); tap != nil {
		(*tap)(batch.Records, batch.Summaries)
	}
	l.perform(effects, refused, in.ended)
	l.deliverAll(batch.Records, in.ended)
	for _, reply := range in.after {
		reply <- effect.Answer{}
	}
	l.wantPrune(batch.Records)
	l.clock.Alarm(now, l.engine.Wake())
}

// publish sends records to all subscribers and the log.
func (l *loop) publish(records []job.Record) {
	for i := range records {
		l.hub.Publish(api.Event{Record: &records[i]})
		l.logWriter.Record(&records[i])
	}
}

// chunk passes on a piece of output as it is read. It is called by spawn's
// goroutine, not by the loop's.
func (d *shared) chunk(c job.Chunk) {
	d.hub.Publish(api.Event{Chunk: &c})
	d.logWriter.Chunk(c)
}

// statusLine describes the daemon's state in one line.
func (d *shared) statusLine() string {
	v := d.view.Load()
	running := 0
	v.EachRun(func(r *job.Run) {
		if r.State == job.RunRunning {
			running++
		}
	})
	line := fmt.Sprintf("%d jobs, %d running", v.Len(), running)
	if n := len(backend{d}.Health().Problems); n > 0 {
		line += fmt.Sprintf(", %d problems: see cronring status", n)
	}
	return line
}
