package spawn

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/cronring/cronring/daemon/account"
	"github.com/cronring/cronring/daemon/engine/effect"
	"github.com/cronring/cronring/daemon/job"
)

// exec runs a program beside a testSpawner; its events need not be drained.
func (r *testSpawner) exec(tool Tool) Result {
	r.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	result, err := r.spawner.Exec(ctx, tool)
	if err != nil {
		r.t.Fatalf("%q: %v", tool.Argv, err)
	}
	return result
}

func TestExecTellsOutputApartAndStatus(t *testing.T) {
	r := newTestSpawner(t, Options{})
	got := r.exec(Tool{Argv: []string{"sh", "-c", "cat; echo $A-$HOME >&2; pwd; exit 3"}, Env: []string{"A=b"}, Stdin: strings.NewReader("in\n")})
	if string(got.Output) != "in\n/\n" || string(got.Errput) != "b-\n" || got.Outcome != exited(3) {
		t.Errorf("output %q, errors %q, outcome %v; want in and /, b-, exit 3", got.Output, got.Errput, got.Outcome)
	}
	if len(r.spawner.events) != 0 {
		t.Errorf("%d events for a program that is no run", len(r.spawner.events))
	}
}

func TestExecPassesAFileOn(t *testing.T) {
	r := newTestSpawner(t, Options{})
	file, err := os.Open("/proc/self/exe")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	want, err := os.ReadFile("/proc/self/exe")
	if err != nil {
		t.Fatal(err)
	}
	got := r.exec(Tool{Argv: []string{"cat"}, Stdin: file, MaxOutput: len(want) + 1})
	if !bytes.Equal(got.Output, want) {
		t.Errorf("%d bytes came through, want the file's %d", len(got.Output), len(want))
	}
}

func TestExecKeepsNoMoreThanAsked(t *testing.T) {
	r := newTestSpawner(t, Options{})
	got := r.exec(Tool{Argv: []string{"sh", "-c", "head -c 1000000 /dev/zero; echo 0123456789 >&2"}, MaxOutput: 5})
	if len(got.Output) != 5 || string(got.Errput) != "01234" || got.Outcome != exited(0) {
		t.Errorf("%d bytes, errors %q, outcome %v; want 5 of each and a good end", len(got.Output), got.Errput, got.Outcome)
	}
}

func TestExecAsAnotherAccount(t *testing.T) {
	needRoot(t, "become another account")
	r := newTestSpawner(t, Options{})
	nobody := accountOf(t, "nobody")
	nobody.Groups = []uint32{4242}
	got := r.exec(Tool{Argv: []string{"sh", "-c", "id -u; id -G; echo 0 2>/dev/null >/proc/sys/vm/drop_caches || echo refused"}, As: &nobody})
	if want := "65534\n65534 4242\nrefused\n"; string(got.Output) != want {
		t.Errorf("output %q, want %q", got.Output, want)
	}
}

func TestExecOfWhatIsNotThere(t *testing.T) {
	r := newTestSpawner(t, Options{})
	for _, argv := range [][]string{{"no-such-program"}, {"/no/such/program"}, {"/etc/passwd"}, {}} {
		result, err := r.spawner.Exec(t.Context(), Tool{Argv: argv})
		if err == nil {
			t.Errorf("%q: %+v, want an error", argv, result)
		}
	}
}

func TestExecIsKilledWithItsContext(t *testing.T) {
	r := newTestSpawner(t, Options{})
	g := newGate(t)
	ctx, cancel := context.WithCancel(t.Context())
	failed := make(chan error, 1)
	go func() {
		_, err := r.spawner.Exec(ctx, Tool{Argv: []string{"sh", "-c", "echo $$ >" + g.path + "; sleep 1000 & wait"}})
		failed <- err
	}()
	g.read("the program's word that it runs")
	cancel()
	if err := receive(r, "the program's end", failed); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want that of the context", err)
	}
	r.stop() // returns when the program has ended
}

func TestExecBeforeRunAndWhileItDrains(t *testing.T) {
	r := &testSpawner{t: t, spawner: New(Options{}), started: map[job.RunID]int{}, ended: map[job.RunID]Ended{}}
	early := make(chan Result, 1)
	go func() {
		result, _ := r.spawner.Exec(context.Background(), Tool{Argv: []string{"echo", "early"}})
		early <- result
	}()
	r.run()
	if got := receive(r, "the program's end", early); string(got.Output) != "early\n" {
		t.Errorf("output %q of a program given before Run", got.Output)
	}
	g := newGate(t)
	id := r.start(g.command())
	r.awaitStart(id)
	r.cancel()
	poll(t, "that the process loop sees the end of ctx", func() bool { return r.do("true").Outcome.Kind == job.NotStarted })
	if got := r.exec(Tool{Argv: []string{"echo", "late"}}); string(got.Output) != "late\n" {
		t.Errorf("output %q of a program while Run drains", got.Output)
	}
	g.open(1)
	wantOutcome(t, r.await(id), exited(0))
	r.stop()
	if _, err := r.spawner.Exec(t.Context(), Tool{Argv: []string{"true"}}); !errors.Is(err, errStopping) {
		t.Errorf("error %v after Run, want %v", err, errStopping)
	}
}

// TestAccountIsFoundByAProgram looks up the user of a run with a program that the same starter
// starts, while runs of cached users continue.
func TestAccountIsFoundByAProgram(t *testing.T) {
	me := accountOf(t, ownName())
	var r *testSpawner
	g := newGate(t)
	asked := 0
	r = newTestSpawner(t, Options{Accounts: fakeAccounts{known: me, find: func(ctx context.Context, name string) (account.Account, error) {
		asked++
		result, err := r.spawner.Exec(ctx, Tool{Argv: []string{"sh", "-c", g.command() + "; echo " + name}})
		found := me
		found.Name = strings.TrimSpace(string(result.Output))
		return found, err
	}}})
	var slow []job.RunID
	for range 20 {
		slow = append(slow, r.start("echo $LOGNAME", as("far-away")))
	}
	wantOutcome(t, r.do("exit 7"), exited(7)) // the directory service does not delay other users
	stopped := r.start("true", as("far-away"))
	r.spawner.Kill(effect.Kill{Run: stopped, Signal: syscall.SIGTERM})
	g.open(1)
	for _, id := range slow {
		if got := text(r.await(id), job.Stdout); got != "far-away\n" {
			t.Errorf("run %d as %q, want far-away", id, got)
		}
	}
	wantOutcome(t, r.await(stopped), job.Outcome{Kind: job.NotStarted, Error: "stopped before it started"})
	if asked != 1 {
		t.Errorf("asked %d times for runs of one account that wait together, want once", asked)
	}
}

func TestAccountsAreAskedForAFewAtATime(t *testing.T) {
	begun := make(chan string, 100)
	r := newTestSpawner(t, Options{Accounts: fakeAccounts{find: func(ctx context.Context, name string) (account.Account, error) {
		begun <- name
		<-ctx.Done() // a service that never answers
		return account.Account{}, ctx.Err()
	}}})
	for _, name := range []string{"a", "b", "c", "d", "e", "f"} {
		r.start("true", as(name))
	}
	for range inquirers {
		receive(r, "the questions for accounts", begun)
	}
	if n := len(begun); n != 0 {
		t.Errorf("%d accounts beyond %d are asked for at once", n, inquirers)
	}
	r.stop() // Run drops them
	r.drain()
	for id, e := range r.ended {
		if e.Outcome.Kind != job.NotStarted {
			t.Errorf("run %d: %v, want none started", id, e.Outcome)
		}
	}
	if len(r.ended) != 6 {
		t.Errorf("%d of 6 runs ended", len(r.ended))
	}
}

// TestExecWithoutOutput: the program's standard output and error are /dev/null, and its standard
// input is the file that was passed, for example a socket.
func TestExecWithoutOutput(t *testing.T) {
	r := newTestSpawner(t, Options{})
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer read.Close()
	got := r.exec(Tool{Argv: []string{"sh", "-c", "out=$(readlink /proc/$$/fd/1 /proc/$$/fd/2); echo \"$out\" >&0; echo lost; exit 3"}, Stdin: write, NoOutput: true})
	write.Close()
	said, err := io.ReadAll(read)
	if err != nil {
		t.Fatal(err)
	}
	if want := "/dev/null\n/dev/null\n"; string(said) != want || len(got.Output)+len(got.Errput) > 0 || got.Outcome != exited(3) {
		t.Errorf("descriptors %q, output %q, errors %q, outcome %v; want %q, nothing, exit 3", said, got.Output, got.Errput, got.Outcome, want)
	}
}
