package spawn

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/cronring/cronring/daemon/account"
	"github.com/cronring/cronring/daemon/engine/effect"
	"github.com/cronring/cronring/daemon/engine/event"
	"github.com/cronring/cronring/daemon/job"
	"github.com/cronring/cronring/daemon/spawn/handed"
	"github.com/cronring/cronring/daemon/spawn/pipe"
)

// hold pauses the Spawner, and handles all events that it has sent.
func (r *testSpawner) hold(ctx context.Context) []effect.Start {
	r.t.Helper()
	type held struct {
		starts []effect.Start
		err    error
	}
	done := make(chan held, 1)
	go func() {
		starts, err := r.spawner.Hold(ctx)
		done <- held{starts, err}
	}()
	h := receive(r, "that the Spawner stands still", done)
	if h.err != nil {
		r.t.Fatal(h.err)
	}
	r.drain()
	return h.starts
}

func (r *testSpawner) drain() {
	for {
		select {
		case e := <-r.spawner.Events():
			r.note(e)
		default:
			return
		}
	}
}

// legacy is the state that one program passes to the next in these tests.
type legacy struct {
	Handed []handed.Run
	Starts []effect.Start
	Ended  map[job.RunID]Ended // before that
	Runs   string
}

const replaced = 50

// replacedCommand prints before and after the program is replaced, on both
// streams, and more than is kept in the end.
func replacedCommand(gate string, i int) string {
	return fmt.Sprintf("echo before %d; echo BEFORE %d >&2; %s; echo after %d; echo AFTER %d >&2; exit %d", i, i, gate, i, i, i)
}

// countingStore keeps nothing, but has pidfds made.
type countingStore struct {
	mu        sync.Mutex
	forgotten []job.RunID
}

func (*countingStore) Keep(job.RunID, int, int, int) {}

func (k *countingStore) Forget(run job.RunID) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.forgotten = append(k.forgotten, run)
}

func init() {
	helpers["replace yourself"] = func() error {
		t := &helperT{}
		dir, gate := os.Getenv("SPAWN_TEST_DIR"), "read x <"+os.Getenv("SPAWN_TEST_GATE")
		printed := make(chan struct{}, 1000)
		r := newTestSpawner(t, Options{Runs: dir, Keep: new(countingStore), Linger: time.Hour, Live: func(job.Chunk) { printed <- struct{}{} }})
		for i := range replaced {
			r.start(replacedCommand(gate, i))
		}
		r.start("echo gone; (" + gate + "; echo late) & exit 77")
		r.start("exit 78") // reaped by whichever of the two comes to it
		r.until("the starts", func() bool { return len(r.started) == replaced+2 })
		for range 2*replaced + 1 {
			receive(r, "the first lines", printed)
		}
		starts := r.hold(context.Background())
		r.start("echo never begun; exit 79")
		starts = append(starts, r.spawner.waitingStarts()...)
		leave := legacy{Handed: r.spawner.Handover(), Starts: starts, Ended: r.ended, Runs: dir}
		data, err := json.Marshal(leave)
		if err != nil {
			return err
		}
		memory, err := pipe.Input(string(data))
		if err != nil {
			return err
		}
		if _, err := syscall.Dup(memory); err != nil { // without close-on-exec
			return err
		}
		next := memory + 1
		for ; ; next++ {
			if link, _ := os.Readlink(fmt.Sprintf("/proc/self/fd/%d", next)); strings.Contains(link, "memfd:stdin") {
				break
			}
		}
		return syscall.Exec("/proc/self/exe", []string{os.Args[0], "-c", "take over"}, append(os.Environ(), fmt.Sprintf("SPAWN_TEST_LEGACY=%d", next)))
	}
	helpers["take over"] = func() error {
		t := &helperT{}
		defer t.finish()
		var left legacy
		data, err := os.ReadFile("/proc/self/fd/" + os.Getenv("SPAWN_TEST_LEGACY"))
		if err != nil {
			return err
		}
		if err := json.Unmarshal(data, &left); err != nil {
			return err
		}
		store := new(countingStore)
		r := &testSpawner{t: t, spawner: New(Options{Runs: left.Runs, Keep: store, Linger: time.Hour}), started: map[job.RunID]int{}, ended: left.Ended}
		for _, h := range left.Handed {
			r.started[h.Run] = h.PID
		}
		r.last = replaced + 2
		r.spawner.Adopt(left.Handed)
		for _, start := range left.Starts {
			r.spawner.Start(start)
			r.last = max(r.last, start.Run.ID)
		}
		r.run()
		r.awaitStart(r.last)
		gate, err := os.OpenFile(os.Getenv("SPAWN_TEST_GATE"), os.O_RDWR, 0)
		if err != nil {
			return err
		}
		defer gate.Close()
		if _, err := gate.WriteString(strings.Repeat("\n", replaced+1)); err != nil {
			return err
		}
		r.until("the ends", func() bool { return len(r.ended) == replaced+3 })
		r.stop()
		if r.spawner.extra != 0 || len(r.spawner.reader.streams) != 0 {
			return fmt.Errorf("%d descriptors and %d pipes are left", r.spawner.extra, len(r.spawner.reader.streams))
		}
		if want := len(left.Handed) + len(left.Starts); len(store.forgotten) != want {
			return fmt.Errorf("%d runs are forgotten, want %d", len(store.forgotten), want)
		}
		files, err := os.ReadDir(left.Runs)
		if err != nil || len(files) != 0 {
			return fmt.Errorf("files of output that are left: %v, %v", files, err)
		}
		return json.NewEncoder(os.Stdout).Encode(r.ended)
	}
}

// TestProgramReplacesItself has a process with fifty running jobs exec itself.
// Outcomes and output must be as if it had not.
func TestProgramReplacesItself(t *testing.T) {
	binary, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	g := newGate(t)
	cmd := process(t, binary, "-c", "replace yourself")
	cmd.Env = append(cmd.Env, "SPAWN_TEST_GATE="+g.path, "SPAWN_TEST_DIR="+t.TempDir())
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	ended := map[job.RunID]struct {
		Outcome job.Outcome
		Output  []job.Chunk
	}{}
	if err := json.Unmarshal(out, &ended); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	check := func(id job.RunID, code int, stdout, stderr string) {
		t.Helper()
		e := Ended{Ended: event.Ended{Run: id, Outcome: ended[id].Outcome}, Output: ended[id].Output}
		wantOutcome(t, e, exited(code))
		if out, err := text(e, job.Stdout), text(e, job.Stderr); out != stdout || err != stderr {
			t.Errorf("run %d printed %q and %q, want %q and %q", id, out, err, stdout, stderr)
		}
	}
	for i := range replaced {
		check(job.RunID(i+1), i, fmt.Sprintf("before %d\nafter %d\n", i, i), fmt.Sprintf("BEFORE %d\nAFTER %d\n", i, i))
	}
	check(replaced+1, 77, "gone\nlate\n", "")
	check(replaced+2, 78, "", "")
	check(replaced+3, 79, "never begun\n", "")
}

func TestHoldIsUndone(t *testing.T) {
	r := newTestSpawner(t, Options{})
	g := newGate(t)
	running := r.start(g.command() + "; echo done; exit 3")
	r.awaitStart(running)
	r.hold(t.Context())
	queued := r.start("exit 4")
	stopped := r.start("true")
	r.spawner.Kill(effect.Kill{Run: stopped, Signal: syscall.SIGTERM})
	children := r.spawner.Handover()
	if len(children) != 1 || children[0].Run != running || children[0].PID != r.started[running] || !children[0].Child {
		t.Fatalf("handed over %+v, want run %d", children, running)
	}
	for _, fd := range []int{children[0].Out, children[0].Err, children[0].PIDFD} {
		if flags := descriptorFlags(t, fd); flags != 0 {
			t.Errorf("descriptor %d has flags %d, want it to outlive exec", fd, flags)
		}
	}
	g.open(1)
	r.spawner.Resume() // exec failed
	e := r.await(running)
	wantOutcome(t, e, exited(3))
	if got := text(e, job.Stdout); got != "done\n" {
		t.Errorf("output %q", got)
	}
	wantOutcome(t, r.await(queued), exited(4))
	wantOutcome(t, r.await(stopped), job.Outcome{Kind: job.NotStarted, Error: errCancelled.Error()})
	if got := strings.Fields(text(r.do("ls /proc/$$/fd; :"), job.Stdout)); len(got) != 3 {
		t.Errorf("open files %v of a job after a hold, want three", got)
	}
	r.stop()
	if r.spawner.extra != 0 {
		t.Errorf("%d pidfds are left", r.spawner.extra)
	}
}

func descriptorFlags(t *testing.T, fd int) int {
	t.Helper()
	flags, _, e := syscall.Syscall(syscall.SYS_FCNTL, uintptr(fd), syscall.F_GETFD, 0)
	if e != 0 {
		t.Fatal(e)
	}
	return int(flags)
}

func TestHoldForksAndReapsNothing(t *testing.T) {
	begun := make(chan struct{}, 1)
	me := accountOf(t, ownName())
	r := newTestSpawner(t, Options{Accounts: fakeAccounts{known: me, find: func(ctx context.Context, name string) (account.Account, error) {
		begun <- struct{}{}
		<-ctx.Done()
		return me, ctx.Err()
	}}})
	g := newGate(t)
	id := r.start(g.command())
	pid := r.awaitStart(id)
	r.start("true", as("far-away"))
	receive(r, "the question for the account", begun)
	starts := r.hold(t.Context())
	if len(starts) != 1 || starts[0].Job.User != "far-away" {
		t.Errorf("runs without a process %+v, want the one whose account is asked for", starts)
	}
	g.open(1)
	poll(t, "a process that nobody reaps", func() bool { return isZombie(t, pid) })
	r.drain()
	if r.ended[id].Run != 0 {
		t.Error("an end was reported during a hold")
	}
	r.spawner.Resume()
	wantOutcome(t, r.await(id), exited(0))
	for range 1000 { // one close upon the other
		if _, err := r.spawner.Hold(t.Context()); err != nil {
			t.Fatalf("another hold: %v", err)
		}
		r.spawner.Resume()
	}
}

func isZombie(t *testing.T, pid int) bool {
	t.Helper()
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		t.Fatal(err)
	}
	return strings.Contains(string(stat), ") Z ")
}

func TestHoldWaitsForProgramsOnlySoLong(t *testing.T) {
	r := newTestSpawner(t, Options{})
	g := newGate(t)
	running := func() chan Result {
		done := make(chan Result, 1)
		go func() {
			result, _ := r.spawner.Exec(context.Background(), Tool{Argv: []string{"sh", "-c", "echo >&2; echo up >" + g.path + "; sleep 1000"}})
			done <- result
		}()
		g.read("the program's word that it is up")
		return done
	}
	done := running()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	r.hold(ctx)
	if children := r.spawner.Handover(); len(children) != 0 {
		t.Errorf("handed over %+v, want no program of the daemon's", children)
	}
	r.spawner.Resume()
	if got := receive(r, "the program's end", done); got.Outcome.Signal != int(syscall.SIGKILL) {
		t.Errorf("outcome %+v of a program that was in the way, want it killed", got.Outcome)
	}
}

func TestHoldAfterTheEnd(t *testing.T) {
	r := newTestSpawner(t, Options{})
	r.stop()
	if _, err := r.spawner.Hold(t.Context()); err == nil {
		t.Error("a Spawner whose Run has returned stands still")
	}
	r.spawner.Resume()
}
