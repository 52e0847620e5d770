package spawn

import (
	"cmp"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/cronring/cronring/crontab"
	"github.com/cronring/cronring/daemon/account"
	"github.com/cronring/cronring/daemon/engine"
)

// command is what launch hands to the kernel.
type command struct {
	path   string
	argv   []string
	dir    string
	env    []string
	cred   *syscall.Credential
	limits account.Limits
	wants  wants
	doors  []string // of the control group that it enters, if not at birth
	group  int      // the directory of one that it enters at birth; 0 is none
	anyhow bool     // it runs in / where dir cannot be entered
	tool   bool     // it is the daemon's, not a job
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
	defer s.files.release(cmd.group)
	io, err := s.openStdio(c, cmd)
	if err != nil {
		return stdio{}, err
	}
	pid, err := s.fork(c, cmd, &io)
	s.files.release(io.child[:]...)
	if err != nil {
		s.files.release(io.ours[:]...)
		return stdio{}, err
	}
	if io.stage == nil {
		s.files.settleLimit(pid)
	}
	s.register(c, pid, io)
	return io, nil
}

// bounded is what a run is to the kernel, with all that it is held to but its
// control group.
func (s *Spawner) bounded(start *engine.Start, who account.Account) (command, error) {
	cmd, err := s.command(start, who, s.baseEnv(who))
	if err != nil {
		return command{}, err
	}
	if s.options.Limits != nil {
		cmd.limits = s.options.Limits(who)
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
	if c.group.Dir() == "" || cmd.needsStage() {
		cmd.doors = c.group.Doors()
		return nil
	}
	cmd.group, err = enter(c.group)
	return err
}

// command is what a run is to the kernel: under anacron always /bin/sh, and
// never in anybody's home.
func (s *Spawner) command(start *engine.Start, who account.Account, base []string) (command, error) {
	cred, err := credential(who)
	if err != nil {
		return command{}, err
	}
	env := s.environ(start, who, base)
	cmd := command{
		path:   cmp.Or(env.get("SHELL"), "/bin/sh"),
		dir:    env.get("HOME"),
		env:    env.vars,
		cred:   cred,
		anyhow: s.options.Family != crontab.RHEL,
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
	c.open = io.ours.count()
	if io.status != 0 {
		c.open++
		c.stage = io.stage
		s.staged++
	}
	s.byPID[pid] = c
	switch {
	case c.kill != 0:
		s.kill(c, c.kill)
	case c.tool != nil && s.hold != nil && s.hold.forced: // force came just before
		signalGroup(pid, syscall.SIGKILL)
	}
}

// fork starts the command in its directory, or in / if that cannot be entered,
// as Debian's cron runs jobs without a home too. The first attempt is the only
// test that is right in all cases: it is made as the account, which may see
// directories that root does not.
func (s *Spawner) fork(c *child, cmd command, io *stdio) (pid int, err error) {
	home := cmd.dir
	switch {
	case home == "" && !cmd.anyhow:
		return 0, errors.New("chdir HOME failed: HOME is empty")
	case home == "":
		cmd.dir = "/"
		s.note(c, "HOME is empty; running in /")
	}
	if cmd.needsStage() {
		return s.forkStage(cmd, io)
	}
	pid, err = forkExec(cmd, io.files())
	if cmd.dir == "/" || !slices.Contains(pathErrors, err) || !cmd.anyhow {
		return pid, explain(cmd, err)
	}
	inHome := err
	cmd.dir = "/"
	if pid, err = forkExec(cmd, io.files()); err == nil {
		s.note(c, inRoot, home, inHome)
	}
	return pid, explain(cmd, err)
}

const inRoot = "cannot enter %s: %v; running in /"

// pathErrors may come from the directory as well as from the shell.
var pathErrors = []error{
	syscall.ENOENT, syscall.ENOTDIR, syscall.EACCES, syscall.ELOOP,
	syscall.ENAMETOOLONG, syscall.EIO, syscall.ESTALE,
}

// forkExec makes a process in a session of its own. The signal mask is the
// thread's, and a daemon may have been started with signals blocked.
func forkExec(cmd command, files []uintptr) (int, error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var none, own unix.Sigset_t
	if err := unix.PthreadSigmask(unix.SIG_SETMASK, &none, &own); err != nil {
		return 0, fmt.Errorf("set signal mask: %w", err)
	}
	defer func() { _ = unix.PthreadSigmask(unix.SIG_SETMASK, &own, nil) }() // what was set once can be set again
	return syscall.ForkExec(cmd.path, cmd.argv, &syscall.ProcAttr{
		Dir:   cmd.dir,
		Env:   cmd.env,
		Files: files,
		Sys: &syscall.SysProcAttr{
			Setsid: true, Credential: cmd.cred,
			UseCgroupFD: cmd.group != 0, CgroupFD: cmd.group,
		},
	})
}

// explain says which of the many things that start a process went wrong.
func explain(cmd command, err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, syscall.EAGAIN):
		return fmt.Errorf("start process: the limit of processes is reached: %w", err)
	case errors.Is(err, syscall.E2BIG):
		return fmt.Errorf("start process: command and environment are too long: %w", err)
	case errors.Is(err, syscall.EPERM) && cmd.cred != nil:
		return fmt.Errorf("become uid %d: %w", cmd.cred.Uid, err)
	case slices.Contains(pathErrors, err) && cmd.blamesHome():
		return fmt.Errorf("chdir HOME failed: %s: %w", cmd.dir, err)
	case (slices.Contains(pathErrors, err) || errors.Is(err, syscall.ENOEXEC)) && cmd.tool:
		return fmt.Errorf("run %s: %w", cmd.path, err)
	case slices.Contains(pathErrors, err), errors.Is(err, syscall.ENOEXEC):
		return &shellError{cmd.path, err}
	}
	return fmt.Errorf("start process: %w", err)
}

// blamesHome reports whether an error about a path is about the directory,
// where that one is needed. The kernel's answer does not tell; the shell is
// looked at, as whom it mostly is in everybody's sight.
func (cmd command) blamesHome() bool {
	return !cmd.anyhow && !cmd.tool && unix.Access(cmd.path, unix.X_OK) == nil
}

// shellError says that a job's SHELL cannot be executed.
type shellError struct {
	shell string
	err   error
}

func (e *shellError) Error() string { return "run SHELL " + e.shell + ": " + e.err.Error() }

func (e *shellError) Unwrap() error { return e.err }
