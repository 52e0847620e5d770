package spawn

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/cronring/cronring/daemon/engine/effect"
	"github.com/cronring/cronring/daemon/job"
	"github.com/cronring/cronring/daemon/spawn/handed"
)

// The runs of a daemon that is killed. What the second daemon is given of each
// differs.
const (
	keptWhole   = 1 + iota // everything
	keptDead               // everything, and it ends between the two daemons
	keptToKill             // everything, with a group of three
	keptPipes              // no pidfd
	keptPidfd              // no pipes
	keptNothing            // neither
	keptBeyond             // no pidfd, and it must be killed
	keptRuns    = keptBeyond
)

// socketStore sends descriptors to a service manager of ours.
type socketStore struct {
	mu        sync.Mutex
	socket    int
	forgotten []job.RunID
}

// keptMessage comes with the descriptors that are not 0.
type keptMessage struct {
	Run   job.RunID
	Has   [3]bool
	Ready map[job.RunID]int // at the end: the processes
}

func (k *socketStore) send(m keptMessage, fds ...int) {
	k.mu.Lock()
	defer k.mu.Unlock()
	data, err := json.Marshal(m)
	if err == nil {
		err = unix.Sendmsg(k.socket, data, unix.UnixRights(fds...), nil, 0)
	}
	if err != nil {
		panic(err)
	}
}

func (k *socketStore) Keep(run job.RunID, out, err, pidfd int) {
	m := keptMessage{Run: run}
	var fds []int
	for i, fd := range []int{out, err, pidfd} {
		if fd != 0 {
			m.Has[i] = true
			fds = append(fds, fd)
		}
	}
	k.send(m, fds...)
}

func (k *socketStore) Forget(run job.RunID) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.forgotten = append(k.forgotten, run)
}

func receiveKept(socket int) (m keptMessage, fds []int, err error) {
	data, rights := make([]byte, 4096), make([]byte, 256)
	n, rn, _, _, err := unix.Recvmsg(socket, data, rights, unix.MSG_CMSG_CLOEXEC)
	if err != nil {
		return m, nil, err
	}
	if n == 0 {
		return m, nil, fmt.Errorf("the daemon has closed the socket")
	}
	if err := json.Unmarshal(data[:n], &m); err != nil {
		return m, nil, err
	}
	messages, err := unix.ParseSocketControlMessage(rights[:rn])
	if err != nil || len(messages) == 0 {
		return m, nil, err
	}
	fds, err = unix.ParseUnixRights(&messages[0])
	return m, fds, err
}

func startHelper(name string, env []string, fds ...int) (int, error) {
	files := []uintptr{0, 1, 2}
	for _, fd := range fds {
		files = append(files, uintptr(fd))
	}
	return syscall.ForkExec("/proc/self/exe", []string{os.Args[0], "-c", name}, &syscall.ProcAttr{
		Env: append(os.Environ(), env...), Files: files,
	})
}

func init() {
	helpers["service manager"] = serviceManager
	helpers["daemon that is killed"] = func() error {
		t := &helperT{}
		store := &socketStore{socket: 3}
		printed := make(chan struct{}, 1000)
		r := newTestSpawner(t, Options{Runs: os.Getenv("SPAWN_TEST_DIR"), Keep: store, Live: func(job.Chunk) { printed <- struct{}{} }})
		for run := range keptRuns {
			gate := "read x <" + os.Getenv("SPAWN_TEST_GATE") + "." + fmt.Sprint(run+1)
			command := fmt.Sprintf("echo before; %s; echo after; exit %d", gate, run+40)
			if run+1 == keptToKill {
				command = "sleep 1000 & sleep 1000 & echo before; wait"
			}
			r.start(command)
		}
		r.until("the starts", func() bool { return len(r.started) == keptRuns })
		for range keptRuns {
			receive(r, "the first lines", printed)
		}
		store.send(keptMessage{Ready: r.started})
		select {} // until it is killed
	}
	helpers["daemon after a crash"] = func() error {
		t := &helperT{}
		var children []handed.Run
		if err := json.Unmarshal([]byte(os.Getenv("SPAWN_TEST_HANDED")), &children); err != nil {
			return err
		}
		store := &socketStore{}
		r := &testSpawner{t: t, spawner: New(Options{Runs: os.Getenv("SPAWN_TEST_DIR"), Keep: store, Linger: time.Hour}), started: map[job.RunID]int{}, ended: map[job.RunID]Ended{}, last: keptRuns}
		for _, h := range children {
			r.started[h.Run] = h.PID
		}
		r.spawner.Adopt(children)
		r.spawner.Kill(effect.Kill{Run: keptToKill, Signal: syscall.SIGTERM})
		r.run()
		r.await(keptDead)
		r.await(keptNothing)
		for _, run := range []int{keptWhole, keptPipes, keptPidfd} {
			gate, err := os.OpenFile(fmt.Sprintf("%s.%d", os.Getenv("SPAWN_TEST_GATE"), run), os.O_RDWR, 0)
			if err != nil {
				return err
			}
			defer gate.Close()
			if _, err := gate.WriteString("\n"); err != nil {
				return err
			}
			r.await(job.RunID(run))
		}
		r.await(keptToKill)
		r.spawner.Kill(effect.Kill{Run: keptBeyond, Signal: syscall.SIGTERM})
		r.spawner.Kill(effect.Kill{Run: keptBeyond, Signal: syscall.SIGKILL})
		if err := syscall.Kill(children[keptBeyond-1].PID, 0); err != nil {
			return fmt.Errorf("a process without a pidfd: %v; want it alive, as its number may be another's", err)
		}
		given := make(chan struct{})
		r.spawner.loop.Call(func() { close(given) }) // after the event that ends the adoption
		receive(r, "the process loop", given)
		if err := syscall.Kill(children[keptBeyond-1].PID, syscall.SIGKILL); err != nil { // the test kills it
			return err
		}
		r.await(keptBeyond)
		r.stop()
		if len(store.forgotten) != keptRuns {
			return fmt.Errorf("forgotten are %v, want all %d", store.forgotten, keptRuns)
		}
		return json.NewEncoder(os.Stdout).Encode(r.ended)
	}
}

// serviceManager starts a daemon, keeps descriptors for it, kills it, and
// starts another. It is the parent of the orphans.
func serviceManager() error {
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return err
	}
	sockets, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	first, err := startHelper("daemon that is killed", nil, sockets[1])
	if err != nil {
		return err
	}
	_ = unix.Close(sockets[1])
	kept := map[job.RunID][3]int{}
	var processes map[job.RunID]int
	for processes == nil {
		m, fds, err := receiveKept(sockets[0])
		if err != nil {
			return err
		}
		var all [3]int
		for i, has := range m.Has {
			if has {
				all[i], fds = fds[0], fds[1:]
			}
		}
		kept[m.Run], processes = all, m.Ready
	}
	if err := syscall.Kill(first, syscall.SIGKILL); err != nil {
		return err
	}
	if _, err := syscall.Wait4(first, nil, 0, nil); err != nil {
		return err
	}
	gate, err := os.OpenFile(fmt.Sprintf("%s.%d", os.Getenv("SPAWN_TEST_GATE"), keptDead), os.O_RDWR, 0)
	if err != nil {
		return err
	}
	if _, err := gate.WriteString("\n"); err != nil {
		return err
	}
	if _, err := syscall.Wait4(processes[keptDead], nil, 0, nil); err != nil {
		return fmt.Errorf("await orphan: %w", err)
	}
	_ = gate.Close()
	second, err := startSecond(kept, processes)
	if err != nil {
		return err
	}
	for { // as PID 1 does
		var status syscall.WaitStatus
		pid, err := syscall.Wait4(-1, &status, 0, nil)
		switch {
		case err == syscall.EINTR:
		case err != nil:
			return err
		case pid == second && status.ExitStatus() != 0:
			return fmt.Errorf("second daemon: status %#x", status)
		case pid == second:
			return nil
		}
	}
}

func startSecond(kept map[job.RunID][3]int, processes map[job.RunID]int) (int, error) {
	var children []handed.Run
	var fds []int
	pass := func(fd int, given bool) int {
		if fd == 0 || !given {
			return 0
		}
		fds = append(fds, fd)
		return 2 + len(fds)
	}
	for run := job.RunID(1); run <= keptRuns; run++ {
		all := kept[run]
		pipes := run != keptPidfd && run != keptNothing
		children = append(children, handed.Run{
			Run: run, PID: processes[run],
			Out: pass(all[0], pipes), Err: pass(all[1], pipes),
			PIDFD: pass(all[2], run < keptPipes || run == keptPidfd),
		})
	}
	data, err := json.Marshal(children)
	if err != nil {
		return 0, err
	}
	return startHelper("daemon after a crash", []string{"SPAWN_TEST_HANDED=" + string(data)}, fds...)
}

// tellsExits reports whether the kernel returns a process's exit status through a pidfd.
func tellsExits(t *testing.T) bool {
	t.Helper()
	var name unix.Utsname
	if err := unix.Uname(&name); err != nil {
		t.Fatal(err)
	}
	var major, minor int
	if _, err := fmt.Sscanf(unix.ByteSliceToString(name.Release[:]), "%d.%d", &major, &minor); err != nil {
		t.Fatal(err)
	}
	return major > 6 || major == 6 && minor >= 15
}

// TestDaemonIsKilled has a service manager of ours keep the descriptors of
// running jobs, kill their daemon, and give them to another.
func TestDaemonIsKilled(t *testing.T) {
	binary, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	gate := dir + "/gate"
	for run := range keptRuns {
		if err := syscall.Mkfifo(fmt.Sprintf("%s.%d", gate, run+1), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	cmd := process(t, binary, "-c", "service manager")
	cmd.Env = append(cmd.Env, "SPAWN_TEST_GATE="+gate, "SPAWN_TEST_DIR="+t.TempDir())
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	ended := map[int]struct {
		Outcome job.Outcome
		Output  []job.Chunk
	}{}
	if err := json.Unmarshal(out, &ended); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for run, want := range map[int]struct {
		outcome job.Outcome
		output  string
	}{
		keptWhole:   {exited(keptWhole - 1 + 40), "before\nafter\n"},
		keptDead:    {exited(keptDead - 1 + 40), "before\nafter\n"},
		keptToKill:  {job.Outcome{Kind: job.Signalled, Signal: 15}, "before\n"},
		keptPipes:   {handed.Lost(handed.Unseen), "before\nafter\n"},
		keptPidfd:   {exited(keptPidfd - 1 + 40), "before\n"},
		keptNothing: {handed.Lost(handed.Unseen), "before\n"},
		keptBeyond:  {handed.Lost(handed.Beyond), "before\n"},
	} {
		if want.outcome.Kind != job.Lost && !tellsExits(t) {
			want.outcome = handed.Lost(handed.Mute)
		}
		var got strings.Builder
		for _, chunk := range ended[run].Output {
			got.Write(chunk.Data)
		}
		if ended[run].Outcome != want.outcome || got.String() != want.output {
			t.Errorf("run %d: %+v, output %q; want %+v, %q", run, ended[run].Outcome, got.String(), want.outcome, want.output)
		}
	}
}

// While a process is being reaped, the kernel answers that there is none.
func TestExitWhileTheProcessIsReaped(t *testing.T) {
	if !tellsExits(t) {
		t.Skip("SKIPPED, NOT TESTED: this kernel does not report the end of a process to others than its parent")
	}
	for range 100 {
		p, err := os.StartProcess("/bin/false", []string{"false"}, &os.ProcAttr{})
		if err != nil {
			t.Fatal(err)
		}
		fd, err := unix.PidfdOpen(p.Pid, 0)
		if err != nil {
			t.Fatal(err)
		}
		go p.Wait()
		c := &child{pid: p.Pid, pidfd: fd}
		var end job.Outcome
		for known := false; !known; end, known = c.exit(false, false) {
			if _, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, -1); err != nil && err != unix.EINTR {
				t.Fatal(err)
			}
		}
		if end != exited(1) {
			t.Fatalf("a process that ends with status 1 ended so: %v %s", end, end.Error)
		}
		if err := unix.Close(fd); err != nil {
			t.Fatal(err)
		}
	}
}
