package spawn

import (
	"fmt"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/cronring/cronring/daemon/engine/effect"
	"github.com/cronring/cronring/daemon/job"
)

// startStubborn starts a run whose shell ends at SIGTERM, and whose other process
// ignores the signal and waits at the gate. It returns when SIGTERM has ended the
// shell, with the number of the other process. Without pidfd the Spawner works as on
// kernels that know process groups by number.
func (r *testSpawner) startStubborn(g *gate, pidfd bool) (id job.RunID, stubborn int) {
	r.t.Helper()
	number := newGate(r.t)
	id = r.start(fmt.Sprintf(`sh -c 'trap "" TERM; echo $$ >%s; %s; echo done' & wait`, number.path, g.command()))
	r.awaitStart(id)
	stubborn, err := strconv.Atoi(strings.TrimSpace(number.read("the number of the process")))
	if err != nil {
		r.t.Fatal(err)
	}
	if !pidfd {
		r.spawner.files.Pipes.Store(0)
	}
	r.spawner.Kill(effect.Kill{Run: id, Signal: syscall.SIGTERM})
	poll(r.t, "the end of the shell", func() bool {
		r.spawner.mu.Lock()
		defer r.spawner.mu.Unlock()
		return len(r.spawner.leftovers) == 1
	})
	return id, stubborn
}

func TestStoppedRunIsOverWhenItsGroupIs(t *testing.T) {
	for _, pidfd := range []bool{true, false} {
		t.Run(fmt.Sprint("pidfd=", pidfd), func(t *testing.T) {
			r, g := newTestSpawner(t, Options{Linger: 1}), newGate(t)
			id, _ := r.startStubborn(g, pidfd)
			g.open(1)
			e := r.await(id)
			wantOutcome(t, e, job.Outcome{Kind: job.Signalled, Signal: int(syscall.SIGTERM)})
			if got := text(e, job.Stdout); got != "done\n" || e.Late {
				t.Errorf("output %q, more to come: %t; want all of it", got, e.Late)
			}
		})
	}
}

func TestKillReachesGroupWithoutLeader(t *testing.T) {
	for _, pidfd := range []bool{true, false} {
		t.Run(fmt.Sprint("pidfd=", pidfd), func(t *testing.T) {
			r, g := newTestSpawner(t, Options{}), newGate(t)
			id, stubborn := r.startStubborn(g, pidfd)
			r.spawner.Kill(effect.Kill{Run: id, Signal: syscall.SIGKILL})
			wantOutcome(t, r.await(id), job.Outcome{Kind: job.Signalled, Signal: int(syscall.SIGTERM)})
			awaitGone(t, stubborn)
		})
	}
}

func TestGroupWithoutLeaderIsHandedOver(t *testing.T) {
	first, g := newTestSpawner(t, Options{}), newGate(t)
	id, stubborn := first.startStubborn(g, true)
	first.hold(t.Context())
	children := first.spawner.Handover()
	if len(children) != 1 || children[0].Over.Kind != job.Signalled {
		t.Fatalf("handed over %+v", children)
	}
	// The next one is in this process too, and so has descriptors of its own.
	for _, fd := range []*int{&children[0].Out, &children[0].Err, &children[0].PIDFD} {
		var err error
		if *fd, err = syscall.Dup(*fd); err != nil {
			t.Fatal(err)
		}
	}
	next := &testSpawner{t: t, spawner: New(Options{}), started: map[job.RunID]int{id: children[0].PID}, ended: map[job.RunID]Ended{}}
	next.spawner.Adopt(children)
	next.run()
	next.spawner.Kill(effect.Kill{Run: id, Signal: syscall.SIGKILL})
	wantOutcome(t, next.await(id), job.Outcome{Kind: job.Signalled, Signal: int(syscall.SIGTERM)})
	awaitGone(t, stubborn)
	next.stop()
	first.spawner.Resume()
	first.await(id)
}

// A number that another process has by now is not signalled.
func TestGroupOfAnotherIsNotSignalled(t *testing.T) {
	other := process(t, "sleep", "1000")
	other.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := other.Start(); err != nil {
		t.Fatal(err)
	}
	c := &child{pid: other.Process.Pid, stopped: true}
	if err := c.signalGroup(syscall.SIGKILL); err != syscall.ESRCH || c.leavesGroup() {
		t.Errorf("signal: %v, left: %t; want no such group", err, c.leavesGroup())
	}
	if err := syscall.Kill(other.Process.Pid, syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	_ = other.Wait() // its end is a signal
	if status := other.ProcessState.Sys().(syscall.WaitStatus); status.Signal() != syscall.SIGTERM {
		t.Errorf("it ended by %v, want our own signal", status.Signal())
	}
}
