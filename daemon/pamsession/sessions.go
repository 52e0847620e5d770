// Package pamsession owns the decision which jobs start in PAM sessions, and their start there for
// package spawn. Package session has the calls to systemd for this.
package pamsession

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/cronring/cronring/crontab"
	"github.com/cronring/cronring/crontab/option"
	"github.com/cronring/cronring/daemon/account"
	"github.com/cronring/cronring/daemon/api"
	"github.com/cronring/cronring/daemon/job"
	"github.com/cronring/cronring/daemon/session"
	"github.com/cronring/cronring/daemon/spawn"
	"github.com/cronring/cronring/daemon/spawn/handed"
)

// Options describe the host.
type Options struct {
	Program string             // that systemd starts to become a job: it calls Main first
	Always  bool               // session = "pam"
	PAM     func() account.PAM // what the host's file for cron requires now
	Systemd bool               // it runs here
	Family  crontab.Family
	Runs    string                                          // directory of what outlives the daemon: each session has a mark there
	Missing func(context.Context, *option.Resources) string // why limits cannot be enforced here
	Log     *slog.Logger
}

// Sessions has systemd start jobs, each in a session that PAM opened. A nil pointer is valid for
// Health.
type Sessions struct {
	Options
	manager *session.Manager
	calls   sync.WaitGroup
	last    atomic.Pointer[api.Session] // what was logged
}

// New prepares sessions. The caller calls Close in the end.
func New(o Options) *Sessions {
	return &Sessions{Options: o, manager: session.New(o.Program, becomeFlag)}
}

// Close waits for calls of systemd.
func (s *Sessions) Close() { s.calls.Wait() }

// Recognize marks runs of a daemon before this one that are sessions.
func (s *Sessions) Recognize(before []handed.Run) {
	for i := range before {
		_, err := os.Lstat(s.mark(spawn.SessionOf(before[i].Run)))
		before[i].Session = before[i].Session || err == nil && !before[i].Tail
	}
}

// becomeFlag is the one argument with which systemd starts this program to become a job.
const becomeFlag = "--become-a-job"

// Main is the whole program of a session until it becomes the job; it is nothing in any other
// process. It must be called first.
func Main() {
	if len(os.Args) == 2 && os.Args[1] == becomeFlag {
		session.Become()
	}
}

// Mode returns how jobs start now, and logs it if it has changed.
func (s *Sessions) Mode() api.Session {
	p := s.PAM()
	now := api.Session{PAM: p.Needs != "", Service: p.Service, Why: p.Needs}
	if s.Always && !now.PAM {
		now = api.Session{PAM: true, Service: cmp.Or(p.Service, "cronring"), Why: `session = "pam"`}
	}
	switch last := s.last.Swap(&now); {
	case last != nil && *last == now, now == api.Session{}: // or the host has no PAM
	case !now.PAM:
		s.Log.Info("jobs start without PAM", "covered", "/etc/pam.d/"+now.Service)
	case !s.Systemd:
		s.Log.Error(noSessions.What, "why", noSessions.Why, "required", now.Why, "fix", noSessions.Fix)
	default:
		s.Log.Info("jobs start in PAM sessions", "service", now.Service, "required", now.Why, "cost", account.PAMCost)
	}
	return now
}

// noSessions is the problem of a host without systemd.
var noSessions = api.Problem{
	What: "jobs of users other than root do not start",
	Why:  "PAM must admit them, and only systemd can open a PAM session for cronring; systemd does not run here",
	Fix:  `session = "none" in /etc/cronring/cronring.toml starts them without PAM`,
}

// Health adds how jobs start.
func (s *Sessions) Health(h *api.Health) {
	if s == nil {
		return
	}
	now := s.Mode()
	if now.Service != "" {
		h.Session = &now
	}
	if now.PAM && !s.Systemd {
		h.Problems = append(h.Problems, noSessions)
	}
}

// Takes leaves root's entries of system crontabs out where cronie does. Without
// systemd it leaves all of root's out.
func (s *Sessions) Takes(j *job.Job) bool {
	if !s.Mode().PAM {
		return false
	}
	isSystem := s.Family == crontab.RHEL && strings.HasPrefix(j.Crontab, "/etc/")
	return j.User != "root" || s.Systemd && !isSystem
}

// startTime bounds how long the modules of PAM may take.
const startTime = time.Minute

// Start begins a session.
func (s *Sessions) Start(ctx context.Context, what spawn.Session) (pid int, note string, err error) {
	if !s.Systemd {
		return 0, "", errors.New(noSessions.Why)
	}
	spec := session.Spec{
		Name: unitOf(what.Name), Description: "cronring: " + string(what.Job.ID), User: what.Account.Name,
		PAMName: s.Mode().Service, Argv: what.Argv, Env: what.Env, Dir: what.Dir, Fallback: what.Anyhow,
		Umask: 0o022, Identifier: string(what.Job.ID), Resources: what.Options.Resources,
		OwnUmask: what.Options.Process.Umask, EnvFile: what.EnvFile, Kept: what.Kept,
		Sandbox: what.Sandbox, NoNetwork: what.NoNetwork,
	}
	if what.Options.Process.Group != "" {
		for _, gid := range what.Account.Groups {
			spec.Groups = append(spec.Groups, strconv.FormatUint(uint64(gid), 10))
		}
	}
	for i, fd := range what.Files {
		own, err := unix.FcntlInt(uintptr(fd), unix.F_DUPFD_CLOEXEC, 3) // a file of os closes what it is given
		if err != nil {
			return 0, "", fmt.Errorf("start session: %w", err)
		}
		spec.Files[i] = os.NewFile(uintptr(own), "stdio")
		defer spec.Files[i].Close()
	}
	ctx, cancel := context.WithTimeout(ctx, startTime)
	defer cancel()
	if why := s.Missing(ctx, what.Options.Resources); why != "" {
		return 0, "", errors.New(why) // systemd would start it without
	}
	if _, err := os.Lstat(s.mark(what.Name)); err == nil { // a check of a daemon before this one
		if err := s.manager.Discard(ctx, unitOf(what.Name)); err != nil {
			return 0, "", err
		}
	}
	if err := os.WriteFile(s.mark(what.Name), nil, 0o600); err != nil {
		return 0, "", fmt.Errorf("start session: %w", err)
	}
	p, err := s.manager.Start(ctx, spec)
	if not, ok := errors.AsType[*session.NotStartedError](err); ok && !not.Unrun {
		return 0, "", fmt.Errorf("%s: %w", not.Reason, spawn.ErrUnsure)
	} else if ok {
		return 0, "", errors.New(not.Reason)
	}
	return p.PID, p.Note, err
}

// callTime bounds how long systemd is waited for.
const callTime = 30 * time.Second

// Kill signals a session on a goroutine of its own, as systemd answers when it
// has time.
func (s *Sessions) Kill(name string, sig syscall.Signal) {
	s.call("a session cannot be signalled", func(ctx context.Context) error {
		err := s.manager.Kill(ctx, unitOf(name), sig)
		if errors.Is(err, session.ErrEnded) {
			return nil
		}
		return err
	})
}

func (s *Sessions) call(what string, call func(context.Context) error) {
	s.calls.Go(func() {
		ctx, cancel := context.WithTimeout(context.Background(), callTime)
		defer cancel()
		if err := call(ctx); err != nil {
			s.Log.Warn(what, "error", err)
		}
	})
}

// recent is the maximum age of an end that counts as now. Our clock sees the start a little late,
// and nothing may end before it began.
const recent = 5 * time.Second

// Wait waits for the end of a session.
func (s *Sessions) Wait(ctx context.Context, name string) (spawn.SessionEnd, error) {
	e, err := s.manager.Wait(ctx, unitOf(name))
	end := spawn.SessionEnd{Outcome: e.Outcome, At: e.At, Usage: e.Usage, Limit: e.Limit}
	if time.Since(e.At) < recent {
		end.At = time.Time{}
	}
	return end, err
}

// mark is a file that marks a run as a session: a daemon that finds its process gone must query the
// service manager.
func (s *Sessions) mark(name string) string {
	return filepath.Join(s.Runs, strings.TrimPrefix(name, "run-")+".session")
}

// Release lets systemd forget a session. It does nothing to a run that was none.
func (s *Sessions) Release(name string) { s.End(name, false) }

// End is Release. After a stop all processes end that are left of the session.
func (s *Sessions) End(name string, stopped bool) {
	release := s.manager.Release
	if stopped {
		release = s.manager.Discard
	}
	if os.Remove(s.mark(name)) == nil {
		s.call("systemd keeps the unit of a run that is over", func(ctx context.Context) error {
			return release(ctx, unitOf(name))
		})
	}
}

func unitOf(name string) string { return "cronring-" + name + ".service" }
