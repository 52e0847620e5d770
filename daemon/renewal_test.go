package daemon

import (
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/cronring/cronring/daemon/api"
	"github.com/cronring/cronring/daemon/hosttest"
	"github.com/cronring/cronring/daemon/job"
	"github.com/cronring/cronring/daemon/othercron"
)

// renew has the daemon execute its new program and waits until that answers.
func (h *testHost) renew() {
	h.t.Helper()
	h.signal(syscall.SIGUSR2)
	h.said("msg=ready")
}

// crontab writes /etc/crontab with jobs that only start when they are asked to,
// by their names, as ann.
func (h *testHost) crontab(jobs ...string) {
	h.t.Helper()
	var b strings.Builder
	for i := 0; i < len(jobs); i += 2 {
		fmt.Fprintf(&b, "#@ name=%s\n0 0 1 1 * ann %s\n", jobs[i], jobs[i+1])
	}
	h.write("etc/crontab", b.String())
}

func TestRenewalGoesUnnoticedByRunningJobs(t *testing.T) {
	t.Parallel()
	h := newTestHost(t)
	first, second := h.fifo("first"), h.fifo("second")
	const n = 10
	var text strings.Builder
	add := func(options, command string) {
		for i := range n {
			kind, _, _ := strings.Cut(options, " ")
			fmt.Fprintf(&text, "#@ name=%s-%d %s\n0 0 1 1 * ann %s\n", kind, i, strings.TrimPrefix(options, kind), strings.ReplaceAll(command, "I", fmt.Sprint(i)))
		}
	}
	read := func(f *os.File) string { return "read x <" + f.Name() + "; " }
	add("quiet", read(second)+"exit I")
	add("steady", "echo 1; "+read(first)+"echo 2; "+read(second)+"echo 3 >&2; exit I")
	add("loud", read(first)+"i=0; while [ $i -lt 5000 ]; do echo $i; i=$((i+1)); done; "+read(second)+"echo end")
	add("timed timeout=3s", "echo timed; exec sleep 1000")
	add("stubborn", "trap 'echo asked' TERM; echo there; "+read(second)+"echo after; "+read(second)+"exit 7")
	h.write("etc/crontab", text.String())
	h.start()
	pid := h.cmd.Process.Pid
	runs := map[string]job.Run{}
	for _, r := range h.run("*") {
		runs[string(r.Job)] = r
	}
	if len(runs) != 5*n {
		t.Fatalf("%d jobs were started, want %d", len(runs), 5*n)
	}
	of := func(kind string, i int) job.Run { return runs[fmt.Sprintf("crontab.%s-%d", kind, i)] }
	if _, ok := runs["crontab.quiet-0"]; !ok {
		of = func(kind string, i int) job.Run { return runs[fmt.Sprintf("%s-%d", kind, i)] }
	}
	var timedOut [n]string // what they printed, which is nothing on a very busy machine
	for i := range n {
		h.printed(of("steady", i).ID, "1\n")
		h.printed(of("stubborn", i).ID, "there\n")
		timedOut[i], _ = h.follow(of("timed", i).ID, func(text string) bool { return text == "timed\n" })
	}
	if _, err := h.client.Stop(h.context(), api.StopRequest{Refs: []string{"stubborn-*"}}); err != nil {
		t.Fatal(err)
	}
	calm := h.hammer()
	h.open(first, 2*n) // half of the jobs print while the daemon is replaced
	h.renew()
	h.renew()
	calm()
	if s := h.status(); s.PID != pid {
		t.Errorf("the daemon is process %d, and was %d", s.PID, pid)
	}
	var numbers strings.Builder
	for i := range 5000 {
		fmt.Fprintln(&numbers, i)
	}
	for i := range n {
		h.printed(of("steady", i).ID, "2\n")
		h.printed(of("loud", i).ID, "4999\n")
	}
	for range 5 {
		h.open(second, n)
	}
	status := func(i int) string {
		return job.Outcome{Kind: job.Exited, Code: i}.String()
	}
	for i := range n {
		h.wantRun(of("quiet", i).ID, status(i), "")
		h.wantRun(of("steady", i).ID, status(i), "1\n2\n3\n")
		h.wantRun(of("loud", i).ID, "ok", numbers.String()+"end\n")
		timed, out := h.ended(of("timed", i).ID)
		if lasted := timed.Ended.Sub(timed.Started); timed.Outcome.Kind != job.TimedOut || out != timedOut[i] || lasted < time.Second {
			t.Errorf("a run with timeout=3s: %v after %v, printed %q, want %q", timed.Outcome, lasted, out, timedOut[i])
		}
		stubborn, out := h.ended(of("stubborn", i).ID)
		if want := "there\nasked\nafter\n"; out != want || stubborn.Outcome.OK() {
			t.Errorf("a run that was being stopped: %v, printed %q, want %q", stubborn.Outcome, out, want)
		}
	}
	h.stop()
	if up, down := h.count("msg=ready"), h.count("panic"); up != 3 || down != 0 {
		t.Errorf("the daemon was ready %d times, want 3; panicked %d times", up, down)
	}
}

// hammer has clients ask all the time. The function that it returns ends that,
// and fails the test if one of them was not answered.
func (h *testHost) hammer() (calm func()) {
	var asking sync.WaitGroup
	stop := make(chan struct{})
	for range 4 {
		asking.Go(func() {
			client := api.Dial(h.path("run/cronring/s"))
			defer client.Close()
			for n := 0; ; n++ {
				select {
				case <-stop:
					if n == 0 {
						h.t.Error("a client was not answered at all")
					}
					return
				default:
				}
				if _, err := client.Health(h.t.Context()); err != nil {
					h.t.Errorf("a client was not answered: %v", err)
					return
				}
			}
		})
	}
	return func() {
		close(stop)
		asking.Wait()
	}
}

func TestRenewalAgainAndAgainAnswersEverybody(t *testing.T) {
	t.Parallel()
	h := newTestHost(t)
	gate := h.fifo("gate")
	h.crontab("a", "while read x; do echo $x; done <"+gate.Name())
	h.start()
	a := h.run("a")[0]
	calm := h.hammer()
	const renewals = 20
	var want strings.Builder
	for i := range renewals {
		fmt.Fprintln(&want, i)
		fmt.Fprintln(gate, i)
		h.renew()
	}
	calm()
	h.printed(a.ID, fmt.Sprint(renewals-1))
	if lock, _, err := othercron.Lock(h.Root); err == nil {
		lock.Close()
		t.Error("the lock of all crons was lost on the way")
	}
	if _, err := h.client.Stop(h.context(), api.StopRequest{Refs: []string{"a"}}); err != nil {
		t.Fatal(err)
	}
	h.wantRun(a.ID, "signal 15", want.String())
	h.stop()
	if exists(h.path("run/cronring/s")) {
		t.Error("the control socket is left behind")
	}
}

func TestRenewalPassesSignalsOn(t *testing.T) {
	t.Parallel()
	for name, managed := range map[string]bool{"with a manager": true, "without": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newTestHost(t)
			if managed {
				h.withManager()
			}
			gate := h.fifo("gate")
			h.crontab("a", "echo begun; read x <"+gate.Name()+"; echo ended")
			h.start()
			a := h.run("a")[0]
			h.printed(a.ID, "begun")
			h.signal(syscall.SIGUSR2)
			h.signal(syscall.SIGTERM)
			h.signal(syscall.SIGHUP)
			if !managed {
				h.said("stopping, no further job is started")
				h.open(gate, 1)
			}
			if code := h.wait(); code != 0 {
				t.Errorf("the daemon ended with status %d", code)
			}
			h.start()
			if managed {
				h.open(gate, 1)
			}
			h.wantRun(a.ID, "ok", "begun\nended\n")
			h.stop()
		})
	}
}

// TestRenewalLosesNoSignal sends the stop signal at different moments while the daemon executes
// its new program.
func TestRenewalLosesNoSignal(t *testing.T) {
	t.Parallel()
	h := newTestHost(t)
	h.crontab("a", "true")
	for range 10 {
		h.start()
		h.signal(syscall.SIGUSR2)
		h.said("replacing the daemon")
		for range rand.IntN(60) {
			h.client.Health(t.Context()) // which takes a while, or until the next one serves
		}
		h.stop()
	}
}

func TestRenewalGoesOnWithTheOldProgramIfTheNewOneIsNone(t *testing.T) {
	t.Parallel()
	h := newTestHost(t)
	program, err := os.ReadFile("/proc/self/exe")
	if err != nil {
		t.Fatal(err)
	}
	h.program = h.path("usr/sbin/cronringd")
	h.write("usr/sbin/cronringd", string(program))
	if err := os.Chmod(h.program, 0o755); err != nil {
		t.Fatal(err)
	}
	gate := h.fifo("gate")
	h.crontab("a", "echo one; read x <"+gate.Name()+"; echo two")
	h.start()
	a := h.run("a")[0]
	h.printed(a.ID, "one")
	h.write("usr/sbin/cronringd", "this is no program\n")
	h.renew() // not executable
	if err := os.Chmod(h.program, 0o755); err != nil {
		t.Fatal(err)
	}
	h.renew() // of no format
	if err := os.Remove(h.program); err != nil {
		t.Fatal(err)
	}
	h.renew()
	if n := h.count("continuing with this one"); n != 3 {
		t.Errorf("the daemon complained %d times of a program that cannot be executed, want 3", n)
	}
	h.write("usr/sbin/cronringd", string(program))
	if err := os.Chmod(h.program, 0o755); err != nil {
		t.Fatal(err)
	}
	h.renew()
	if to, err := os.Readlink(fmt.Sprintf("/proc/%d/exe", h.cmd.Process.Pid)); err != nil || to != h.program {
		t.Errorf("the daemon is %s, error %v; want the new %s", to, err, h.program)
	}
	h.open(gate, 1)
	h.wantRun(a.ID, "ok", "one\ntwo\n")
	h.stop()
}

func TestRenewalTakesUnwrittenRecordsAlong(t *testing.T) {
	t.Parallel()
	h := newTestHost(t)
	disk := h.path("var/lib/cronring")
	if err := unix.Mount("tmpfs", disk, "tmpfs", 0, "size=4m"); err != nil {
		hosttest.Missing(t, "a disk that is full is made by mounting one: %v", err)
	}
	t.Cleanup(func() { _ = unix.Unmount(disk, unix.MNT_DETACH) })
	gate, late := h.fifo("gate"), h.fifo("late")
	h.crontab("a", "echo one; read x <"+gate.Name()+"; echo two; exit 6", "b", "echo b",
		"c", "echo three; read x <"+late.Name()+"; echo four", "d every=1s", "echo d")
	h.start()
	a := h.run("a")[0]
	h.printed(a.ID, "one")
	h.fill("var/lib/cronring/ballast")
	w := h.watch()
	for h.count("cannot write history") == 0 { // until what is left of the last page is full, too
		b := h.run("b")[0]
		w.await("the end of b", func(r job.Record) bool { return r.Kind == job.Ended && r.Run.ID == b.ID })
	}
	h.open(gate, 1)
	w.await("the end of a", func(r job.Record) bool { return r.Kind == job.Ended && r.Run.ID == a.ID })
	c := h.run("c")[0] // it is not in the history
	w.await("the start of c", func(r job.Record) bool { return r.Kind == job.Started && r.Run.ID == c.ID })
	if _, err := h.client.Pause(h.context(), api.PauseRequest{Refs: []string{"b"}}); err != nil {
		t.Fatal(err)
	}
	w.await("an occurrence of d", func(r job.Record) bool { return r.Kind == job.Ended && r.Run.Trigger == job.TriggerClock })
	h.renew()
	h.renew() // and once more
	s := h.status()
	if s.Unwritten == 0 || !slices.ContainsFunc(s.Problems, hasWords("history cannot be written")) {
		t.Errorf("the successor has %d unwritten records, problems %+v", s.Unwritten, s.Problems)
	}
	if err := os.Remove(h.path("var/lib/cronring/ballast")); err != nil {
		t.Fatal(err)
	}
	h.said("history is written again", "lost=0")
	h.wantRun(a.ID, "exit 6", "one\ntwo\n")
	h.open(late, 1)
	h.wantRun(c.ID, "ok", "three\nfour\n")
	if s := h.status(); s.States[job.StatePaused] != 1 {
		t.Errorf("the pause was forgotten: %v", s.States)
	}
	h.stop()
	if n := h.count("decided before"); n != 0 {
		t.Errorf("%d occurrences were decided twice", n)
	}
}

// An administrator removes the history of a running daemon. The daemon reports it, and what happens
// from then on is in the history that the next daemon begins.
func TestRemovedHistoryLosesNothingMore(t *testing.T) {
	t.Parallel()
	h := newTestHost(t)
	gate := h.fifo("gate")
	h.crontab("a", "echo one; read x <"+gate.Name()+"; echo two", "b", "echo b")
	h.start()
	h.do("b")
	if err := os.RemoveAll(h.path("var/lib/cronring")); err != nil {
		t.Fatal(err)
	}
	w := h.watch()
	a := h.run("a")[0]
	h.printed(a.ID, "one")
	b := h.run("b")[0]
	w.await("the end of b", func(r job.Record) bool { return r.Kind == job.Ended && r.Run.ID == b.ID })
	if s := h.status(); s.Unwritten == 0 || !slices.ContainsFunc(s.Problems, func(p api.Problem) bool {
		return hasWords("history cannot be written")(p) && strings.Contains(p.Why, "removed, or replaced")
	}) {
		t.Errorf("%d records are unwritten, problems %+v", s.Unwritten, s.Problems)
	}
	h.renew()
	h.wantRun(b.ID, "ok", "b\n")
	h.open(gate, 1)
	h.wantRun(a.ID, "ok", "one\ntwo\n")
	h.stop()
}

// fill writes a file until the disk is full.
func (h *testHost) fill(name string) {
	h.t.Helper()
	f, err := os.Create(h.path(name))
	if err != nil {
		h.t.Fatal(err)
	}
	defer f.Close()
	for size := 1 << 16; size > 0; {
		if _, err := f.Write(make([]byte, size)); err != nil {
			size /= 2
		}
	}
}

func TestManagerHearsHowTheDaemonIs(t *testing.T) {
	t.Parallel()
	h := newTestHost(t)
	m := h.withManager()
	h.crontab("a", "true")
	h.start()
	pid := fmt.Sprintf("MAINPID=%d", h.cmd.Process.Pid)
	if text := m.hears("READY=1"); !strings.Contains(text, "STATUS=1 job") || !strings.Contains(text, pid) {
		t.Errorf("the service manager heard %q, want one job and %s", text, pid)
	}
	h.renew()
	if text := m.hears("RELOADING=1"); !strings.Contains(text, "MONOTONIC_USEC=") {
		t.Errorf("the service manager heard %q", text)
	}
	if text := m.hears("READY=1"); !strings.Contains(text, pid) {
		t.Errorf("the service manager heard %q, want %s as before", text, pid)
	}
	h.stop()
	m.hears("STOPPING=1")
}

// TestStartsUnderWayAreNotLost has the daemon leave while it is busy starting
// jobs that have limits.
func TestStartsUnderWayAreNotLost(t *testing.T) {
	t.Parallel()
	for name, leave := range map[string]func(*testHost){
		"executing the program anew": func(h *testHost) { h.signal(syscall.SIGUSR2); h.said("msg=ready") },
		"stopping":                   func(h *testHost) { h.stopUnder(); h.start() },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newTestHost(t)
			h.withManager()
			h.write("etc/security/limits.d/90-test.conf", "ann - nofile 200\n")
			gate := h.fifo("gate")
			const n = 100
			var text strings.Builder
			for i := range n {
				fmt.Fprintf(&text, "#@ name=j%d\n0 0 1 1 * ann echo %d; ulimit -n; read x <%s; echo end\n", i, i, gate.Name())
			}
			h.write("etc/crontab", text.String())
			h.start()
			runs := h.run("*")
			leave(h)
			h.open(gate, n)
			for _, r := range runs {
				i := strings.TrimLeft(string(r.Job)[strings.LastIndex(string(r.Job), "j"):], "j")
				h.wantRun(r.ID, "ok", i+"\n200\nend\n")
			}
		})
	}
}

// TestRenewalWhileLeaving: a daemon that is stopping and still has to leave the ring does not
// execute a new program instead.
func TestRenewalWhileLeaving(t *testing.T) {
	l, in := &loop{leaveSignal: syscall.SIGTERM}, inbox{}
	if got := l.handleSignal(syscall.SIGUSR2, &in); got != staying || len(in.events) > 0 {
		t.Errorf("heed(SIGUSR2) = %v with %d events, want it passed over", got, len(in.events))
	}
}
