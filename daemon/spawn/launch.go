package spawn

import (
	"cmp"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"syscall"

	"golang.org/x/sys/unix"
)

// command is what launch hands to the kernel.
type command struct {
	shell string
	text  string
	dir   string
	env   []string
	cred  *syscall.Credential
	stdio stdio
}

// launch makes the process of a run and returns our ends of its output.
func (s *Spawner) launch(c *child) (pipes, error) {
	if s.cancelled(c) {
		return pipes{}, errors.New("stopped before it started")
	}
	account, err := s.accounts.find(c.start.Job.User)
	if err != nil {
		return pipes{}, err
	}
	cred, err := account.credential()
	if err != nil {
		return pipes{}, err
	}
	env := s.environ(c.start, account)
	stdio, err := s.openStdio(c, cred)
	if err != nil {
		return pipes{}, err
	}
	pid, err := s.fork(c, command{
		shell: cmp.Or(env.get("SHELL"), "/bin/sh"),
		text:  c.start.Job.Command,
		dir:   env.get("HOME"),
		env:   env.vars,
		cred:  cred,
		stdio: stdio,
	})
	s.files.release(stdio.child[:]...)
	if err != nil {
		s.files.release(stdio.ours[:]...)
		return pipes{}, err
	}
	s.files.settleLimit(pid)
	s.register(c, pid, stdio.ours)
	return stdio.ours, nil
}

func (s *Spawner) cancelled(c *child) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return c.kill != 0
}

// register makes a child known to Kill and reap.
func (s *Spawner) register(c *child, pid int, ours pipes) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c.start = nil
	c.pid = pid
	c.open = ours.count()
	s.byPID[pid] = c
	if c.kill != 0 {
		signalGroup(pid, c.kill)
	}
}

// fork starts the command in its directory, or in / if that cannot be entered,
// as Debian's cron runs jobs without a home too. The first attempt is the only
// test that is right in all cases: it is made as the account, which may see
// directories that root does not.
func (s *Spawner) fork(c *child, cmd command) (pid int, err error) {
	home := cmd.dir
	if home == "" {
		cmd.dir = "/"
		s.note(c, "HOME is empty; running in /")
	}
	pid, err = forkExec(cmd)
	if cmd.dir == "/" || !slices.Contains(pathErrors, err) {
		return pid, explain(cmd, err)
	}
	inHome := err
	cmd.dir = "/"
	if pid, err = forkExec(cmd); err == nil {
		s.note(c, "cannot enter %s: %v; running in /", home, inHome)
	}
	return pid, explain(cmd, err)
}

// pathErrors may come from the directory as well as from the shell.
var pathErrors = []error{
	syscall.ENOENT, syscall.ENOTDIR, syscall.EACCES, syscall.ELOOP,
	syscall.ENAMETOOLONG, syscall.EIO, syscall.ESTALE,
}

// forkExec makes a process in a session of its own. The signal mask is the
// thread's, and a daemon may have been started with signals blocked.
func forkExec(cmd command) (int, error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var none, own unix.Sigset_t
	if err := unix.PthreadSigmask(unix.SIG_SETMASK, &none, &own); err != nil {
		return 0, fmt.Errorf("set signal mask: %w", err)
	}
	defer func() { _ = unix.PthreadSigmask(unix.SIG_SETMASK, &own, nil) }() // what was set once can be set again
	return syscall.ForkExec(cmd.shell, []string{cmd.shell, "-c", cmd.text}, &syscall.ProcAttr{
		Dir:   cmd.dir,
		Env:   cmd.env,
		Files: cmd.stdio.files(),
		Sys:   &syscall.SysProcAttr{Setsid: true, Credential: cmd.cred},
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
	case slices.Contains(pathErrors, err), errors.Is(err, syscall.ENOEXEC):
		return fmt.Errorf("run SHELL %s: %w", cmd.shell, err)
	}
	return fmt.Errorf("start process: %w", err)
}
