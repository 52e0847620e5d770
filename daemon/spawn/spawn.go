package spawn

import (
	"cmp"
	"context"
	"errors"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"

	"github.com/cronring/cronring/daemon/budget"
	"github.com/cronring/cronring/daemon/engine/effect"
	"github.com/cronring/cronring/daemon/engine/event"
	"github.com/cronring/cronring/daemon/job"
	"github.com/cronring/cronring/daemon/spawn/command"
	"github.com/cronring/cronring/daemon/spawn/handed"
	"github.com/cronring/cronring/daemon/spawn/pipe"
	"github.com/cronring/cronring/daemon/spawn/proc"
	"github.com/cronring/cronring/daemon/spawn/runoutput"
	"github.com/cronring/cronring/daemon/spawn/self"
	"github.com/cronring/cronring/daemon/spawn/usercalls"
	"github.com/cronring/cronring/daemon/spawn/workloop"
	"github.com/cronring/cronring/daemon/starter"
)

// Spawner starts commands and reports their ends. Its methods may be called
// from any goroutine.
type Spawner struct {
	options  Options
	events   chan event.Event
	loop     *workloop.Loop  // the process loop
	files    self.Files      // the process loop's
	starter  starter.Starter // the process loop's
	maker    command.Maker
	priority self.Priority // the process loop's
	reader   *reader
	tasks    sync.WaitGroup  // of all but calls, the process loop and the reader
	calls    usercalls.Calls // which begin sessions and read credentials
	occupied occupied        // the process loop's
	dir      runoutput.Dir   // Options.Runs
	space    *budget.Budget  // for files in it
	tails    *budget.Budget  // descriptors of tails
	slow     *budget.Budget  // tails without descriptors

	life        context.Context // until Run returns
	checkTime   time.Duration   // how long the command of if= may take
	logPatience time.Duration

	beginning sync.Mutex // held while Options.Began is called; guards child.begun

	mu        sync.Mutex
	queue     budget.RootFirst[*child] // passed to Start and not yet begun
	tools     budget.RootFirst[*child] // the same for programs of the daemon's
	living    map[job.RunID]*child     // queued, or with a process not yet reaped
	byPID     map[int]*child           // with a process of ours not yet reaped
	logs      map[int]*child           // with a process that writes its file of log=, by that one
	lastLogs  map[string]int           // by user: how many of logs belong to runs that have ended
	taken     []adoption               // from another daemon, before Run
	owed      int                      // runs whose end is not yet reported
	busy      map[*child]bool          // programs of the daemon's, queued or going
	unsure    int                      // sessions that may or may not have begun
	extra     int                      // descriptors besides those that the reader reads
	ask       unresolvedUsers          // accounts to be found
	groups    preparing                // groups to be made
	hold      *pauseRequest            // nil: not requested
	leftovers []*child                 // children with over set, now or earlier
	closed    bool                     // Run has returned, or is about to
}

// child is a run from Start to its report, or a program of the daemon's.
type child struct {
	run      job.RunID
	job      job.ID
	check    bool // it is the command of if=
	user     string
	limit    int               // bytes of output kept at most
	room     int               // bytes of output that memory is reserved for; up to limit
	memory   *budget.Lease     // for out
	start    *effect.Start     // nil from the fork on, except for a check: a sleeping job should cost little
	out      runoutput.Capture // the process loop's until the pipes are watched, then the reader's
	file     runoutput.File    // likewise
	tool     *toolRun          // nil: a run
	progress *starter.Progress // nil: the command runs, or no process exists; the reader's
	group    Group             // nil: none; set before there is a process
	log      logFile           // of log=file:PATH; the reader's
	timer    *time.Timer       // of a check
	tail     *tail             // nil: its end is not reported yet; the reader's
	named    bool              // it has files of package handed
	begun    bool              // Options.Began was called

	// Guarded by Spawner.mu.
	found     *lookup        // what became of asking for the account
	made      *made          // what became of making the group, and of reading credentials
	preparing bool           // the group is being made, or the credentials are being read
	secrets   secrets        // the directory of its credentials
	pid       int            // 0: no process, or an unknown one
	pidfd     int            // 0: none
	foreign   bool           // another process reaps it
	session   bool           // Options.Sessions reports its end
	unsure    bool           // whether the session began is not known yet
	kept      bool           // Options.Keep must forget it
	kill      syscall.Signal // requested before the process existed
	stopped   bool           // a stop was requested
	killed    bool           // with SIGKILL
	over      job.Outcome    // how its process ended, while others of its process group are alive; see end.go
	again     bool           // a check that was ended for a hold
	late      bool           // a check whose time was over
	reaping   *time.Timer    // for a dead process that its parent has not reaped
	pipes     pipe.Ends      // set while they are watched, and after
	open      int            // pipes that are not closed yet
	outcome   job.Outcome    // zero until reaped
	ended     time.Time      // when it was reaped
	usage     job.Usage      // as reported by the kernel at that time
	reached   job.Reason     // the limit that a session ran into
	unrun     bool           // see event.Ended
}

// eventQueue is the number of events that can wait for the receiver. Starts wait for it once the
// queue is full, so it is large enough for a large burst.
const eventQueue = 8192

// New makes a Spawner. Nothing is touched before Run.
func New(options Options) *Spawner {
	options.setDefaults()
	s := &Spawner{
		options: options,
		maker:   options.commandMaker(),
		events:  make(chan event.Event, eventQueue),
		loop:    workloop.New(),
		dir:     runoutput.Dir{Path: options.Runs},
		space:   runoutput.NewSpace(options.Runs),
		slow:    budget.New(maxSlow, maxSlow),
		living:  make(map[job.RunID]*child),
		byPID:   make(map[int]*child),

		checkTime: defaultCheckTime, logPatience: logPatience,
		logs: make(map[int]*child), lastLogs: make(map[string]int),
		busy:   make(map[*child]bool),
		ask:    unresolvedUsers{waiting: make(map[string][]*child)},
		groups: preparing{all: make(map[*child]bool)},
	}
	s.files.Estimate()
	s.tails = budget.New(tailShare(&s.files), tailShare(&s.files))
	return s
}

var errNoInodes = errors.New("too many inodes of the file system for running jobs are in use")

// hasInodes reports whether a run of a user may have files of its own in Options.Runs, or beside it.
func (s *Spawner) hasInodes(user string) bool { return user == budget.Root || s.dir.HasInodes() }

// Events returns a channel of event.Started and then Ended for each run, or only Ended for a run
// that could not be started; Late may follow. The receiver must drain it until Run has returned;
// while it does not, no run is started, reaped or read.
func (s *Spawner) Events() <-chan event.Event { return s.events }

// Start begins a run. It never blocks: it queues the run, and Events reports what happens. The
// queue has no limit, because it contains only runs that the engine holds too. After Run has
// returned, Start does nothing.
func (s *Spawner) Start(start effect.Start) { s.take(s.newChild(&start)) }

func (s *Spawner) newChild(start *effect.Start) *child {
	user := start.Job.User
	return &child{
		run: start.Run.ID, job: start.Job.ID, user: user, start: start,
		limit: s.outputOf(start), memory: s.options.Memory.Lease(user), file: runoutput.File{Space: s.space.Lease(user)},
	}
}

func (s *Spawner) take(c *child) {
	s.mu.Lock()
	s.queue.Put(c.user, c)
	s.living[c.run] = c
	s.owed++
	s.mu.Unlock()
	s.loop.Wake()
}

// Kill sends a signal to the process group of a run, and SIGKILL to all of its control group, if it
// has one, so that processes that left the session do not survive a stop. A run that still waits to
// be started is cancelled; an ended run is ignored. If there is no safe way to signal a process
// that another daemon began, nothing is sent, and SIGKILL marks the run as lost.
func (s *Spawner) Kill(kill effect.Kill) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if c := s.living[kill.Run]; c != nil {
		c.stopped = true
		if s.options.Runs != "" && !c.check && c.pid != 0 && kill.Reason != "" {
			handed.MarkStopping(s.dir.Base(c.run), kill.Reason)
		}
		s.kill(c, kill.Signal)
	}
}

// kill is called with Spawner.mu held.
func (s *Spawner) kill(c *child, sig syscall.Signal) {
	switch {
	case !c.over.IsZero():
		s.killLeftover(c, sig)
	case c.session && !c.unsure:
		s.options.Sessions.Kill(c.sessionName(), sig)
	case c.foreign:
		s.killForeign(c, sig)
	case c.pid == 0:
		c.kill = sig
	default:
		s.openPidfd(c)
		proc.SignalGroup(c.pid, sig)
	}
	if sig != syscall.SIGKILL {
		return
	}
	c.killed = true
	if c.group != nil {
		s.tasks.Go(c.group.Kill)
	}
}

func (s *Spawner) cancelled(c *child) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return c.kill != 0
}

// Run starts, reads and reaps until ctx is done. Then it starts no more, kills the commands of if=, and
// returns once every run has ended and was reported; to shorten that, kill the runs. It is called once.
func (s *Spawner) Run(ctx context.Context) error {
	defer s.shut()
	var end context.CancelFunc
	s.life, end = context.WithCancel(context.WithoutCancel(ctx))
	defer end()
	if err := self.Settle(); err != nil {
		return err
	}
	before := tailShare(&s.files)
	if err := s.files.Open(); err != nil {
		return err
	}
	more := tailShare(&s.files) - before
	s.tails.Extend(more, more)
	if s.options.Precedence {
		s.priority.Raise()
		defer s.priority.Restore()
	}
	defer s.files.Close()
	defer s.starter.Close()
	reader, err := openReader(s)
	if err != nil {
		return err
	}
	s.reader = reader
	s.dir.Spare = reader.spare

	died := make(chan os.Signal, 1)
	signal.Notify(died, syscall.SIGCHLD)
	defer signal.Stop(died)
	s.takeIn()

	readerDone := make(chan error, 1)
	go func() { readerDone <- reader.run() }()
	s.processLoop(ctx, died)
	reader.stop()
	err = <-readerDone
	end()
	s.calls.Wait()
	s.tasks.Wait()
	return err
}

// burst is the number of starts between two looks at the dead.
const burst = 16

// processLoop is the one goroutine that forks and reaps. A second would not be faster: a start costs
// mostly the kernel's exec, on whatever core is free.
func (s *Spawner) processLoop(ctx context.Context, died <-chan os.Signal) {
	stop := ctx.Done()
	begin := func(c *child) { s.begin(ctx, c) }
	s.reap() // children that died while one daemon replaced the other
	for {
		s.loop.Begin()
		s.loop.CallAll()
		if s.beginSome(begin) {
			s.loop.Wake()
		}
		s.loop.Rest()
		s.pauseIfQuiet()
		if stop == nil && s.close() {
			return
		}
		select {
		case <-s.loop.Woken():
		case <-died:
			s.reap()
		case <-s.occupied.timer:
			s.occupied.sweep(func(g Group) { s.tasks.Go(g.Kill) })
		case <-stop:
			stop = nil
			begin = s.refuse
			s.mu.Lock()
			s.killChecks(false)
			s.mu.Unlock()
		}
	}
}

// Working returns how long the goroutine that starts and reaps processes has
// been at its present work, and 0 while it waits for work. That is milliseconds,
// or something is wrong.
func (s *Spawner) Working() time.Duration { return s.loop.Working() }

// beginSome begins some of what is queued and reports whether more waits.
func (s *Spawner) beginSome(begin func(*child)) bool {
	for range burst {
		c := s.next()
		switch {
		case c == nil:
			return false
		case c.tool != nil:
			s.beginTool(c)
		default:
			begin(c)
		}
	}
	return true
}

// next prefers the programs of the daemon's, as runs may wait for them, but none of another user
// precedes root's runs.
func (s *Spawner) next() *child {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.hold != nil {
		return nil
	}
	for _, take := range []func() (*child, bool){s.tools.TakeRoot, s.queue.TakeRoot, s.tools.Take, s.queue.Take} {
		if c, ok := take(); ok {
			return c
		}
	}
	return nil
}

var (
	errStopping  = errors.New("the daemon is stopping")
	errCancelled = errors.New("stopped before it started")
)

func (s *Spawner) refuse(c *child) { s.abandon(c, errStopping) }

// close reports whether all work is done, and rejects new work if so.
func (s *Spawner) close() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = !s.awaitsRun() && !s.toolRuns() && s.tools.Len() == 0 && !s.loop.HasCalls()
	return s.closed
}

// shut ends requests that came too late.
func (s *Spawner) shut() {
	s.mu.Lock()
	s.closed = true
	tools := s.tools
	s.tools = budget.RootFirst[*child]{}
	held := s.hold
	s.mu.Unlock()
	for c, ok := tools.Take(); ok; c, ok = tools.Take() {
		s.abandon(c, errStopping)
	}
	if held != nil {
		held.fail()
	}
}

// report sends a run's end. It is called once for each run, by the goroutine that saw its last
// event, with s.mu free: the receiver may be slow. left is nil unless a process holds the output
// open.
func (s *Spawner) report(c *child, left *tail) {
	if c.progress != nil {
		s.endUnstarted(c)
	}
	if c.tool != nil {
		s.finish(c)
		return
	}
	s.dropCredentials(c)
	s.closeNotify(c)
	if c.check {
		s.endCheck(c)
		return
	}
	if left == nil {
		s.endLog(c)
	}
	used, reached := s.endGroup(c)
	path, space := s.endRecording(c)
	output := c.out.Chunks(c.run, c.job)
	c.memory.Add(int64(len(output)) * chunkBytes)
	s.events <- Ended{
		Ended:  event.Ended{Run: c.run, Outcome: c.outcome, At: c.ended, Usage: used, Limit: cmp.Or(reached, c.reached), Unrun: c.unrun},
		User:   c.user,
		Output: output, Memory: c.memory,
		File: path, Space: space, Late: left != nil,
	}
	if path == "" {
		s.dir.Remove(&c.file, c.run)
	}
	c.out = runoutput.Capture{}
	if left != nil {
		c.tail = left
		left.begin(s, c)
	} else {
		s.forgetNames(c)
	}
	if c.kept {
		s.options.Keep.Forget(c.run)
	}
	s.settleOwed()
}

func (s *Spawner) settleOwed() {
	s.mu.Lock()
	s.owed--
	idle := s.owed == 0
	s.mu.Unlock()
	if idle {
		s.loop.Wake() // the process loop may wait for this in order to return
	}
}

// processOf describes the process of a run for a daemon after a crash, as far as it is known.
func (s *Spawner) processOf(c *child) handed.Process {
	p := handed.Process{Job: c.job, User: c.user, Boot: s.options.Boot, OutputMax: c.limit}
	if c.pid != 0 {
		p.PID, p.Up = c.pid, proc.Uptime()
	}
	return p
}

// forgetNames removes the files of a run of which nothing is left. One without names has RUN.stopping, if
// it was stopped.
func (s *Spawner) forgetNames(c *child) {
	if s.options.Runs != "" {
		handed.Remove(s.dir.Base(c.run))
	}
}
