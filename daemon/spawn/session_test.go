package spawn

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/cronring/cronring/daemon/account"
	"github.com/cronring/cronring/daemon/engine/effect"
	"github.com/cronring/cronring/daemon/engine/event"
	"github.com/cronring/cronring/daemon/job"
	"github.com/cronring/cronring/daemon/spawn/handed"
	"github.com/cronring/cronring/daemon/spawn/usercalls"
)

var noon = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)

// fakeSessions replaces the service manager. The test sets the results of its sessions.
type fakeSessions struct {
	asks chan *fakeSession

	mu       sync.Mutex
	ends     map[string]*fakeEnd
	kills    []string
	released []string
}

type fakeEnd struct {
	SessionEnd
	come chan struct{} // closed when SessionEnd is set
}

type fakeSession struct {
	Session
	run   job.RunID
	stdin string
	out   *os.File // its standard output, as the manager has it
	reply chan error
}

// noProcess is the pid of every process of fakeSessions; no real process has it.
const noProcess = 1 << 29

func newFakeSessions() *fakeSessions {
	return &fakeSessions{ends: map[string]*fakeEnd{}, asks: make(chan *fakeSession, 100)}
}

func (f *fakeSessions) Takes(j *job.Job) bool { return j.Command != "here" }

func (f *fakeSessions) Start(_ context.Context, s Session) (int, string, error) {
	out, err := unix.FcntlInt(uintptr(s.Files[1]), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		return 0, "", err
	}
	stdin := make([]byte, 100)
	n, _ := syscall.Pread(s.Files[0], stdin, 0)
	ask := &fakeSession{Session: s, stdin: string(stdin[:max(n, 0)]), out: os.NewFile(uintptr(out), "out"), reply: make(chan error)}
	_, id, _ := strings.Cut(s.Name, "-")
	if _, err := fmt.Sscan(id, &ask.run); err != nil {
		return 0, "", err
	}
	f.asks <- ask
	return noProcess, "by the way", <-ask.reply
}

func (f *fakeSessions) Kill(name string, sig syscall.Signal) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.kills = append(f.kills, name+" "+sig.String())
}

func (f *fakeSessions) killed() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.kills)
}

func (f *fakeSessions) Release(name string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.released = append(f.released, name)
}

func (f *fakeSessions) Wait(ctx context.Context, name string) (SessionEnd, error) {
	e := f.endOf(name)
	select {
	case <-e.come:
		return e.SessionEnd, nil
	case <-ctx.Done():
		return SessionEnd{}, ctx.Err()
	}
}

func (f *fakeSessions) endOf(name string) *fakeEnd {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.ends[name] == nil {
		f.ends[name] = &fakeEnd{come: make(chan struct{})}
	}
	return f.ends[name]
}

// asked is the next session that is asked for.
func (f *fakeSessions) asked(r *testSpawner) *fakeSession {
	r.t.Helper()
	return receive(r, "the question for a session", f.asks)
}

func (f *fakeSessions) end(name string, e SessionEnd) {
	end := f.endOf(name)
	end.SessionEnd = e
	close(end.come)
}

// through takes a session that was asked for from its start to its end.
func (f *fakeSessions) through(r *testSpawner, s *fakeSession) {
	r.t.Helper()
	s.out.Close()
	s.reply <- nil
	r.awaitStart(s.run)
	f.end(s.Name, SessionEnd{Outcome: exited(0)})
	r.await(s.run)
}

// print is the output of the session's command before it ends.
func (s *fakeSession) print(t *testing.T, text string) {
	t.Helper()
	if _, err := s.out.WriteString(text); err != nil {
		t.Error(err)
	}
	s.out.Close()
}

func TestSessionIsSomebodyElsesChild(t *testing.T) {
	f := newFakeSessions()
	me := accountOf(t, ownName())
	r := newTestSpawner(t, Options{Sessions: f, Linger: time.Hour, BaseEnv: func(account.Account) []string { return []string{"ETC=yes"} }})
	id := r.start("work", stdin("text"), env("A=b"))
	s := f.asked(r)
	if got := strings.Join(s.Argv, " "); got != "/bin/sh -c work" || s.Name != SessionOf(id) || s.Account.Name != me.Name || s.Dir != "/" || s.stdin != "text" {
		t.Errorf("asked for %+v with %q", s.Session, s.stdin)
	}
	if vars := strings.Join(s.Env, " "); !strings.Contains(vars, "A=b") || strings.Contains(vars, "ETC=") {
		t.Errorf("environment %q, want the crontab's without the host's", vars)
	}
	wantOutcome(t, r.do("here"), exited(127)) // a waiting call does not block other runs
	s.reply <- nil
	if pid := r.awaitStart(id); pid != noProcess {
		t.Errorf("pid %d, want %d", pid, noProcess)
	}
	r.spawner.Kill(effect.Kill{Run: id, Signal: syscall.SIGTERM})
	if want := []string{"run-1 terminated"}; !slices.Equal(f.killed(), want) {
		t.Errorf("signals %q, want %q", f.killed(), want)
	}
	f.end(SessionOf(id), SessionEnd{Outcome: exited(5), At: noon})
	s.print(t, "last words\n")
	e := r.await(id)
	wantOutcome(t, e, exited(5))
	if got := text(e, job.System); got != "by the way\n" {
		t.Errorf("the daemon's words %q, want what the manager said", got)
	}
	if got := text(e, job.Stdout); got != "last words\n" || !e.At.Equal(noon) {
		t.Errorf("output %q at %v, want the last words at the manager's time", got, e.At)
	}
}

func TestSessionThatEndsBeforeItsStartIsKnown(t *testing.T) {
	f := newFakeSessions()
	r := newTestSpawner(t, Options{Sessions: f})
	id := r.start("work")
	s := f.asked(r)
	s.print(t, "quick\n")
	f.end(SessionOf(id), SessionEnd{Outcome: exited(3)})
	r.spawner.Kill(effect.Kill{Run: id, Signal: syscall.SIGINT})
	s.reply <- nil
	e := r.await(id) // the testSpawner fails if that comes before the start
	wantOutcome(t, e, exited(3))
	if got := text(e, job.Stdout); got != "quick\n" {
		t.Errorf("output %q", got)
	}
	if want := []string{"run-1 interrupt"}; !slices.Equal(f.killed(), want) {
		t.Errorf("signals %q, want %q", f.killed(), want)
	}
}

func TestSessionThatCannotBegin(t *testing.T) {
	f := newFakeSessions()
	r := newTestSpawner(t, Options{Sessions: f})
	id := r.start("work")
	s := f.asked(r)
	s.out.Close()
	s.reply <- errors.New("PAM refused")
	wantOutcome(t, r.await(id), job.Outcome{Kind: job.NotStarted, Error: "PAM refused"})
	if r.started[id] != 0 {
		t.Error("reported as started")
	}
	r.stop()
	if n := len(r.spawner.reader.streams); n != 0 {
		t.Errorf("%d pipes are left", n)
	}
}

func TestSessionsAreBegunAFewAtATime(t *testing.T) {
	f := newFakeSessions()
	r := newTestSpawner(t, Options{Sessions: f})
	const n = 10
	for range n {
		r.start("work")
	}
	var first []*fakeSession
	for range usercalls.Limit {
		first = append(first, f.asked(r))
	}
	if more := len(f.asks); more != 0 {
		t.Errorf("%d calls beyond %d at once", more, usercalls.Limit)
	}
	stopped := job.RunID(n)
	r.spawner.Kill(effect.Kill{Run: stopped, Signal: syscall.SIGTERM})
	for _, s := range first {
		f.through(r, s)
	}
	for range n - 1 - usercalls.Limit {
		f.through(r, f.asked(r))
	}
	wantOutcome(t, r.await(stopped), job.Outcome{Kind: job.NotStarted, Error: errCancelled.Error()})
}

func TestSessionIsHandedOver(t *testing.T) {
	f := newFakeSessions()
	first := newTestSpawner(t, Options{Sessions: f})
	id := first.start("work")
	s := f.asked(first)
	s.reply <- nil
	first.awaitStart(id)
	first.hold(t.Context())
	children := first.spawner.Handover()
	if len(children) != 1 || children[0].Child || !children[0].Session || children[0].PID != noProcess {
		t.Fatalf("handed over %+v", children)
	}
	// The next one is in this process too, and so has descriptors of its own.
	for _, fd := range []*int{&children[0].Out, &children[0].Err} {
		var err error
		if *fd, err = syscall.Dup(*fd); err != nil {
			t.Fatal(err)
		}
	}
	next := &testSpawner{t: t, spawner: New(Options{Sessions: f}), started: map[job.RunID]int{id: noProcess}, ended: map[job.RunID]Ended{}}
	next.spawner.Adopt(children)
	next.run()
	next.spawner.Kill(effect.Kill{Run: id, Signal: syscall.SIGHUP})
	if len(f.killed()) != 1 {
		t.Errorf("signals %q, want the one given to the second Spawner", f.killed())
	}
	s.print(t, "still here\n")
	f.end(SessionOf(id), SessionEnd{Outcome: exited(6)})
	e := next.await(id)
	wantOutcome(t, e, exited(6))
	if got := text(e, job.Stdout); got != "still here\n" {
		t.Errorf("output %q", got)
	}
	first.spawner.Resume() // both have waited for it
	first.await(id)
}

func TestSessionIsLostByItsManagerAlone(t *testing.T) {
	f := newFakeSessions()
	r := &testSpawner{t: t, spawner: New(Options{Sessions: f}), started: map[job.RunID]int{1: noProcess}, ended: map[job.RunID]Ended{}}
	r.spawner.Adopt([]handed.Run{{Run: 1, PID: noProcess, Session: true, Outcome: handed.Lost(handed.Unseen), Ended: noon}})
	r.run()
	f.end(SessionOf(1), SessionEnd{Outcome: exited(4)})
	wantOutcome(t, r.await(1), exited(4))
}

// TestHoldBeginsNoMoreSessions holds a Spawner with more sessions to begin than
// there are calls at once.
func TestHoldBeginsNoMoreSessions(t *testing.T) {
	f := newFakeSessions()
	r := newTestSpawner(t, Options{Sessions: f})
	const n = usercalls.Limit + 3
	for range n {
		r.start("work")
	}
	var begun []*fakeSession
	for range usercalls.Limit {
		begun = append(begun, f.asked(r))
	}
	answered := make(chan struct{})
	go func() {
		defer close(answered)
		for !r.spawner.isHeld() {
			runtime.Gosched()
		}
		for _, s := range begun {
			s.reply <- nil
		}
	}()
	starts := r.hold(t.Context())
	receive(r, "all answers", answered)
	if len(starts) != n-usercalls.Limit || len(r.spawner.Handover()) != usercalls.Limit {
		t.Errorf("%d runs not begun and %d handed over, want %d and %d", len(starts), len(r.spawner.Handover()), n-usercalls.Limit, usercalls.Limit)
	}
	r.spawner.Resume()
	for range n - usercalls.Limit {
		s := f.asked(r)
		s.reply <- nil
		begun = append(begun, s)
	}
	for _, s := range begun {
		s.out.Close()
		r.awaitStart(s.run)
		f.end(s.Name, SessionEnd{Outcome: exited(0)})
		wantOutcome(t, r.await(s.run), exited(0))
	}
}

// A module of PAM that hangs for one user delays no other user.
func TestSessionsOfOneUserDelayNoOther(t *testing.T) {
	needRoot(t, "start jobs of several users")
	other := accountOf(t, somebody())
	f := newFakeSessions()
	r := newTestSpawner(t, Options{Sessions: f})
	var hanging []*fakeSession
	for range usercalls.Limit + 2 {
		r.start("work", as(other.Name))
	}
	for range usercalls.Limit {
		hanging = append(hanging, f.asked(r))
	}
	r.start("work")
	s := f.asked(r)
	if s.Account.Name != ownName() {
		t.Fatalf("more than %d sessions of %s are begun at once", usercalls.Limit, s.Account.Name)
	}
	f.through(r, s)
	for _, s := range hanging {
		f.through(r, s)
	}
	for range 2 {
		f.through(r, f.asked(r))
	}
}

// The command of if= belongs to the user as much as the job: PAM decides about
// it too.
func TestSessionOfCheck(t *testing.T) {
	f := newFakeSessions()
	r := newTestSpawner(t, Options{Sessions: f})
	id := r.ask("test")
	s := f.asked(r)
	if s.Name != "check-1" || s.Argv[2] != "test" {
		t.Errorf("asked for %+v", s.Session)
	}
	s.out.Close()
	s.reply <- nil
	f.end(s.Name, SessionEnd{Outcome: exited(3)})
	r.until("an answer", func() bool { return r.checked[id].Kind != "" })
	wantOutcome(t, Ended{Ended: event.Ended{Outcome: r.checked[id]}}, exited(3))
	if !slices.Equal(f.released, []string{"check-1"}) {
		t.Errorf("released %q, want the session of the check", f.released)
	}
	id = r.ask("test")
	s = f.asked(r)
	s.out.Close()
	s.reply <- errors.New("PAM refused")
	r.until("an answer", func() bool { return r.checked[id].Kind != "" })
	wantOutcome(t, Ended{Ended: event.Ended{Outcome: r.checked[id]}}, job.Outcome{Kind: job.NotStarted, Error: "PAM refused"})
}
