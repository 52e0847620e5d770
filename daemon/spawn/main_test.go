package spawn

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/cronring/cronring/daemon/engine/effect"
	"github.com/cronring/cronring/daemon/engine/event"
	"github.com/cronring/cronring/daemon/filetest"
	"github.com/cronring/cronring/daemon/hosttest"
	"github.com/cronring/cronring/daemon/job"
	"github.com/cronring/cronring/daemon/spawn/runoutput"
)

// helpers are the programs of the test binary when it runs as a job's SHELL, or for a test that
// needs a separate process.
var helpers = map[string]func() error{}

func TestMain(m *testing.M) {
	Helper()
	if len(os.Args) == 3 && os.Args[1] == "-c" {
		helper := helpers[os.Args[2]]
		if helper == nil {
			fmt.Fprintf(os.Stderr, "no helper %q\n", os.Args[2])
			os.Exit(125)
		}
		if err := helper(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// ownName is the user that the test runs as.
func ownName() string {
	if u, err := user.Current(); err == nil {
		return u.Username
	}
	return "uid " + strconv.Itoa(os.Geteuid())
}

// testSpawner is a running Spawner. As it reaps every child of the test binary, there
// is one at a time, and no os/exec beside it.
type testSpawner struct {
	t       testing.TB
	spawner *Spawner
	cancel  context.CancelFunc
	done    chan struct{} // closed when Run has returned
	err     error         // what it returned
	last    job.RunID
	started map[job.RunID]int
	ended   map[job.RunID]Ended
	late    map[job.RunID][]job.Chunk
	over    map[job.RunID]bool // nothing more comes of a tail
	checked map[job.RunID]job.Outcome
}

func newTestSpawner(t testing.TB, options Options) *testSpawner {
	return newTestSpawnerWithQueue(t, options, eventQueue)
}

// newTestSpawnerWithQueue is newRig with the given limit of queued events.
func newTestSpawnerWithQueue(t testing.TB, options Options, events int) *testSpawner {
	r := &testSpawner{t: t, spawner: New(options), started: map[job.RunID]int{}, ended: map[job.RunID]Ended{}, checked: map[job.RunID]job.Outcome{},
		late: map[job.RunID][]job.Chunk{}, over: map[job.RunID]bool{}}
	r.spawner.events = make(chan event.Event, events)
	r.run()
	return r
}

func (r *testSpawner) run() {
	ctx, cancel := context.WithCancel(context.Background())
	r.cancel = cancel
	r.done = make(chan struct{})
	go func() {
		defer close(r.done)
		r.err = r.spawner.Run(ctx)
	}()
	r.t.Cleanup(r.stop)
}

// stop ends what is left and checks that Run returns.
func (r *testSpawner) stop() {
	r.t.Helper()
	r.cancel()
	for id := job.RunID(1); id <= r.last; id++ {
		r.spawner.Kill(effect.Kill{Run: id, Signal: syscall.SIGKILL})
	}
	late := time.After(patience)
	for {
		select {
		case e := <-r.spawner.Events():
			r.note(e)
		case <-r.done:
			if r.err != nil {
				r.t.Errorf("Run: %v", r.err)
			}
			return
		case <-late:
			r.t.Errorf("not within %v: return of Run", patience)
			return
		}
	}
}

func (r *testSpawner) note(e event.Event) {
	r.t.Helper()
	switch e := e.(type) {
	case event.Started:
		if r.started[e.Run] != 0 || r.ended[e.Run].Run != 0 {
			r.t.Fatalf("run %d: started twice, or after its end", e.Run)
		}
		r.started[e.Run] = e.PID
	case Ended:
		if r.ended[e.Run].Run != 0 {
			r.t.Fatalf("run %d ended twice", e.Run)
		}
		if r.started[e.Run] == 0 && e.Outcome.Kind != job.NotStarted {
			r.t.Fatalf("run %d: ended %v before it was reported as started", e.Run, e.Outcome)
		}
		r.ended[e.Run] = e
	case Late:
		if !r.ended[e.Run].Late || r.over[e.Run] {
			r.t.Fatalf("run %d: output before its end, or after the last", e.Run)
		}
		r.late[e.Run] = append(r.late[e.Run], e.Output...)
		r.over[e.Run] = e.Last
		e.Memory.Release()
		e.Space.Release()
		if e.File != "" {
			if chunks, _, err := runoutput.Read(e.File); err != nil || len(chunks) == 0 {
				r.t.Fatalf("run %d: late output in %s: %d pieces, error %v", e.Run, e.File, len(chunks), err)
			}
			os.Remove(e.File)
		}
	case event.Checked:
		r.checked[e.Run] = e.Outcome
	default:
		r.t.Fatalf("unexpected event %T", e)
	}
}

const patience = hosttest.Patience

// until takes events until a condition holds.
func (r *testSpawner) until(what string, reached func() bool) {
	r.t.Helper()
	late := time.After(patience)
	for !reached() {
		select {
		case e := <-r.spawner.Events():
			r.note(e)
		case <-late:
			r.t.Fatalf("not within %v: %s", patience, what)
		}
	}
}

// receive waits for the output of a run, or for a request to a simulated part of the host. A run
// that never began sends nothing, so the wait must end.
func receive[T any](r *testSpawner, what string, c <-chan T) T {
	r.t.Helper()
	late := time.After(patience)
	for {
		select {
		case v := <-c:
			return v
		case e := <-r.spawner.Events():
			r.note(e)
		case <-late:
			r.t.Fatalf("not within %v: %s; ended are %+v", patience, what, r.ended)
		}
	}
}

// poll waits for a condition that has no event.
func poll(t testing.TB, what string, reached func() bool) {
	t.Helper()
	for late := time.Now().Add(patience); !reached(); runtime.Gosched() {
		if time.Now().After(late) {
			t.Fatalf("not within %v: %s", patience, what)
		}
	}
}

// process is a program with a limited wait for its end, and for the processes that hold its
// output.
func process(t *testing.T, argv ...string) *exec.Cmd {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 2*patience) // a helper's own words come first
	t.Cleanup(cancel)
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Env, cmd.WaitDelay = os.Environ(), patience
	return cmd
}

// start begins a run of a command as whom the test runs as.
func (r *testSpawner) start(command string, edit ...func(*effect.Start)) job.RunID {
	r.last++
	start := effect.Start{
		Job: job.Job{ID: "test.job", User: ownName(), Zone: "UTC", Command: command, Env: []string{"HOME=/"}},
		Run: job.Run{ID: r.last, Attempt: 1, Trigger: job.TriggerClock, Due: time.Unix(1_700_000_000, 0)},
	}
	for _, e := range edit {
		e(&start)
	}
	r.spawner.Start(start)
	return r.last
}

func (r *testSpawner) awaitStart(id job.RunID) (pid int) {
	r.t.Helper()
	r.until(fmt.Sprintf("start of run %d", id), func() bool { return r.started[id] != 0 || r.ended[id].Run != 0 })
	return r.started[id]
}

func (r *testSpawner) await(id job.RunID) Ended {
	r.t.Helper()
	r.until(fmt.Sprintf("end of run %d", id), func() bool { return r.ended[id].Run != 0 })
	return r.ended[id]
}

// do runs a command to its end.
func (r *testSpawner) do(command string, edit ...func(*effect.Start)) Ended {
	r.t.Helper()
	return r.await(r.start(command, edit...))
}

func env(entries ...string) func(*effect.Start) {
	return func(s *effect.Start) { s.Job.Env = append(s.Job.Env, entries...) }
}

// somebody is a user other than root: a different one if the test runs as root.
func somebody() string {
	if os.Geteuid() == 0 {
		return "nobody"
	}
	return ownName()
}

// dropped starts a process without root's privileges.
func dropped() *syscall.SysProcAttr {
	if os.Geteuid() != 0 {
		return nil
	}
	return &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
}

func as(user string) func(*effect.Start) {
	return func(s *effect.Start) { s.Job.User = user }
}

func stdin(text string) func(*effect.Start) {
	return func(s *effect.Start) { s.Job.Stdin = text }
}

// text is the output of one stream.
func text(e Ended, name job.Stream) string {
	var b strings.Builder
	for _, chunk := range e.Output {
		if chunk.Stream == name {
			b.Write(chunk.Data)
		}
	}
	return b.String()
}

func wantOutcome(t testing.TB, e Ended, want job.Outcome) {
	t.Helper()
	if e.Outcome != want {
		t.Errorf("run %d: outcome %+v, want %+v; output %+v", e.Run, e.Outcome, want, e.Output)
	}
}

func exited(code int) job.Outcome { return job.Outcome{Kind: job.Exited, Code: code} }

// publicBinary copies the test binary to where any account can run it.
func publicBinary(t *testing.T) string {
	t.Helper()
	dir := publicDir(t)
	data, err := os.ReadFile("/proc/self/exe")
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "spawn.test")
	filetest.Write(t, path, string(data), 0o755)
	return path
}

func publicDir(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for _, d := range []string{dir, filepath.Dir(dir)} {
		if err := os.Chmod(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func needRoot(t *testing.T, what string) {
	t.Helper()
	hosttest.Root(t, "only root can "+what)
}

// gate holds any number of jobs that run its command, each until it is opened
// for one of them.
type gate struct {
	t    testing.TB
	path string
	file *os.File
}

func newGate(t testing.TB) *gate {
	t.Helper()
	path := filepath.Join(t.TempDir(), "gate")
	if err := syscall.Mkfifo(path, 0o666); err != nil {
		t.Fatal(err)
	}
	file, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { file.Close() })
	return &gate{t, path, file}
}

// command waits in the shell itself, in one process.
func (g *gate) command() string { return "read x <" + g.path }

// read waits for what a command writes into the gate.
func (g *gate) read(what string) string {
	g.t.Helper()
	var data [64]byte
	err := g.file.SetReadDeadline(time.Now().Add(patience))
	n := 0
	if err == nil {
		n, err = g.file.Read(data[:])
	}
	if err != nil {
		g.t.Fatalf("%s: %v", what, err)
	}
	return string(data[:n])
}

func (g *gate) open(n int) {
	g.t.Helper()
	if _, err := g.file.WriteString(strings.Repeat("\n", n)); err != nil {
		g.t.Fatal(err)
	}
}

// status reads a number from /proc/self/status.
func status(t testing.TB, name string) int {
	t.Helper()
	f, err := os.Open("/proc/self/status")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		if value, ok := strings.CutPrefix(lines.Text(), name+":"); ok {
			var n int
			if _, err := fmt.Sscan(value, &n); err != nil {
				t.Fatal(err)
			}
			return n
		}
	}
	t.Fatalf("no %s in /proc/self/status", name)
	return 0
}

func decode[T any](t *testing.T, e Ended) (v T) {
	t.Helper()
	if err := json.Unmarshal([]byte(text(e, job.Stdout)), &v); err != nil {
		t.Fatalf("read report: %v; outcome %+v, output %+v", err, e.Outcome, e.Output)
	}
	return v
}
