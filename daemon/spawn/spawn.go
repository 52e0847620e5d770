package spawn

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"

	"github.com/cronring/cronring/daemon/engine"
	"github.com/cronring/cronring/daemon/job"
)

// Options set up a Spawner. The zero value is usable.
type Options struct {
	// Live is called with each piece of output as it is read, from more than
	// one goroutine. It must be quick: while it runs, no job's output is read.
	// The chunk's Data is the receiver's to keep.
	Live func(job.Chunk)

	// Location finds a job's zone for CRONRING_DUE_LOCAL; nil is
	// time.LoadLocation.
	Location func(zone string) (*time.Location, error)

	Path   string        // PATH of jobs whose table sets none; "" is /usr/bin:/bin
	Output int           // bytes of output kept for each run; 0 is 64 KiB
	Linger time.Duration // how long output is read after a run's end; 0 is 2 s
}

// Ended is the engine's event together with what the run printed: the first
// and the last bytes, where it printed more than Options.Output.
type Ended struct {
	engine.Ended
	Output []job.Chunk
}

// Spawner starts commands and reports their ends. Its methods may be called
// from any goroutine.
type Spawner struct {
	options  Options
	events   chan engine.Event
	wake     chan struct{} // something is queued, or the last run was reported
	accounts *accounts     // the hand's
	files    files         // the hand's
	pump     *pump

	mu     sync.Mutex
	queue  []*child             // given and not yet begun, oldest first
	living map[job.RunID]*child // queued, or with a process not yet reaped
	byPID  map[int]*child       // with a process not yet reaped
	owed   int                  // runs whose end is not yet reported
}

// child is a run from Start to its report.
type child struct {
	run   job.RunID
	job   job.ID
	start *engine.Start // nil from the fork on: a sleeping job is to cost little
	out   capture       // the hand's until the pipes are watched, then the pump's

	// Guarded by Spawner.mu.
	pid     int
	kill    syscall.Signal // asked for while there was no process
	pipes   pipes          // set while they are watched, and after
	open    int            // pipes that have not come to their end
	outcome job.Outcome    // zero until reaped
	ended   time.Time      // when it was reaped
}

// New makes a Spawner. Nothing is touched before Run.
func New(options Options) *Spawner {
	options.Path = cmp.Or(options.Path, "/usr/bin:/bin")
	options.Output = cmp.Or(options.Output, 64<<10)
	options.Linger = cmp.Or(options.Linger, 2*time.Second)
	if options.Location == nil {
		options.Location = time.LoadLocation
	}
	return &Spawner{
		options:  options,
		events:   make(chan engine.Event, 256),
		wake:     make(chan struct{}, 1),
		accounts: newAccounts(),
		living:   make(map[job.RunID]*child),
		byPID:    make(map[int]*child),
	}
}

// Events gives engine.Started and then Ended for each run, or Ended alone for
// one that could not be started. The receiver drains it until Run has
// returned; while it does not, no run is started, reaped or read.
func (s *Spawner) Events() <-chan engine.Event { return s.events }

// Start begins a run. It never blocks: the run is queued behind those that
// were given before, and Events tells what comes of it. The queue needs no
// bound of its own, as it holds nothing but runs that the engine holds too.
// After Run has returned, Start does nothing.
func (s *Spawner) Start(start engine.Start) {
	c := &child{run: start.Run.ID, job: start.Job.ID, start: &start}
	s.mu.Lock()
	s.queue = append(s.queue, c)
	s.living[c.run] = c
	s.owed++
	s.mu.Unlock()
	s.nudge()
}

// Kill sends a signal to the process group of a run. A run that still waits to
// be started never is; one that has ended is left alone.
func (s *Spawner) Kill(kill engine.Kill) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.living[kill.Run]
	switch {
	case c == nil:
	case c.pid == 0:
		c.kill = kill.Signal
	default:
		signalGroup(c.pid, kill.Signal)
	}
}

// signalGroup signals a session that we began. The leader is not yet reaped,
// so that its number cannot name another process. The call fails only when
// all of the group ended just now or changed their account, and nothing is to
// be done about either.
func signalGroup(pid int, sig syscall.Signal) { _ = syscall.Kill(-pid, sig) }

func (s *Spawner) nudge() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// Run starts, reads and reaps until ctx is done. Then it starts no more, and
// returns once every run has ended and been reported: who wants that soon
// kills them. It is called once.
func (s *Spawner) Run(ctx context.Context) error {
	if err := settleProcess(); err != nil {
		return err
	}
	if err := s.files.open(); err != nil {
		return err
	}
	defer s.files.close()
	pump, err := openPump(s)
	if err != nil {
		return err
	}
	s.pump = pump

	died := make(chan os.Signal, 1)
	signal.Notify(died, syscall.SIGCHLD)
	defer signal.Stop(died)

	pumped := make(chan error, 1)
	go func() { pumped <- pump.run() }()
	s.hand(ctx, died)
	pump.stop()
	return <-pumped
}

// burst is the number of starts between two looks at the dead.
const burst = 16

// hand is the one goroutine that forks and reaps. One is as fast as two: what
// a start costs is mostly the kernel's exec, on whatever core is free.
func (s *Spawner) hand(ctx context.Context, died <-chan os.Signal) {
	stop := ctx.Done()
	begin := s.begin
	for {
		if s.beginSome(begin) {
			s.nudge()
		}
		select {
		case <-s.wake:
		case <-died:
			s.reap()
		case <-stop:
			stop = nil
			begin = s.refuse
		}
		if stop == nil && s.idle() {
			return
		}
	}
}

// beginSome begins some of the queued runs and reports whether more wait.
func (s *Spawner) beginSome(begin func(*child)) bool {
	for range burst {
		c := s.next()
		if c == nil {
			return false
		}
		begin(c)
	}
	return true
}

func (s *Spawner) next() *child {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.queue) == 0 {
		s.queue = nil // let the memory of a great burst go
		return nil
	}
	c := s.queue[0]
	s.queue[0] = nil
	s.queue = s.queue[1:]
	return c
}

func (s *Spawner) refuse(c *child) {
	s.abandon(c, errors.New("the daemon is stopping"))
}

func (s *Spawner) idle() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.owed == 0
}

// begin starts one run and reports that, or that it could not be started.
func (s *Spawner) begin(c *child) {
	pipes, err := s.launch(c)
	if err != nil {
		s.abandon(c, err)
		return
	}
	s.events <- engine.Started{Run: c.run, PID: c.pid, At: now()}
	s.pump.watch(c, pipes)
}

// abandon reports a run that never had a process.
func (s *Spawner) abandon(c *child, why error) {
	s.mu.Lock()
	delete(s.living, c.run)
	c.outcome, c.ended = job.Outcome{Kind: job.NotStarted, Error: why.Error()}, now()
	s.mu.Unlock()
	s.report(c)
}

// report tells of a run's end. It is called once for each run, by whoever saw
// the last of it, with s.mu free: the receiver may be slow.
func (s *Spawner) report(c *child) {
	s.events <- Ended{
		Ended:  engine.Ended{Run: c.run, Outcome: c.outcome, At: c.ended},
		Output: c.out.chunks(c.run, c.job),
	}
	c.out = capture{}
	s.mu.Lock()
	s.owed--
	idle := s.owed == 0
	s.mu.Unlock()
	if idle {
		s.nudge() // the hand may wait for this in order to return
	}
}

// note adds the daemon's own words to a run's output.
func (s *Spawner) note(c *child, format string, args ...any) {
	s.keep(c, job.System, now(), fmt.Appendf(nil, format+"\n", args...))
}

// keep takes a piece of output. The data is the caller's again afterwards.
func (s *Spawner) keep(c *child, stream job.Stream, at time.Time, data []byte) {
	c.out.add(s.options.Output, stream, at, data)
	if s.options.Live != nil {
		data = bytes.Clone(data)
		s.options.Live(job.Chunk{Run: c.run, Job: c.job, Stream: stream, At: at, Data: data})
	}
}
