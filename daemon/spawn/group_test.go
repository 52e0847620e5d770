package spawn

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/cronring/cronring/crontab"
	"github.com/cronring/cronring/crontab/option"
	"github.com/cronring/cronring/daemon/cgroup"
	"github.com/cronring/cronring/daemon/engine/effect"
	"github.com/cronring/cronring/daemon/job"
	"github.com/cronring/cronring/daemon/spawn/command"
)

// kernelGroups are groups of this machine's kernel.
type kernelGroups struct{ tree *cgroup.Tree }

func (g kernelGroups) Needs(*effect.Start) bool { return true }

func (g kernelGroups) Make(ctx context.Context, name string, s *effect.Start) (Group, error) {
	made, err := g.tree.Make(ctx, name, command.OptionsOf(s).Resources)
	if err != nil {
		return nil, err
	}
	return made, nil
}

func (g kernelGroups) Find(text []byte) (Group, error) {
	found := &cgroup.Group{}
	return found, found.UnmarshalJSON(text)
}

// newGroups skips the test with a message if the kernel has no control groups with these limits.
func newGroups(t testing.TB, r *option.Resources) kernelGroups {
	t.Helper()
	name := fmt.Sprintf("cronring-spawn-test-%d", os.Getpid())
	tree, err := cgroup.Open(cgroup.Options{Name: name})
	if err != nil {
		t.Fatal(err)
	}
	if why := tree.Missing(context.Background(), r); why != "" {
		t.Skip("SKIPPED, NOT TESTED: ", why)
	}
	t.Cleanup(func() {
		// A process that the kernel killed may leave its group after the Spawner has returned.
		for late := time.Now().Add(patience); ; runtime.Gosched() {
			tree.Close()
			left := groupsOf(name)
			if len(left) == 0 {
				return
			}
			if time.Now().After(late) {
				t.Errorf("groups are left: %q", left)
				return
			}
		}
	})
	return kernelGroups{tree}
}

// groupsOf returns the directories of a tree with that name.
func groupsOf(name string) []string {
	left, _ := filepath.Glob("/sys/fs/cgroup/*/" + name)
	more, _ := filepath.Glob("/sys/fs/cgroup/memory/*/*/" + name)
	return append(left, more...)
}

// entry sets the options of a line on a run, in a crontab of its own user or of the host.
func entry(t testing.TB, directives string, format crontab.Format) func(*effect.Start) {
	t.Helper()
	return func(s *effect.Start) {
		line := "* * * * * true\n"
		if format == crontab.System {
			line = "* * * * * " + s.Job.User + " true\n"
		}
		file, diagnostics := crontab.Parse("test", directives+"\n"+line, crontab.Config{Format: format, Owner: s.Job.User})
		if len(file.Entries) != 1 || file.Entries[0].Options().Held != "" {
			t.Fatalf("%s: %v", directives, diagnostics)
		}
		s.Entry = &file.Entries[0]
	}
}

// slowGroups makes groups only when it may.
type slowGroups struct {
	begun chan string
	may   chan struct{}
	made  atomic.Int32
}

func (g *slowGroups) Needs(s *effect.Start) bool { return s.Job.Command == "exit 7" }

func (g *slowGroups) Make(_ context.Context, name string, _ *effect.Start) (Group, error) {
	g.begun <- name
	<-g.may
	g.made.Add(1)
	return nil, nil
}

func (g *slowGroups) Find([]byte) (Group, error) { return nil, nil }

// A hold may end without another daemon while a group is being made.
func TestGroupIsMadeOnceIfAHoldFails(t *testing.T) {
	g := &slowGroups{begun: make(chan string, 10), may: make(chan struct{})}
	r := newTestSpawner(t, Options{Groups: g})
	id := r.start("exit 7")
	receive(r, "that a group is being made", g.begun)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if starts := r.hold(ctx); len(starts) != 1 {
		t.Errorf("%d runs without a process, want 1", len(starts))
	}
	r.spawner.Resume()
	wantOutcome(t, r.do("true"), exited(0)) // is behind the other in the queue
	close(g.may)
	wantOutcome(t, r.await(id), exited(7))
	r.stop()
	if n := g.made.Load(); n != 1 {
		t.Errorf("the group was made %d times", n)
	}
}

func TestGroupTellsWhatARunUsed(t *testing.T) {
	r := newTestSpawner(t, Options{Groups: newGroups(t, &option.Resources{Memory: 1})})
	e := r.do("head -c 40M /dev/zero | tail -n 1 | wc -c", entry(t, "#@ memory=200M", crontab.User))
	wantOutcome(t, e, exited(0))
	if e.Usage.Memory < 40<<20 || e.Usage.Memory > 200<<20 || e.Usage.CPU <= 0 {
		t.Errorf("used %+v, want 40 MiB and more, and some time", e.Usage)
	}
	if e.Limit != "" {
		t.Errorf("limit %q of a run within it", e.Limit)
	}
}

// TestUsageIsNotTheDaemonsOwn runs programs that use less memory than this
// process and more.
func TestUsageIsNotTheDaemonsOwn(t *testing.T) {
	r := newTestSpawner(t, Options{})
	small := r.do(":", entry(t, "#@ name=small", crontab.User))
	wantOutcome(t, small, exited(0))
	if small.Usage.Memory != 0 {
		t.Errorf("a shell that did nothing used %d bytes, want none known", small.Usage.Memory)
	}
	large := r.do("head -c 400M /dev/zero | tail -n 1 | wc -c", entry(t, "#@ name=large", crontab.User))
	wantOutcome(t, large, exited(0))
	if large.Usage.Memory < 400<<20 {
		t.Errorf("400 MiB were held, told are %d bytes", large.Usage.Memory)
	}
}

func TestGroupLimitsMemory(t *testing.T) {
	r := newTestSpawner(t, Options{Groups: newGroups(t, &option.Resources{Memory: 1})})
	e := r.do("head -c 200M /dev/zero | tail -n 1 | wc -c; exit 3", entry(t, "#@ memory=32M", crontab.User))
	if e.Limit != job.OverMemory || e.Outcome.OK() {
		t.Errorf("outcome %+v, limit %q; want a failure, %q", e.Outcome, e.Limit, job.OverMemory)
	}
}

func TestGroupLimitsTasks(t *testing.T) {
	r := newTestSpawner(t, Options{Groups: newGroups(t, &option.Resources{Tasks: 1})})
	e := r.do("for i in 1 2 3 4 5 6 7 8; do sleep 1000 & done; exit 3", entry(t, "#@ tasks=4", crontab.User))
	if e.Limit != job.OverTasks || e.Outcome.OK() {
		t.Errorf("outcome %+v, limit %q; want a failure, %q", e.Outcome, e.Limit, job.OverTasks)
	}
	r.spawner.endStray(t)
}

// endStray ends what runs have left behind, so that nothing is left.
func (s *Spawner) endStray(t *testing.T) {
	t.Helper()
	done := make(chan bool)
	s.loop.Call(func() {
		for _, g := range s.occupied.groups {
			for late := time.Now().Add(patience / 2); !g.group.Remove(); {
				g.group.Kill()
				if time.Now().After(late) {
					t.Errorf("%s cannot be removed", g.group.Dir())
					break
				}
				s.reap() // else they are zombies of ours, where we are PID 1
			}
		}
		s.occupied.groups = nil
		close(done)
	})
	select {
	case <-done:
	case <-time.After(patience):
		t.Fatalf("not within %v: an end of all that runs have left behind", patience)
	}
}

func TestStopTakesWhoeverLeftTheSession(t *testing.T) {
	r := newTestSpawner(t, Options{Groups: newGroups(t, &option.Resources{Tasks: 1})})
	pids := filepath.Join(t.TempDir(), "pids")
	script := "trap '' TERM; setsid sh -c 'echo $$ >>" + pids + "; echo ready; exec sleep 1000' & wait"
	for _, kill := range []func(job.RunID){
		func(id job.RunID) { r.spawner.Kill(effect.Kill{Run: id, Signal: syscall.SIGKILL}) },
		func(id job.RunID) { // it obeys, but its child has gone elsewhere
			r.spawner.Kill(effect.Kill{Run: id, Signal: syscall.SIGTERM})
		},
	} {
		ready := make(chan bool, 8)
		r.spawner.options.Live = func(job.Chunk) { ready <- true }
		id := r.start(script, entry(t, "#@ tasks=50", crontab.User))
		if r.awaitStart(id) == 0 {
			t.Fatalf("outcome %+v, want a run", r.ended[id].Outcome)
		}
		receive(r, "the line that says ready", ready)
		kill(id)
		e := r.await(id)
		if e.Outcome.Kind != job.Signalled {
			t.Errorf("outcome %+v, want a signal", e.Outcome)
		}
		script = strings.TrimPrefix(script, "trap '' TERM; ")
	}
	text, err := os.ReadFile(pids)
	if err != nil {
		t.Fatal(err)
	}
	for _, field := range strings.Fields(string(text)) {
		pid, _ := strconv.Atoi(field)
		awaitGone(t, pid)
	}
	r.spawner.endStray(t)
}

// awaitGone waits for the end of a killed process by its handle, if it still exists.
func awaitGone(t testing.TB, pid int) {
	t.Helper()
	fd, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		return
	}
	defer syscall.Close(fd)
	n, err := 0, error(unix.EINTR)
	for err == unix.EINTR {
		n, err = unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, int(patience/time.Millisecond))
	}
	if n != 1 {
		t.Errorf("process %d lives on: %v", pid, err)
	}
}

func TestGroupOfWhatStaysBehindGoesLater(t *testing.T) {
	r := newTestSpawner(t, Options{Groups: newGroups(t, &option.Resources{Tasks: 1}), Linger: 1})
	pids := filepath.Join(t.TempDir(), "pids")
	e := r.do("sleep 1000 >/dev/null 2>&1 & echo $! >"+pids, entry(t, "#@ tasks=50", crontab.User))
	wantOutcome(t, e, exited(0))
	text, err := os.ReadFile(pids)
	if err != nil {
		t.Fatal(err)
	}
	pid, _ := strconv.Atoi(strings.TrimSpace(string(text)))
	if syscall.Kill(pid, 0) != nil {
		t.Error("a background process was ended with its run, want it left alone, as under cron")
	}
	_ = syscall.Kill(pid, syscall.SIGKILL)
	awaitGone(t, pid)
	r.spawner.endStray(t)
}

// paperGroups replace the kernel's control groups, which most users cannot create: there is one
// group, and the test sets its processes.
type paperGroups struct {
	limit job.Reason
	left  int // how often Remove finds a process in it

	kills, removes chan bool
}

func newPaperGroups() *paperGroups {
	return &paperGroups{kills: make(chan bool, 10), removes: make(chan bool, 10)}
}

func (p *paperGroups) Needs(*effect.Start) bool { return true }

func (p *paperGroups) Make(context.Context, string, *effect.Start) (Group, error) { return p, nil }

func (p *paperGroups) Find([]byte) (Group, error) { return p, nil }

func (p *paperGroups) MarshalJSON() ([]byte, error) { return []byte("{}"), nil }
func (p *paperGroups) Dir() string                  { return "" }
func (p *paperGroups) ProcsFiles() []string         { return nil }
func (p *paperGroups) Usage() job.Usage             { return job.Usage{Memory: 1 << 40} }
func (p *paperGroups) Limit() job.Reason            { return p.limit }
func (p *paperGroups) Kill()                        { p.kills <- true }

func (p *paperGroups) Remove() bool {
	p.left--
	p.removes <- p.left < 0
	return p.left < 0
}

func TestGroupIsEndedAfterAStopOrALimitAlone(t *testing.T) {
	for _, c := range []struct {
		command string
		limit   job.Reason
		stop    bool
		want    job.Reason
		ended   bool
	}{
		{"exit 0", "", false, "", false},
		{"exit 3", "", false, "", false},
		{"exit 0", job.OverTasks, false, "", false}, // it came through
		{"exit 3", job.OverTasks, false, job.OverTasks, true},
		{"exec sleep 1000", "", true, "", true},
	} {
		groups := newPaperGroups()
		groups.limit = c.limit
		r := newTestSpawner(t, Options{Groups: groups})
		id := r.start(c.command)
		r.awaitStart(id)
		if c.stop {
			r.spawner.Kill(effect.Kill{Run: id, Signal: syscall.SIGTERM})
		}
		e := r.await(id)
		r.stop()
		if e.Limit != c.want || e.Usage.Memory != 1<<40 || len(groups.kills) > 0 != c.ended || len(groups.removes) != 1 {
			t.Errorf("%+v: limit %q, usage %+v, %d kills, looked at %d times", c, e.Limit, e.Usage, len(groups.kills), len(groups.removes))
		}
	}
}

func TestGroupThatIsNotEmptyIsLookedAtAgain(t *testing.T) {
	groups := newPaperGroups()
	groups.left = 1
	r := newTestSpawner(t, Options{Groups: groups})
	wantOutcome(t, r.do("exit 0"), exited(0))
	for i, want := range []bool{false, true} {
		if got := receive(r, "another look at the group", groups.removes); got != want {
			t.Errorf("look %d: empty is %t, want %t", i+1, got, want)
		}
	}
	wantOutcome(t, r.do("exit 1"), exited(1))
	if len(groups.kills) > 0 {
		t.Error("what a run left behind on purpose was ended")
	}
}

func TestGroupThatCannotBeMade(t *testing.T) {
	r := newTestSpawner(t, Options{Groups: refusing{}})
	e := r.do("echo it runs", entry(t, "#@ memory=1G", crontab.User))
	wantOutcome(t, e, job.Outcome{Kind: job.NotStarted, Error: "no group for you"})
}

type refusing struct{ kernelGroups }

func (refusing) Make(context.Context, string, *effect.Start) (Group, error) {
	return nil, fmt.Errorf("no group for you")
}

func TestWantsByTheWordOfRootAndOfUsers(t *testing.T) {
	needLimits(t)
	const show = "ulimit -Sn; ulimit -Hn; nice; grep ^policy /proc/self/sched | tr -dc 0-9"
	hard := limited(0, limit(7, 50, 100)) // RLIMIT_NOFILE
	for _, c := range []struct {
		directives string
		format     crontab.Format
		want       string
		not        string
	}{
		{"#@ nofile=60 nice=5", crontab.User, "60\n60\n5\n0", ""},
		{"#@ nofile=200 nice=-5", crontab.System, "200\n200\n-5\n0", ""},
		{"#@ idle", crontab.User, "50\n100\n0\n5", ""},
		{"#@ nofile=200", crontab.User, "", "set nofile="},
	} {
		r := newTestSpawner(t, Options{Limits: hard})
		e := r.do(show, as("nobody"), entry(t, c.directives, c.format))
		if got := text(e, job.Stdout); got != c.want {
			t.Errorf("%s: got %q, want %q; %+v", c.directives, got, c.want, e.Outcome)
		}
		if c.not != "" && (e.Outcome.Kind != job.NotStarted || !strings.Contains(e.Outcome.Error, c.not)) {
			t.Errorf("%s: outcome %+v, want not started, %q", c.directives, e.Outcome, c.not)
		}
		r.stop()
	}
}

func TestOutputMaxBoundsWhatIsKept(t *testing.T) {
	r := newTestSpawner(t, Options{})
	e := r.do("seq 100000", entry(t, "#@ output-max=4K", crontab.User))
	if n := len(text(e, job.Stdout)); n > 4<<10 || n < 2<<10 {
		t.Errorf("%d bytes are kept, want 4 KiB", n)
	}
	if e = r.do("seq 1000000", entry(t, "#@ output-max=2M", crontab.User)); len(text(e, job.Stdout)) != 1<<20 {
		t.Errorf("%d bytes are kept for an account that wants 2 MiB, want 1", len(text(e, job.Stdout)))
	}
	if e = r.do("seq 1000000", entry(t, "#@ output-max=2M", crontab.System)); len(text(e, job.Stdout)) != 2<<20 {
		t.Errorf("%d bytes are kept for root, want 2 MiB", len(text(e, job.Stdout)))
	}
	for format, want := range map[crontab.Format]int{crontab.User: 64 << 10, crontab.System: 1 << 20} {
		if e = r.do("seq 1000000", entry(t, "#@ nice=1", format)); len(text(e, job.Stdout)) != want {
			t.Errorf("format %v: %d bytes are kept without output-max=, want %d", format, len(text(e, job.Stdout)), want)
		}
	}
	if e = r.do("seq 1000000", entry(t, "#@ output-max=512K", crontab.User)); len(text(e, job.Stdout)) != 512<<10 {
		t.Errorf("%d bytes are kept, want 512 KiB", len(text(e, job.Stdout)))
	}
}

// The kernel can miss a process that is being forked while it kills a group (seen with Linux 6.18).
func TestKilledGroupIsKilledUntilItIsEmpty(t *testing.T) {
	groups := newPaperGroups()
	groups.left = 2
	r := newTestSpawner(t, Options{Groups: groups})
	id := r.start("exec sleep 1000")
	r.awaitStart(id)
	r.spawner.Kill(effect.Kill{Run: id, Signal: syscall.SIGTERM})
	r.await(id)
	for look := 1; ; look++ {
		select {
		case empty := <-groups.removes:
			if empty != (look == 3) {
				t.Fatalf("look %d found it empty: %t", look, empty)
			}
			if empty {
				return
			}
		case <-time.After(patience):
			t.Fatalf("no look %d at the group", look)
		}
		select {
		case <-groups.kills:
		case <-time.After(patience):
			t.Fatalf("after look %d the group was not killed again", look)
		}
	}
}

func TestAddedGroupsDoNotDelayTheSweep(t *testing.T) {
	var l occupied
	l.add(occupiedGroup{})
	first := l.timer
	l.add(occupiedGroup{})
	if l.timer != first {
		t.Error("a second group delays the look at the first one")
	}
}
