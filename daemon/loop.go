package daemon

import (
	"context"
	"log/slog"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/cronring/cronring/daemon/api"
	"github.com/cronring/cronring/daemon/clock"
	"github.com/cronring/cronring/daemon/engine"
	"github.com/cronring/cronring/daemon/job"
	"github.com/cronring/cronring/daemon/spawn"
	"github.com/cronring/cronring/daemon/store"
)

// stepEvents is how many events one step takes in at most: enough to write
// the ends of a burst of jobs in few transactions, few enough that a step
// stays within milliseconds.
const stepEvents = 256

// rest is how long the loop leaves starts and ends of runs lying after it has
// dealt with some: in a burst they are written together, which costs a tenth.
// It is also what a burst may add to a retry or to the next run in a queue.
const rest = 10 * time.Millisecond

// loop is the one goroutine that owns the engine. Its fields above the line
// belong to that goroutine alone.
type loop struct {
	engine     *engine.Engine
	backlog    backlog
	waiting    map[engine.Token]chan<- engine.Answer
	token      engine.Token
	owed       []engine.Event // consequences of acts that could not even begin
	draining   bool
	sincePrune int

	// ----

	options  Options
	log      *slog.Logger
	tables   *tables
	history  *store.Store
	clock    *clock.Clock
	spawner  *spawn.Spawner
	boot     string
	begun    time.Time
	asks     chan ask
	hub      *hub
	voice    *voice
	view     atomic.Pointer[engine.View]
	trouble  atomic.Pointer[trouble]
	pruneNow chan struct{}
}

// ask is a question from outside, with the place where the answer goes.
type ask struct {
	event engine.Event
	reply chan<- engine.Answer
}

// inbox is what one step works on.
type inbox struct {
	events  []engine.Event
	outputs []store.Output
	after   []chan<- engine.Answer // who waits for the step, rather than for an answer of the engine
}

// run steps until the daemon is told to stop and no job of it runs.
func (l *loop) run(ctx context.Context) error {
	var reloads sync.WaitGroup
	defer reloads.Wait()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()

	l.announce()
	l.step(inbox{events: []engine.Event{engine.Load{Tables: l.tables.current()}}}, upRecord(l.clock.Now().Wall, l.options))
	l.log.Info("ready", "jobs", l.view.Load().Len(), "socket", l.options.Socket)
	reloads.Go(debug.FreeOSMemory) // reading tables takes several times what they are

	stop := ctx.Done()
	var giveUp, rested <-chan time.Time
	spawned := l.spawner.Events()
	for !l.draining || !l.engine.Idle() {
		var in inbox
		select {
		case <-l.ready():
		case <-l.clock.C():
		case ev := <-spawned:
			in.take(ev)
			spawned, rested = nil, time.After(rest)
		case <-rested:
			spawned = l.spawner.Events()
		case a := <-l.asks:
			l.register(&in, a)
		case <-l.backlog.timer:
			l.backlog.due = true
		case <-stop:
			stop = nil
			giveUp = l.drain(&in)
		case s := <-l.options.Signals:
			switch {
			case s == syscall.SIGHUP:
				reloads.Go(func() { l.reload(ctx) })
			case !l.draining:
				giveUp = l.drain(&in)
			default:
				in.events = append(in.events, engine.Abandon{})
			}
		case <-giveUp:
			l.log.Warn("grace is over, ending running jobs", "grace", l.options.Grace.String())
			in.events = append(in.events, engine.Abandon{})
		}
		l.gather(&in)
		l.step(in)
	}
	l.backlog.due = true // whatever it says, this is the last chance
	l.step(inbox{}, job.Record{At: l.clock.Now().Wall, Kind: job.Down})
	return l.backlog.lastWords()
}

// ready is a channel that is readable when the engine wants to step at once.
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
	for len(in.events) < stepEvents {
		select {
		case ev := <-l.spawner.Events():
			in.take(ev)
		case a := <-l.asks:
			l.register(in, a)
		default:
			return
		}
	}
}

func (in *inbox) take(ev engine.Event) {
	if e, ok := ev.(spawn.Ended); ok {
		if len(e.Output) > 0 {
			in.outputs = append(in.outputs, store.Output{Run: e.Run, Chunks: e.Output})
		}
		ev = e.Ended
	}
	in.events = append(in.events, ev)
}

// step is the heart: decide, write down, show, do, set the alarm.
func (l *loop) step(in inbox, more ...job.Record) {
	now := l.clock.Now()
	effects := l.engine.Step(now, in.events...)
	batch := store.Batch{At: now.Wall, Era: l.engine.Era(), BootID: l.boot, Records: more, Outputs: in.outputs}
	for _, e := range effects {
		switch e := e.(type) {
		case engine.Fact:
			batch.Records = append(batch.Records, e.Record)
		case engine.Roster:
			batch.Roster = &e
		}
	}
	refused := l.commit(batch)
	l.view.Store(l.engine.View())
	l.publish(batch.Records)
	l.perform(effects, refused)
	for _, reply := range in.after {
		reply <- engine.Answer{}
	}
	l.wantPrune(batch.Records)
	l.clock.Alarm(l.engine.Wake())
}

// publish tells everybody who watches.
func (l *loop) publish(records []job.Record) {
	for i := range records {
		l.hub.publish(api.Event{Record: &records[i]})
		l.voice.record(&records[i])
	}
}

// chunk passes on a piece of output as it is read. It is called by spawn's
// goroutine, not by the loop's.
func (l *loop) chunk(c job.Chunk) {
	l.hub.publish(api.Event{Chunk: &c})
	l.voice.chunk(c)
}

// drain begins the end, and returns the channel that tells when the running
// jobs' grace is over.
func (l *loop) drain(in *inbox) <-chan time.Time {
	l.draining = true
	l.log.Info("stopping, no further job is started", "grace", l.options.Grace.String())
	in.events = append(in.events, engine.Drain{})
	return time.After(l.options.Grace)
}
