package daemon

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/cronring/cronring/crontab"
	"github.com/cronring/cronring/daemon/cgroup"
	"github.com/cronring/cronring/daemon/job"
	"github.com/cronring/cronring/daemon/session"
	"github.com/cronring/cronring/daemon/spawn"
)

// sessions has systemd start jobs, each in a session that PAM opened.
type sessions struct {
	manager *session.Manager
	family  crontab.Family
	runs    string // directory of what outlives the daemon: each session has a mark there
	ends    chan spawn.SessionEnd
	kills   sync.WaitGroup
	fail    func(what string, err error)
	missing func(context.Context, *crontab.Resources) string // why limits cannot be enforced here
}

// pamService is the file in /etc/pam.d.
const pamService = "cronring"

// becomeFlag is the one argument with which systemd starts this program to
// become a job.
const becomeFlag = "--become-a-job"

// Become is the whole program of a session until it becomes the job, and that
// of a holder of control groups; it is nothing in any other process. It has to
// be called first.
func Become() {
	switch {
	case len(os.Args) == 2 && os.Args[1] == becomeFlag:
		session.Become()
	case len(os.Args) == 3 && os.Args[1] == holdFlag:
		if err := cgroup.Hold(os.Args[2]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
}

// openSessions connects to systemd, if the configuration wants sessions, and
// follows those among the runs of a daemon before this one. Jobs run without
// one where that fails: the host's work comes first.
func (l *loop) openSessions(ctx context.Context, before []spawn.Handed) error {
	if l.options.Config.Session != "pam" {
		return nil
	}
	path, err := program()
	if err != nil {
		return fmt.Errorf("find our own program: %w", err)
	}
	m, err := session.Open(ctx, session.Options{Helper: []string{path, becomeFlag}})
	if err != nil {
		return err
	}
	l.sessions = &sessions{
		manager: m, family: l.options.Family, runs: l.runs, ends: make(chan spawn.SessionEnd),
		missing: l.groups.tree.Missing,
		fail:    func(what string, err error) { l.log.Warn(what, "error", err) },
	}
	soon, cancel := context.WithTimeout(ctx, callTime)
	defer cancel()
	if err := l.sessions.adopt(soon, before); err != nil {
		l.log.Warn("systemd does not tell yet how sessions are that live on", "error", err)
	}
	return nil
}

// Takes leaves root's entries of system tables out where cronie does.
func (s *sessions) Takes(j *job.Job) bool {
	return s.family != crontab.RHEL || j.User != "root" || !strings.HasPrefix(j.Table, "/etc/")
}

// Start begins a session.
func (s *sessions) Start(ctx context.Context, what spawn.Session) (pid int, note string, err error) {
	spec := session.Spec{
		Name: unitOf(what.Run), Description: "cronring: " + string(what.Job.ID), User: what.Account.Name,
		PAMName: pamService, Argv: what.Argv, Env: what.Env, Dir: what.Dir, Fallback: what.Anyhow,
		Umask: 0o022, Identifier: string(what.Job.ID), Resources: what.Options.Resources,
	}
	for i, fd := range what.Files {
		own, err := unix.FcntlInt(uintptr(fd), unix.F_DUPFD_CLOEXEC, 3) // a file of os closes what it is given
		if err != nil {
			return 0, "", fmt.Errorf("start session: %w", err)
		}
		spec.Files[i] = os.NewFile(uintptr(own), "stdio")
		defer spec.Files[i].Close()
	}
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	if why := s.missing(ctx, what.Options.Resources); why != "" {
		return 0, "", errors.New(why) // systemd would start it without
	}
	if err := os.WriteFile(s.mark(what.Run), nil, 0o600); err != nil {
		return 0, "", fmt.Errorf("start session: %w", err)
	}
	p, err := s.manager.Start(ctx, spec)
	var not *session.NotStartedError
	if errors.As(err, &not) {
		return 0, "", errors.New(not.Reason)
	}
	return p.PID, p.Note, err
}

// Kill signals a run's session on a goroutine of its own, as systemd answers
// when it has time.
func (s *sessions) Kill(run job.RunID, sig syscall.Signal) {
	s.kills.Go(func() {
		ctx, cancel := context.WithTimeout(context.Background(), callTime)
		defer cancel()
		if err := s.manager.Kill(ctx, unitOf(run), sig); err != nil && !errors.Is(err, session.ErrEnded) {
			s.fail("a session cannot be signalled", err)
		}
	})
}

// callTime bounds how long systemd is waited for.
const callTime = 30 * time.Second

// Ends tells of the end of each session.
func (s *sessions) Ends() <-chan spawn.SessionEnd { return s.ends }

// fresh is how long ago an end is still now. Its start was seen by our clock, a
// little late, and nothing may end before it began.
const fresh = 5 * time.Second

// run passes ends on, until ctx ends.
func (s *sessions) run(ctx context.Context) error {
	followed := make(chan error, 1)
	go func() { followed <- s.manager.Run(ctx) }()
	for {
		select {
		case e := <-s.manager.Ends():
			run, ok := runOf(e.Unit)
			if !ok {
				continue
			}
			end := spawn.SessionEnd{Run: run, Outcome: e.Outcome, At: e.At, Usage: e.Usage, Limit: e.Limit}
			if time.Since(e.At) < fresh {
				end.At = time.Time{}
			}
			select {
			case s.ends <- end:
			case <-ctx.Done():
			}
		case <-ctx.Done():
			s.kills.Wait()
			return <-followed
		}
	}
}

// adopt follows the sessions among the runs of a daemon before this one.
func (s *sessions) adopt(ctx context.Context, children []spawn.Handed) error {
	var units []string
	for i := range children {
		h := &children[i]
		_, err := os.Lstat(s.mark(h.Run))
		h.Session = h.Session || err == nil
		if h.Session {
			units = append(units, unitOf(h.Run))
		}
	}
	return s.manager.Adopt(ctx, units...)
}

// mark is a file that says that a run is a session: a daemon that finds its
// process gone must know whom to ask.
func (s *sessions) mark(run job.RunID) string { return filepath.Join(s.runs, run.String()+".session") }

// release lets systemd forget a session whose end is in the history.
func (s *sessions) release(run job.RunID) {
	if os.Remove(s.mark(run)) != nil {
		return // it was none
	}
	ctx, cancel := context.WithTimeout(context.Background(), callTime)
	defer cancel()
	if err := s.manager.Release(ctx, unitOf(run)); err != nil {
		s.fail("systemd keeps the unit of a run that is over", err)
	}
}

const unitPrefix, unitSuffix = "cronring-run-", ".service"

func unitOf(run job.RunID) string { return unitPrefix + run.String() + unitSuffix }

func runOf(unit string) (job.RunID, bool) {
	number, ok := strings.CutPrefix(strings.TrimSuffix(unit, unitSuffix), unitPrefix)
	id, err := strconv.ParseInt(number, 10, 64)
	return job.RunID(id), ok && err == nil
}
