package watchfiles

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/cronring/cronring/daemon/account"
	"github.com/cronring/cronring/daemon/filetest"
	"github.com/cronring/cronring/daemon/hosttest"
	"github.com/cronring/cronring/daemon/job"
	"github.com/cronring/cronring/daemon/spawn"
)

func TestMain(m *testing.M) {
	Main()
	os.Exit(m.Run())
}

// TestDescriptors: a process that sends descriptors does not delay the end of the daemon.
func TestDescriptors(t *testing.T) {
	ours, theirs, err := connect()
	if err != nil {
		t.Fatal(err)
	}
	defer theirs.Close()
	sender, err := net.FileConn(theirs)
	if err != nil {
		t.Fatal(err)
	}
	defer sender.Close()
	hosttest.SendLingering(t, sender.(*net.UnixConn))
	ended := make(chan struct{})
	go func() {
		drain(t.Context(), ours)
		close(ended)
	}()
	ours.Close()
	select {
	case <-ended:
	case <-time.After(hosttest.Patience):
		t.Error("the daemon waits for a descriptor")
	}
}

// testWatcher is a Watcher that runs.
type testWatcher struct {
	*Watcher
	t      testing.TB
	bursts chan Burst
	stop   context.CancelFunc
	ended  chan error
}

// watcher starts a Watcher. exec starts processes.
func watcher(t testing.TB, exec func(context.Context, spawn.Tool) (spawn.Result, error)) *testWatcher {
	t.Helper()
	w := &testWatcher{t: t, bursts: make(chan Burst), ended: make(chan error, 1)}
	w.Watcher = New(Options{
		Find: func(_ context.Context, user string) (account.Account, error) { return account.Account{Name: user}, nil },
		Exec: exec, Pause: time.Millisecond,
		Deliver: func(ctx context.Context, b Burst) bool {
			select {
			case w.bursts <- b:
				return true
			case <-ctx.Done():
				return false
			}
		},
	})
	ctx, cancel := context.WithCancel(t.Context())
	w.stop = cancel
	go func() { w.ended <- w.Run(ctx) }()
	t.Cleanup(func() { cancel(); <-w.ended })
	return w
}

// runProgram runs this program as a user's process, with the rights of a user.
func runProgram(uid uint32) func(context.Context, spawn.Tool) (spawn.Result, error) {
	return func(ctx context.Context, tool spawn.Tool) (spawn.Result, error) {
		cmd := exec.CommandContext(ctx, tool.Argv[0], tool.Argv[1:]...)
		cmd.Env, cmd.Stdin, cmd.Dir = tool.Env, tool.Stdin, "/"
		if os.Geteuid() == 0 {
			cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uid, Gid: uid}}
		}
		return spawn.Result{Outcome: job.Outcome{Kind: job.Exited}}, cmd.Run()
	}
}

func owned(id, user string) job.Owned { return job.Owned{Job: job.ID(id), User: user} }

// waitFor polls for a state that no event reports.
func waitFor(t testing.TB, what string, reached func() bool) {
	t.Helper()
	for end := time.Now().Add(hosttest.Patience); !reached(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("waited in vain for %s", what)
		}
	}
}

// TestProcessOfAUser: the real program, which runs as another user, reports files, and why it cannot
// watch a directory that the user must not read. After it was killed, another one reports what
// arrived meanwhile.
func TestProcessOfAUser(t *testing.T) {
	const nobody = 65534
	dir := t.TempDir()
	for _, d := range []string{dir, filepath.Dir(dir)} {
		if err := os.Chmod(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	filetest.Write(t, filepath.Join(dir, "private/x"), "", 0o600)
	if err := os.Chmod(filepath.Join(dir, "private"), 0); err != nil {
		t.Fatal(err)
	}
	begun := make(chan context.CancelFunc, 10)
	run := runProgram(nobody)
	w := watcher(t, func(ctx context.Context, tool spawn.Tool) (spawn.Result, error) {
		ctx, kill := context.WithCancel(ctx)
		begun <- kill
		return run(ctx, tool)
	})
	w.Set(map[string][]Watch{"nobody": {
		{Job: owned("nobody/a", "nobody"), Globs: []string{dir + "/*.csv"}},
		{Job: owned("nobody/b", "nobody"), Globs: []string{dir + "/private/*", dir + "/*.txt"}},
	}})
	arrive := func(name string) {
		filetest.Write(t, filepath.Join(dir, name), "text", 0o644)
		if os.Geteuid() == 0 { // the user can determine only of own files whether they are open
			if err := os.Chown(filepath.Join(dir, name), nobody, nobody); err != nil {
				t.Fatal(err)
			}
		}
	}
	arrive("a.csv")
	arrive("a.txt")
	for range 2 {
		b := <-w.bursts
		if want := dir + map[job.ID]string{"nobody/a": "/a.csv", "nobody/b": "/a.txt"}[b.Job.Job]; !slices.Equal(b.Paths, []string{want}) || b.Newest.IsZero() {
			t.Errorf("got %+v, want %s", b, want)
		}
	}
	if got, want := w.Faults(), "cannot watch "+dir+"/private: permission denied"; len(got) != 1 || got[owned("nobody/b", "nobody")] != want {
		t.Errorf("faults %q, want %q", got, want)
	}
	(<-begun)()
	arrive("b.csv")
	if b := <-w.bursts; !slices.Equal(b.Paths, []string{dir + "/b.csv"}) {
		t.Errorf("got %+v, want b.csv", b)
	}
}

// TestProgramAlone: the program does nothing for a person who runs it.
func TestProgramAlone(t *testing.T) {
	text, err := exec.Command(program, flag).CombinedOutput()
	if err == nil || !strings.Contains(string(text), "this is a part of the daemon") {
		t.Errorf("%v: %q", err, text)
	}
}

// fakeProcess is a user's process that does what a test says. It ends with its connection.
type fakeProcess struct {
	net.Conn
	user   string
	killed <-chan struct{}
	orders *json.Decoder
}

// fake starts fake processes, and kills them with their context.
func fake(processes chan *fakeProcess) func(context.Context, spawn.Tool) (spawn.Result, error) {
	return func(ctx context.Context, tool spawn.Tool) (spawn.Result, error) {
		conn, err := net.FileConn(tool.Stdin.(*os.File))
		if err != nil {
			return spawn.Result{}, err
		}
		p := &fakeProcess{conn, tool.As.Name, ctx.Done(), json.NewDecoder(conn)}
		select {
		case processes <- p:
		case <-ctx.Done():
		}
		<-ctx.Done()
		return spawn.Result{}, ctx.Err()
	}
}

// startOthers starts and ends processes of other users, one after the other, while all is watched. No
// process of the users in all must be started meanwhile. If one were started too early, it would come
// before the third of them.
func (w *testWatcher) startOthers(processes <-chan *fakeProcess, all map[string][]Watch) {
	w.t.Helper()
	for _, other := range []string{"carol", "dave", "eve"} {
		more := maps.Clone(all)
		more[other] = []Watch{{Job: owned(other+"/a", other), Globs: []string{"/srv/*"}}}
		w.Set(more)
		p := <-processes
		if p.user != other {
			w.t.Fatalf("another process of %s was started while the first one had not ended", p.user)
		}
		w.Set(all)
		<-p.killed
		p.Close()
	}
}

func (p *fakeProcess) order(t *testing.T) (o order) {
	t.Helper()
	if err := p.orders.Decode(&o); err != nil {
		t.Error(err)
	}
	return o
}

func (p *fakeProcess) send(t *testing.T, text string) {
	t.Helper()
	if _, err := p.Write([]byte(text + "\n")); err != nil {
		t.Error(err)
	}
}

// TestHostileReports: a process that sends what no honest one does is killed, nothing is delivered,
// and the next one is started.
func TestHostileReports(t *testing.T) {
	paths := func(n int, path string) string {
		return `{"id":1,"paths":["` + strings.Join(slices.Repeat([]string{path}, n), `","`) + `"]}`
	}
	processes := make(chan *fakeProcess)
	w := watcher(t, fake(processes))
	mine := owned("ann/a", "ann")
	w.Set(map[string][]Watch{"ann": {{Job: mine, Globs: []string{"/srv/*"}}}})
	for _, tt := range []struct{ report, fault string }{
		{`{]`, "it sent what is not a report"},
		{`{"id":1,"newest":"x"}`, "it sent what is not a report"},
		{strings.Repeat("x", maxReport+1), "it sent a report that is too long"},
		{paths(1, "srv/a"), "a path that is not valid"},
		{paths(1, `/srv/a\n/srv/b`), "a path that is not valid"},
		{paths(1, `/srv/\u0000`), "a path that is not valid"},
		{paths(1, "/"+strings.Repeat("x", maxPath)), "a path that is not valid"},
		{paths(maxPaths+1, "/srv/a"), "too many paths"},
		{paths(900, "/"+strings.Repeat("x", 100)), "too many paths"},
		{`{"id":1,"more":-1}`, "an invalid number of files"},
		{`{"id":1,"more":1e99}`, "it sent what is not a report"},
		{`{"fault":"\u001b[2J"}`, "?[2J"},
	} {
		p := <-processes
		go func() { _, _ = p.Write([]byte(tt.report + "\n")) }() // it is not read to its end
		<-p.killed
		p.Close()
		waitFor(t, tt.fault, func() bool { return strings.Contains(w.Faults()[mine], tt.fault) })
	}
	p := <-processes
	p.send(t, `{"id":2,"paths":["/srv/a"]}`) // an unknown job
	p.send(t, `{"id":1,"paths":["/srv/b","/srv/a","/srv/b"],"more":3,"newest":"9999-01-01T00:00:00Z"}`)
	if b := <-w.bursts; b.Job != mine || !slices.Equal(b.Paths, []string{"/srv/a", "/srv/b"}) || b.More != 3 || b.Newest.After(time.Now()) {
		t.Errorf("got %+v", b)
	}
	if why := w.Faults()[mine]; why == "" {
		t.Error("the process runs before it said so")
	}
	p.send(t, `{"ready":true}`)
	waitFor(t, "the end of the fault", func() bool { return len(w.Faults()) == 0 })
	w.mu.Lock()
	w.users["ann"].lastReport = time.Now().Add(-maxSilence - time.Second)
	w.mu.Unlock()
	if why := w.Faults()[mine]; !strings.Contains(why, "does not answer") {
		t.Errorf("fault %q of a process that is silent", why)
	}
	p.send(t, `{"ready":true}`)
	waitFor(t, "the end of the silence", func() bool { return len(w.Faults()) == 0 })
	p.send(t, `{"id":1,"fault":"\u001b[2J`+strings.Repeat("x", 1000)+`"}`)
	waitFor(t, "a fault", func() bool { return len(w.Faults()) == 1 })
	if why := w.Faults()[mine]; len(why) > 310 || strings.Contains(why, "\x1b") {
		t.Errorf("fault %q", why)
	}
	w.stop()
	<-p.killed
	p.Close()
}

// TestStoppedProcess: a process that reads nothing delays no call, and is not followed by another
// one before it has ended.
func TestStoppedProcess(t *testing.T) {
	processes := make(chan *fakeProcess)
	w := watcher(t, fake(processes))
	var watches []Watch
	for i := range maxGlobs { // more than the connection takes
		watches = append(watches, Watch{Job: owned(fmt.Sprintf("ann/%04d", i), "ann"), Globs: []string{"/" + strings.Repeat("x", 1000)}})
	}
	w.Set(map[string][]Watch{"ann": watches})
	first := <-processes
	w.Set(map[string][]Watch{"ann": watches, "bob": {{Job: owned("bob/b", "bob"), Globs: []string{"/b"}}}})
	bob := <-processes // is not delayed
	w.Faults()
	w.Set(nil)
	<-bob.killed
	bob.Close()
	if err := first.Conn.(*net.UnixConn).CloseRead(); err != nil { // ends the write that waits for it
		t.Fatal(err)
	}
	<-first.killed
	first.send(t, `{"ready":true}`) // after this, only drain waits for its end
	w.startOthers(processes, map[string][]Watch{"ann": watches[:1]})
	w.stop()
	if err := <-w.ended; err != nil { // the process of ann still has its connection
		t.Error(err)
	}
	w.ended <- nil
	first.Close()
}

// hurriedConn is a connection whose deadlines are reached immediately.
type hurriedConn struct{ net.Conn }

func (c hurriedConn) SetWriteDeadline(time.Time) error { return c.Conn.SetWriteDeadline(time.Now()) }

// TestOrderIsNotRead: the daemon does not wait forever until a process reads its order.
func TestOrderIsNotRead(t *testing.T) {
	ours, theirs := net.Pipe()
	defer theirs.Close()
	ctx, cancel := context.WithTimeout(t.Context(), hosttest.Patience)
	defer cancel()
	defer context.AfterFunc(ctx, func() { ours.Close() })()
	p := newProcess(New(Options{}), "ann")
	p.replace([]Watch{{Job: owned("ann/a", "ann"), Globs: []string{"/srv/*"}}})
	if err := p.direct(ctx, hurriedConn{ours}, nil); err == nil || ctx.Err() != nil {
		t.Errorf("got %v", err)
	}
}

// TestProcessIsFollowedAfterItsEnd: the next process is started when nothing holds the connection of
// the killed one any more. It gets the time of the last burst that was delivered.
func TestProcessIsFollowedAfterItsEnd(t *testing.T) {
	processes := make(chan *fakeProcess)
	w := watcher(t, fake(processes))
	mine := owned("ann/a", "ann")
	all := map[string][]Watch{"ann": {{Job: mine, Globs: []string{"/srv/*"}}}}
	w.Set(all)
	first := <-processes
	if o := first.order(t); len(o.Watches) != 1 || o.Watches[0].ID != 1 || string(o.Watches[0].Globs[0]) != "/srv/*" || !o.Watches[0].Since.IsZero() {
		t.Errorf("got %+v", o)
	}
	first.send(t, `{"id":1,"paths":["/srv/a"],"newest":"2026-11-01T00:00:00.123456789Z"}`)
	<-w.bursts
	first.send(t, "nonsense")
	<-first.killed
	w.startOthers(processes, all)
	first.Close()
	second := <-processes
	if o := second.order(t); !o.Watches[0].Since.Equal(time.Date(2026, 11, 1, 0, 0, 0, 123456789, time.UTC)) {
		t.Errorf("got %+v", o)
	}
	w.Set(map[string][]Watch{"ann": {{Job: mine, Globs: []string{"/srv/*"}, Since: time.Now()}}}) // changes nothing
	w.Set(map[string][]Watch{"ann": {{Job: mine, Globs: []string{"/other/*"}}}})
	if o := second.order(t); len(o.Watches) != 1 || o.Watches[0].ID != 2 || string(o.Watches[0].Globs[0]) != "/other/*" {
		t.Errorf("got %+v", o)
	}
	second.send(t, `{"id":1,"paths":["/srv/a"]}`) // of the job as it was
	second.send(t, `{"id":2,"paths":["/other/a"]}`)
	if b := <-w.bursts; b.Paths[0] != "/other/a" {
		t.Errorf("got %+v", b)
	}
	w.Set(nil)
	<-second.killed
	second.Close()
	waitFor(t, "the user to be forgotten", func() bool {
		w.mu.Lock()
		defer w.mu.Unlock()
		return len(w.users) == 0
	})
}

// TestBurstsAreSlowedDown: a process that reports a job without end delivers one burst a second.
func TestBurstsAreSlowedDown(t *testing.T) {
	processes := make(chan *fakeProcess)
	w := watcher(t, fake(processes))
	w.Set(map[string][]Watch{"ann": {{Job: owned("ann/a", "ann"), Globs: []string{"/srv/*"}}}})
	p := <-processes
	go func() {
		writer := bufio.NewWriter(p)
		for {
			if _, err := writer.WriteString(`{"id":1,"paths":["/srv/a"]}` + "\n"); err != nil {
				return
			}
		}
	}()
	began := time.Now() // before the first burst, which this goroutine may receive late
	<-w.bursts
	<-w.bursts
	if got := time.Since(began); got < burstPause {
		t.Errorf("the second burst came after %v", got)
	}
	w.stop()
	p.Close()
}

func TestGlobsOfAUserAreLimited(t *testing.T) {
	w := New(Options{})
	var watches []Watch
	for i := range maxGlobs + 1 {
		watches = append(watches, Watch{Job: owned(fmt.Sprintf("ann/%04d", i), "ann"), Globs: []string{"/srv/*"}})
	}
	slices.Reverse(watches)
	watches = append(watches, Watch{Job: owned("ann/bad", "ann"), Globs: []string{"srv"}})
	w.Set(map[string][]Watch{"ann": watches})
	w.replace()
	got := w.Faults()
	if len(got) != 2 || !strings.Contains(got[owned("ann/1000", "ann")], "more than 1000") || !strings.Contains(got[owned("ann/bad", "ann")], "must begin with /") {
		t.Errorf("got %q", got)
	}
	if o := w.users["ann"].order(); len(o.Watches) != maxGlobs {
		t.Errorf("%d jobs are watched", len(o.Watches))
	}
}

// TestUserIsUnknown: the lookup is repeated, and no process is started.
func TestUserIsUnknown(t *testing.T) {
	w := watcher(t, nil)
	unknown := errors.New("no such user")
	w.options.Find = func(context.Context, string) (account.Account, error) { return account.Account{}, unknown }
	mine := owned("ann/a", "ann")
	w.Set(map[string][]Watch{"ann": {{Job: mine, Globs: []string{"/srv/*"}}}})
	waitFor(t, "the fault", func() bool { return strings.Contains(w.Faults()[mine], unknown.Error()) })
}

// TestOtherUsersFilesAreNotSeen: a user's process has no more rights than the user.
func TestOtherUsersFilesAreNotSeen(t *testing.T) {
	hosttest.Root(t, "become another account")
	dir := t.TempDir()
	if err := os.Chmod(filepath.Dir(dir), 0o700); err != nil { // as t.TempDir leaves it for others
		t.Fatal(err)
	}
	w := watcher(t, runProgram(65534))
	mine := owned("nobody/a", "nobody")
	w.Set(map[string][]Watch{"nobody": {{Job: mine, Globs: []string{dir + "/*"}}}})
	waitFor(t, "the fault", func() bool { return strings.HasSuffix(w.Faults()[mine], "permission denied") })
}

// FuzzReport: whatever a process sends, the paths that are delivered are within their limits, and
// have a line each.
func FuzzReport(f *testing.F) {
	f.Add([]byte(`{"id":1,"paths":["/srv/a","/srv/b"],"more":3,"newest":"2026-11-01T00:00:00Z"}`))
	f.Add([]byte(`{"id":1,"fault":"no","ready":true}`))
	f.Fuzz(func(t *testing.T, line []byte) {
		var r report
		if json.Unmarshal(line, &r) != nil || r.check() != nil {
			return
		}
		text := strings.Join(r.Paths, "\n")
		if len(text) > maxPathBytes+maxPaths || len(r.Paths) > 0 && len(strings.Split(text, "\n")) != len(r.Paths) || strings.ContainsRune(text, 0) || r.More < 0 {
			t.Errorf("%q is accepted", line)
		}
	})
}
