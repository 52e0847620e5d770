package spawn

import (
	"cmp"
	"errors"
	"fmt"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/cronring/cronring/crontab"
	"github.com/cronring/cronring/crontab/option"
	"github.com/cronring/cronring/daemon/account"
	"github.com/cronring/cronring/daemon/engine"
	"github.com/cronring/cronring/daemon/starter"
)

// command describes a process for the starter.
type command struct {
	path        string
	argv        []string
	dir         string
	env         []string
	cred        *syscall.Credential
	uid         uint32
	limits      account.Limits
	wants       processSettings
	groupFiles  []string // files of the control group that it enters, if not at birth
	group       int      // directory of the group that it enters at birth; 0: none
	dirOptional bool     // it runs in / where dir cannot be entered
}

// processSettings are the settings that an entry's options request for its process.
type processSettings struct {
	noFile int // most open files; 0 leaves it
	nice   *int
	idle   bool

	// These report that the user's own crontab set the option, so that the kernel applies the
	// user's limits; otherwise it applies root's.
	ownNoFile, ownNice bool
}

func wanted(start *engine.Start) processSettings {
	r := options(start).Resources
	if r == nil {
		return processSettings{}
	}
	return processSettings{
		noFile: r.NoFile, nice: r.Nice, idle: r.Idle,
		ownNoFile: isOwn(start.Entry, "nofile"), ownNice: isOwn(start.Entry, "nice"),
	}
}

// isOwn reports whether an option was set by the user, in the user's crontab and not in the
// daemon's configuration.
func isOwn(e *crontab.Entry, key string) (own bool) {
	if e == nil || e.File().Format != crontab.User {
		return false
	}
	for _, it := range e.Options().Items {
		if it.Key == key { // the last one counts
			own = it.Origin == option.FromDefault || it.Origin == option.FromDirective
		}
	}
	return own
}

// launch makes the process of a run and returns our ends of what it prints.
func (s *Spawner) launch(c *child, who account.Account) (stdio, error) {
	cmd, err := s.bounded(c.start, who)
	if err != nil {
		return stdio{}, err
	}
	if err := s.join(c, &cmd); err != nil {
		return stdio{}, err
	}
	defer s.files.Release(cmd.group)
	if err := s.chooseDir(c, &cmd); err != nil {
		return stdio{}, err
	}
	io, err := s.openStdio(c, cmd)
	if err != nil {
		return stdio{}, err
	}
	return io, s.fork(c, cmd, &io)
}

// fork starts a command with its standard files, whose child ends are closed
// in any case, and ours if that fails.
func (s *Spawner) fork(c *child, cmd command, io *stdio) error {
	pid, err := s.startProcess(cmd, io)
	s.files.Release(io.child[:]...)
	if err != nil {
		s.files.Release(io.ours[:]...)
		return err
	}
	s.register(c, pid, *io)
	return nil
}

// startProcess has the starter make a process. It does not wait until the
// command runs: the pump reads from io.status what comes of that.
func (s *Spawner) startProcess(cmd command, io *stdio) (pid int, err error) {
	status, err := openPipe(nil)
	if err != nil {
		return 0, fmt.Errorf("start process: %w", err)
	}
	defer s.files.Release(status[1])
	request := s.request(cmd)
	request.Files, request.Status = io.child[:], status[1]
	if pid, err = s.starter.Start(&request); err != nil {
		s.files.Release(status[0])
		return 0, explain(err)
	}
	io.status = status[0]
	io.progress = &starter.Progress{Command: cmd.path, Dir: cmd.dir}
	return pid, nil
}

// request is a command without its files, for the starter. It states in full
// how many files may be open and how nice the process is, because the daemon
// has changed both for itself.
func (s *Spawner) request(cmd command) starter.Command {
	r := starter.Command{
		Path: cmd.path, Argv: cmd.argv, Env: cmd.env, Dir: cmd.dir, DirOptional: cmd.dirOptional,
		User: cmd.cred, Group: cmd.group, GroupFiles: cmd.groupFiles, Idle: cmd.wants.idle, Umask: cmd.limits.Umask,
	}
	if cmd.limits.Login {
		r.Login = strconv.FormatUint(uint64(cmd.uid), 10)
	}
	files := s.files.Original
	for _, limit := range cmd.limits.Resources {
		if limit.Resource == unix.RLIMIT_NOFILE {
			files = limit.Over(files)
			continue
		}
		var present unix.Rlimit
		_ = unix.Getrlimit(limit.Resource, &present) // fails only for a resource that this kernel lacks, as setting it will
		present = limit.Over(present)
		r.Limits = append(r.Limits, starter.Limit{Resource: limit.Resource, Soft: present.Cur, Hard: present.Max})
	}
	own := starter.Rule{AsUser: cmd.wants.ownNoFile, Required: true}
	if cmd.wants.noFile == 0 || own.AsUser { // root's word replaces the user's limit
		r.Limits = append(r.Limits, starter.Limit{Resource: unix.RLIMIT_NOFILE, Soft: files.Cur, Hard: files.Max})
	}
	if n := uint64(cmd.wants.noFile); n != 0 {
		r.Limits = append(r.Limits, starter.Limit{Resource: unix.RLIMIT_NOFILE, Soft: n, Hard: n, Rule: own})
	}
	switch {
	case cmd.limits.Nice != nil:
		r.Nice = append(r.Nice, starter.Nice{Value: *cmd.limits.Nice})
	case s.priority.Raised:
		r.Nice = append(r.Nice, starter.Nice{Value: s.priority.Original})
	}
	if nice := cmd.wants.nice; nice != nil {
		r.Nice = append(r.Nice, starter.Nice{Value: *nice, Rule: starter.Rule{AsUser: cmd.wants.ownNice, Required: true}})
	}
	return r
}

// bounded returns the command of a run with all its limits except its control group.
func (s *Spawner) bounded(start *engine.Start, who account.Account) (command, error) {
	cmd, err := s.command(start, who, s.baseEnv(who))
	if err != nil {
		return command{}, err
	}
	if s.options.Limits != nil {
		cmd.limits, cmd.uid = s.options.Limits(who), who.UID
	}
	cmd.wants = wanted(start)
	return cmd, nil
}

// join has a command enter the group that was made for its run.
func (s *Spawner) join(c *child, cmd *command) (err error) {
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
		cmd.groupFiles = c.group.Doors()
		return nil
	}
	cmd.group, err = enter(c.group)
	return err
}

// command returns the command of a run. Under anacron the shell is always /bin/sh and the directory
// never a user's home.
func (s *Spawner) command(start *engine.Start, who account.Account, base []string) (command, error) {
	cred, err := credential(who)
	if err != nil {
		return command{}, err
	}
	env := s.environ(start, who, base)
	cmd := command{
		path:        cmp.Or(env.get("SHELL"), "/bin/sh"),
		dir:         env.get("HOME"),
		env:         env.vars,
		cred:        cred,
		dirOptional: s.options.Family != crontab.RHEL,
	}
	if start.Job.Dir != "" {
		cmd.path, cmd.dir = "/bin/sh", start.Job.Dir
	}
	cmd.argv = []string{cmd.path, "-c", start.Job.Command}
	return cmd, nil
}

// register makes a child known to Kill and reap.
func (s *Spawner) register(c *child, pid int, io stdio) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if c.check {
		s.limitCheck(c)
	} else {
		c.start = nil
	}
	c.found, c.made = nil, nil
	c.pid = pid
	c.open = io.ours.count() + 1
	c.progress = io.progress
	s.byPID[pid] = c
	switch {
	case c.kill != 0:
		s.kill(c, c.kill)
	case c.tool != nil && s.hold != nil && s.hold.forced: // force came just before
		signalGroup(pid, syscall.SIGKILL)
	}
}

// chooseDir has a job without a HOME run in /, as Debian's cron does.
func (s *Spawner) chooseDir(c *child, cmd *command) error {
	switch {
	case cmd.dir != "":
	case !cmd.dirOptional:
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
