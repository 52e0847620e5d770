package spawn

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"syscall"
	"time"

	"github.com/cronring/cronring/crontab/diagnostic"
	"github.com/cronring/cronring/daemon/account"
	"github.com/cronring/cronring/daemon/engine/effect"
	"github.com/cronring/cronring/daemon/job"
	"github.com/cronring/cronring/daemon/spawn/command"
	"github.com/cronring/cronring/daemon/spawn/logfile"
	"github.com/cronring/cronring/daemon/spawn/pipe"
	"github.com/cronring/cronring/daemon/spawn/proc"
	"github.com/cronring/cronring/daemon/spawn/stage"
	"github.com/cronring/cronring/daemon/starter"
)

// Helper is the whole program of a process that a Spawner starts for itself: the starter, a
// writer of a log= file, or what a run does before its command. In any other process it does nothing.
// Programs that run a Spawner must call it first.
func Helper() {
	starter.Serve()
	logfile.Serve()
	stage.Serve()
}

// begin starts one run and reports that, or that it could not be started.
func (s *Spawner) begin(ctx context.Context, c *child) {
	if s.cancelled(c) {
		s.abandon(c, errCancelled)
		return
	}
	who, ok, err := s.userOf(c)
	switch {
	case err != nil:
		s.abandon(c, err)
	case !ok:
		s.inquire(ctx, c)
	case s.made(c) == nil && len(credentialsOf(c.start)) > 0:
		s.fetchCredentials(ctx, c, who)
	case s.takesSession(c):
		s.beginSession(ctx, c, who)
	case s.made(c) == nil && s.needsGroup(c):
		s.prepare(ctx, c)
	default:
		s.beginHere(c, who)
	}
}

func (s *Spawner) beginHere(c *child, who account.Account) {
	io, err := s.launch(c, who)
	if err != nil {
		s.abandon(c, err)
		return
	}
	if !c.check {
		s.storeDescriptors(c, io.Ours)
	}
	s.reader.watch(c, io.Ours, io.Status)
}

// launch makes the process of a run and returns our ends of what it prints.
func (s *Spawner) launch(c *child, who account.Account) (pipe.Stdio, error) {
	cmd, err := s.maker.Make(c.start, who, false)
	if err != nil {
		return pipe.Stdio{}, err
	}
	if err := s.join(c, &cmd); err != nil {
		return pipe.Stdio{}, err
	}
	defer s.files.Release(cmd.Group)
	if c.secrets.dir != "" {
		cmd.SetCredentials(c.secrets.dir)
	}
	if err := s.chooseDir(c, &cmd); err != nil {
		return pipe.Stdio{}, err
	}
	io, err := s.openStdio(c, cmd)
	if err != nil {
		return pipe.Stdio{}, err
	}
	s.openNotify(c, who.UID)
	return io, s.fork(c, cmd, &io)
}

// openNotify opens the socket of a run with watchdog=. A run without it can use cronring beat.
func (s *Spawner) openNotify(c *child, uid uint32) {
	if s.options.Notify == nil || c.check || command.OptionsOf(c.start).Watchdog == 0 {
		return
	}
	err := errNoneLeft
	if !s.hasInodes(c.user) {
		err = errNoInodes
	} else if s.reader.spare(1) {
		if err = s.options.Notify.Open(c.run, c.user, uid); err == nil {
			return
		}
		s.reader.spare(-1)
	}
	s.note(c, "NOTIFY_SOCKET does not work in this run: %v", err)
}

// closeNotify removes the socket of a run, if it has one.
func (s *Spawner) closeNotify(c *child) {
	if s.options.Notify != nil && !c.check && s.options.Notify.Close(c.run) {
		s.reader.spare(-1)
	}
}

// pipeStreams are the streams of pipes.
var pipeStreams = [len(pipe.Ends{})]job.Stream{job.Stdout, job.Stderr, logStream}

const outputLost = "the output of this run is lost: %v"

// openStdio makes a child's standard files. Without descriptors to spare, the
// job runs all the same, and its output is lost.
func (s *Spawner) openStdio(c *child, cmd command.Command) (pipe.Stdio, error) {
	null := s.files.Null
	io := pipe.Stdio{Child: [3]int{null, null, null}}
	if text := c.start.Job.Stdin; text != "" {
		input, err := pipe.Input(text)
		if err != nil {
			return pipe.Stdio{}, err
		}
		io.Child[0] = input
	}
	if c.check {
		return io, nil
	}
	err := errNoneLeft
	if s.reader.room(2) {
		err = s.openOutput(c, &io, cmd.Cred)
	}
	if err != nil {
		s.note(c, outputLost, err)
		return io, nil
	}
	if file := command.OptionsOf(c.start).Log.File; file != "" {
		s.openLog(c, &io, file, cmd)
	}
	return io, nil
}

var errNoneLeft = errors.New("too many files are open")

// openOutput makes the output pipes of a run. Where they cannot have names, a
// daemon after a crash does not find them.
func (s *Spawner) openOutput(c *child, io *pipe.Stdio, cred *syscall.Credential) error {
	if s.options.Runs != "" && s.slow.Fits(c.user, 1) && s.hasInodes(c.user) {
		if c.named = io.OpenNamed(s.dir.Base(c.run), cred) == nil; c.named {
			return nil
		}
		s.forgetNames(c) // one of them may have been made
	}
	return io.OpenPipes(cred)
}

// fork starts a command with its standard files, whose child ends are closed
// in any case, and ours if that fails.
func (s *Spawner) fork(c *child, cmd command.Command, io *pipe.Stdio) error {
	pid, err := s.startProcess(c, cmd, io)
	s.files.Release(io.Child[:]...)
	if err != nil {
		s.files.Release(io.Ours[:]...)
		return err
	}
	s.register(c, pid, *io)
	return nil
}

// startProcess has the starter make a process. It does not wait until the
// command runs: the reader reads from io.status what comes of that.
func (s *Spawner) startProcess(c *child, cmd command.Command, io *pipe.Stdio) (pid int, err error) {
	status, err := pipe.Open(nil)
	if err != nil {
		return 0, fmt.Errorf("start process: %w", err)
	}
	defer s.files.Release(status[1])
	request := cmd.Request(s.files.Original, s.priority)
	request.Files, request.Status = io.Child[:], status[1]
	if c.named {
		request.Mark, request.MarkText = s.processOf(c).Mark(s.dir.Base(c.run))
	}
	if order := (stage.Order{EnvFile: []byte(cmd.EnvFile), Kept: cmd.Kept, Sandbox: cmd.Sandbox}); order.Needed() {
		request.Path, request.Argv = stage.Path, order.Argv(cmd.Argv...)
		request.Files = append(request.Files, status[1])
	}
	if pid, err = s.starter.Start(&request); err != nil {
		s.files.Release(status[0])
		return 0, explain(err)
	}
	io.Status = status[0]
	io.Progress = &starter.Progress{Command: cmd.Path, Dir: cmd.Dir, OwnDir: cmd.OwnDir}
	return pid, nil
}

// join has a command enter the group that was made for its run.
func (s *Spawner) join(c *child, cmd *command.Command) (err error) {
	m := s.made(c)
	switch {
	case m == nil:
		return nil
	case m.err != nil:
		return m.err
	case m.group == nil:
		return nil
	}
	s.mu.Lock()
	c.group = m.group
	s.mu.Unlock()
	s.markGroup(c)
	if c.group.Dir() == "" {
		cmd.GroupFiles = c.group.ProcsFiles()
		return nil
	}
	cmd.Group, err = enter(c.group)
	return err
}

// register makes a child known to Kill and reap.
func (s *Spawner) register(c *child, pid int, io pipe.Stdio) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if c.check {
		s.limitCheck(c)
	} else {
		c.start = nil
	}
	c.found, c.made = nil, nil
	c.pid = pid
	c.open = io.Ours.Count() + 1
	c.progress = io.Progress
	s.byPID[pid] = c
	switch {
	case c.kill != 0:
		s.kill(c, c.kill)
	case c.tool != nil && s.hold != nil && s.hold.forced: // force came just before
		proc.SignalGroup(pid, syscall.SIGKILL)
	}
}

// chooseDir has a job without a HOME run in /, as Debian's cron does.
func (s *Spawner) chooseDir(c *child, cmd *command.Command) error {
	switch {
	case cmd.Dir != "":
	case !cmd.DirOptional:
		return errors.New("chdir HOME failed: HOME is empty")
	default:
		s.note(c, "HOME is empty; running in /")
	}
	return nil
}

// explain describes why the starter could not make a process.
func explain(err error) error {
	switch {
	case errors.Is(err, starter.ErrUnknown):
		return err
	case errors.Is(err, syscall.EAGAIN):
		return fmt.Errorf("start process: the limit of processes is reached: %w", err)
	case errors.Is(err, syscall.E2BIG):
		return fmt.Errorf("start process: command and environment are too long: %w", err)
	}
	return fmt.Errorf("start process: %w", err)
}

// Plan returns what a run would be if it started now. Start uses the same functions. Plan may wait
// for a directory service.
func (s *Spawner) Plan(ctx context.Context, start *effect.Start) (command.Plan, error) {
	who, err := s.options.Accounts.Find(ctx, start.Job.User)
	if err != nil {
		return command.Plan{}, err
	}
	p, err := s.maker.Plan(start, who, s.options.Sessions != nil && s.options.Sessions.Takes(&start.Job))
	if err == nil && p.EnvFile != "" {
		p.Env, err = s.readEnvFile(ctx, &p)
	}
	return p, err
}

// readEnvFile returns the environment of a plan with the variables of its file. A process of the
// user reads it, as it does for a run.
func (s *Spawner) readEnvFile(ctx context.Context, p *command.Plan) ([]string, error) {
	cred, err := command.Credential(p.Account)
	if err != nil {
		return nil, err
	}
	order := stage.Order{EnvFile: []byte(p.EnvFile), Kept: p.Kept}
	const room = 1 << 20 // more than the environment of a process can have and the file can add
	done, err := s.execCommand(ctx, command.Command{
		Path: stage.Path, Argv: order.Argv(), Env: p.Env, Cred: cred,
	}, 0, room)
	switch {
	case err != nil:
		return nil, err
	case done.Outcome != job.Outcome{Kind: job.Exited}:
		return nil, errors.New(cmp.Or(diagnostic.Harmless(string(done.Errput)), "env-file="+p.EnvFile+": "+done.Outcome.String()))
	}
	return strings.Split(strings.TrimSuffix(string(done.Output), "\x00"), "\x00"), nil
}

// inquirers is the largest number of concurrent lookups of users. Each lookup is a program or a connection to
// a directory service, which may be slow or dead.
const inquirers = 4

// unresolvedUsers is the accounts that no answer is at hand for. It is guarded by
// Spawner.mu.
type unresolvedUsers struct {
	waiting map[string][]*child // by name, those asked for now among them
	names   []string            // not yet asked for, oldest first
	busy    int                 // goroutines that ask
}

// lookup is the result of looking up a user.
type lookup struct {
	account account.Account
	err     error
}

// userOf returns the user of a run, if the lookup is complete.
func (s *Spawner) userOf(c *child) (who account.Account, ok bool, err error) {
	s.mu.Lock()
	found := c.found
	s.mu.Unlock()
	if found != nil {
		return found.account, true, found.err
	}
	who, ok = s.options.Accounts.Known(c.start.Job.User)
	return who, ok, nil
}

// inquire has an account found for a run, which is queued again afterwards.
// Runs of one account wait together.
func (s *Spawner) inquire(ctx context.Context, c *child) {
	s.mu.Lock()
	defer s.mu.Unlock()
	name := c.start.Job.User
	_, asked := s.ask.waiting[name]
	s.ask.waiting[name] = append(s.ask.waiting[name], c)
	if asked {
		return
	}
	s.ask.names = append(s.ask.names, name)
	if s.ask.busy < inquirers {
		s.ask.busy++
		s.tasks.Go(func() { s.inquireAll(ctx) })
	}
}

func (s *Spawner) inquireAll(ctx context.Context) {
	for {
		name, ok := s.nextName()
		if !ok {
			return
		}
		who, err := s.options.Accounts.Find(ctx, name)
		s.deliver(name, lookup{who, err})
	}
}

func (s *Spawner) nextName() (name string, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.ask.names) == 0 {
		s.ask.busy--
		return "", false
	}
	name = s.ask.names[0]
	s.ask.names = s.ask.names[1:]
	return name, true
}

func (s *Spawner) deliver(name string, f lookup) {
	s.mu.Lock()
	for _, c := range s.ask.waiting[name] {
		c.found = &f
		s.queue.Put(c.user, c)
	}
	delete(s.ask.waiting, name)
	s.mu.Unlock()
	s.loop.Wake()
}

// limitCheck ends the command of if= when its time is over.
func (s *Spawner) limitCheck(c *child) {
	c.timer = time.AfterFunc(s.checkTime, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if c.outcome.IsZero() && !c.again {
			c.late = true
			s.kill(c, syscall.SIGKILL)
		}
	})
}
