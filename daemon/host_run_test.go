package daemon

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"os"
	"os/exec"
	ossignal "os/signal"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"modernc.org/sqlite"

	"github.com/cronring/cronring/crontab"
	"github.com/cronring/cronring/daemon/api"
	"github.com/cronring/cronring/daemon/config"
	"github.com/cronring/cronring/daemon/filetest"
	"github.com/cronring/cronring/daemon/hosttest"
	"github.com/cronring/cronring/daemon/job"
	"github.com/cronring/cronring/daemon/shim"
	"github.com/cronring/cronring/daemon/spawn"
	"github.com/cronring/cronring/daemon/watchfiles"
)

// These tests run the daemon of a host as a process of its own: the test
// binary once more. All paths of that host lie in a temporary directory.

// beHost holds a hostSpec as JSON. It survives the execution of a new program.
const beHost = "CRONRING_TEST_HOST"

func TestMain(m *testing.M) {
	spawn.Helper()
	shim.Main()
	watchfiles.Main()
	if text, ok := os.LookupEnv(beHost); ok {
		os.Exit(runHost(text))
	}
	flag.Parse()
	os.Exit(m.Run())
}

// hostSpec is the configuration of a daemon under test.
type hostSpec struct {
	Root   string
	Family crontab.Family
	Mailer string
	Log    string
	Hasty  bool     // output is copied to the disk at short intervals
	Files  []string // crontabs that are named by hand, instead of those of the host

	CommitTime time.Duration // added to the duration of each commit to the history
	NoGroups   bool          // the daemon finds no control groups
}

func runHost(text string) int {
	var s hostSpec
	if err := json.Unmarshal([]byte(text), &s); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 2
	}
	signals := make(chan os.Signal, 4)
	ossignal.Notify(signals, syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP, syscall.SIGUSR2)
	o := Options{
		Family: s.Family, Root: s.Root, Signals: signals, Log: cmp.Or(s.Log, "text"), Version: "test",
		State: s.path("var/lib/cronring"), Runtime: s.path("run/cronring"), Socket: s.path("run/cronring/s"),
		Grace: time.Minute, Stdout: os.Stdout, Stderr: os.Stderr, Cron: Cron{LogLevel: 1},
	}
	if s.Hasty {
		o.preserve = 10 * time.Millisecond
	}
	o.Files = s.Files
	o.ConfigDir = s.path("etc/cronring")
	o.Config = config.Read(o.ConfigDir)
	o.Config.Mail.Command, o.Config.Mail.Off = s.Mailer, s.Mailer == "" && s.Files == nil
	if s.CommitTime > 0 {
		sqlite.RegisterConnectionHook(func(conn sqlite.ExecQuerierContext, _ string) error {
			conn.(sqlite.HookRegisterer).RegisterCommitHook(func() int32 { time.Sleep(s.CommitTime); return 0 })
			return nil
		})
	}
	if s.NoGroups {
		if err := unix.Unmount("/sys/fs/cgroup", unix.MNT_DETACH); err != nil && err != unix.EINVAL { // this is a later execution of the program
			fmt.Fprintln(os.Stderr, "hide control groups:", err)
			return 2
		}
	}
	if err := Run(context.Background(), o); err != nil {
		fmt.Fprintln(os.Stderr, "cronringd:", err)
		return 1
	}
	return 0
}

func (s *hostSpec) path(name string) string { return filepath.Join(s.Root, name) }

// The users of every host under test. Their numbers are unused on machines where the tests run.
const (
	annID, bobID     = 61001, 61002
	staffID, extraID = 61050, 61051
)

// testHost is a host under test, and the daemon that runs on it now.
type testHost struct {
	hostSpec
	t       testing.TB
	program string
	env     []string
	client  *api.Client
	manager *fakeManager // nil: none
	letters chan string

	cmd *exec.Cmd

	mu    sync.Mutex
	more  chan struct{} // closed when there is another line
	lines []string      // that all daemons said
	by    []*exec.Cmd   // which of them said each
	seen  int           // of lines
}

// newTestHost makes a host without crontabs.
func newTestHost(t testing.TB) *testHost {
	t.Helper()
	hosttest.Root(t, "the daemon of a host is root's, and starts jobs as others")
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	root := t.TempDir()
	t.Cleanup(func() { // jobs that outlive the daemon may still create files in it
		for end := time.Now().Add(hostPatience); os.RemoveAll(root) != nil && time.Now().Before(end); {
		}
	})
	for _, dir := range []string{filepath.Dir(root), root} {
		if err := os.Chmod(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	h := &testHost{t: t, hostSpec: hostSpec{Root: root}, program: self, more: make(chan struct{})}
	for _, dir := range []string{
		"etc/cron.d", "etc/security/limits.d", "etc/default", "var/spool/cron/crontabs", "var/spool/anacron",
		"var/lib/cronring", "run", "home/ann", "home/bob", "usr/sbin", "root",
	} {
		if err := os.MkdirAll(h.path(dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	h.write("etc/passwd", fmt.Sprintf("root:x:0:0:root:%[1]s/root:/bin/sh\nann:x:%[2]d:%[2]d:Ann:%[1]s/home/ann:/bin/sh\nbob:x:%[3]d:%[3]d:Bob:%[1]s/home/bob:/bin/sh\n", root, annID, bobID))
	h.write("etc/group", fmt.Sprintf("root:x:0:\nann:x:%d:\nbob:x:%d:\nstaff:x:%d:ann\nextra:x:%d:bob,ann\n", annID, bobID, staffID, extraID))
	h.write("etc/shadow", "root:*:19000:0:99999:7:::\nann:*:19000:0:99999:7:::\nbob:*:19000:0:99999:7:::\n")
	h.write("etc/nsswitch.conf", "passwd: files\ngroup: files\n")
	h.chown("home/ann", annID)
	h.chown("home/bob", bobID)
	h.client = api.Dial(h.path("run/cronring/s"))
	t.Cleanup(h.client.Close)
	return h
}

// write puts a file in place as an editor does: the whole of it at once.
func (h *testHost) write(name, text string) {
	h.t.Helper()
	path := h.path(name)
	filetest.Write(h.t, path+".new~", text, 0o644)
	if err := os.Rename(path+".new~", path); err != nil {
		h.t.Fatal(err)
	}
}

func (h *testHost) chown(name string, id int) {
	h.t.Helper()
	if err := os.Chown(h.path(name), id, id); err != nil {
		h.t.Fatal(err)
	}
}

// userCrontab puts a crontab into the spool as crontab(1) does.
func (h *testHost) userCrontab(user string, uid int, text string) {
	h.t.Helper()
	name := "var/spool/cron/crontabs/"
	if h.Family == crontab.RHEL {
		name = "var/spool/cron/"
	}
	path := h.path(name + user)
	temp := h.path(name + ".new")
	filetest.Write(h.t, temp, text, 0o600)
	if err := errors.Join(os.Chown(temp, uid, uid), os.Rename(temp, path)); err != nil {
		h.t.Fatal(err)
	}
}

func (h *testHost) read(name string) string {
	h.t.Helper()
	text, err := os.ReadFile(h.path(name))
	if err != nil {
		h.t.Fatal(err)
	}
	return string(text)
}

// withMailer has mails come to a channel.
func (h *testHost) withMailer() {
	h.t.Helper()
	fifo := h.fifo("letters")
	h.write("mailer", fmt.Sprintf("#!/bin/sh\nexec >%s 9<\"$0\"\nflock 9 # each account has a mailer of its own\nid -un 2>/dev/null || id -u\ncat\nprintf '\\0'\n", fifo.Name()))
	if err := os.Chmod(h.path("mailer"), 0o755); err != nil {
		h.t.Fatal(err)
	}
	h.Mailer = h.path("mailer")
	h.letters = make(chan string, 1000)
	go func() {
		r := bufio.NewReader(fifo)
		for {
			letter, err := r.ReadString(0)
			if err != nil {
				return
			}
			h.letters <- strings.TrimSuffix(letter, "\x00")
		}
	}()
}

// letter is the next mail.
func (h *testHost) letter() string {
	h.t.Helper()
	select {
	case letter := <-h.letters:
		return letter
	case <-time.After(hostPatience):
		h.t.Fatal("no mail came")
	}
	return ""
}

// fifo makes a FIFO that any account may use, and opens it so that neither end
// of it is ever missing.
func (h *testHost) fifo(name string) *os.File {
	h.t.Helper()
	path := h.path(name)
	if err := syscall.Mkfifo(path, 0o666); err != nil {
		h.t.Fatal(err)
	}
	if err := os.Chmod(path, 0o666); err != nil {
		h.t.Fatal(err)
	}
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		h.t.Fatal(err)
	}
	h.t.Cleanup(func() { f.Close() })
	return f
}

// open unblocks n jobs that wait for a FIFO.
func (h *testHost) open(gate *os.File, n int) {
	h.t.Helper()
	if _, err := gate.WriteString(strings.Repeat("\n", n)); err != nil {
		h.t.Fatal(err)
	}
}

const hostPatience = hosttest.Patience

// launch starts a daemon, without waiting for it.
func (h *testHost) launch() {
	h.t.Helper()
	spec, err := json.Marshal(h.hostSpec)
	if err != nil {
		h.t.Fatal(err)
	}
	out, in, err := os.Pipe()
	if err != nil {
		h.t.Fatal(err)
	}
	cmd := exec.Command(h.program)
	cmd.Stderr = in // a file, because surviving processes inherit it and the test must not wait for them
	cmd.Env = append(os.Environ(), beHost+"="+string(spec), "NOTIFY_SOCKET=", "TZ")
	cmd.Env = slices.DeleteFunc(cmd.Env, func(s string) bool { return s == "TZ" || strings.HasPrefix(s, "TZ=") })
	cmd.Env = append(cmd.Env, h.env...)
	if h.manager != nil {
		h.manager.prepare(cmd)
	}
	if h.NoGroups {
		cmd.SysProcAttr = &syscall.SysProcAttr{Unshareflags: syscall.CLONE_NEWNS}
	}
	err = cmd.Start()
	for _, f := range append(cmd.ExtraFiles, in) {
		f.Close()
	}
	if err != nil {
		h.t.Fatal(err)
	}
	h.mu.Lock() // withJournal reads it too
	h.cmd = cmd
	h.mu.Unlock()
	go h.listen(cmd, out)
	h.t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait() // most have ended long ago
		if h.t.Failed() {
			h.mu.Lock()
			defer h.mu.Unlock()
			h.t.Logf("the daemon said:\n%s", strings.Join(h.lines, "\n"))
			h.lines, h.by, h.seen = nil, nil, 0
		}
	})
}

// start starts a daemon and waits until it serves.
func (h *testHost) start() {
	h.t.Helper()
	h.launch()
	h.said("msg=ready")
}

// startInRing waits until the daemon is ready and another member is alive, whichever is first.
func (h *testHost) startInRing() {
	h.t.Helper()
	h.launch()
	ready, alive := false, false
	h.awaitLine("that it is ready and another member alive", func(line string) bool {
		ready = ready || strings.Contains(line, "msg=ready")
		alive = alive || strings.Contains(line, "ring: member is alive")
		return ready && alive
	})
}

func (h *testHost) listen(cmd *exec.Cmd, out *os.File) {
	defer out.Close()
	for s := bufio.NewScanner(out); s.Scan(); {
		h.hear(cmd, s.Text())
	}
}

func (h *testHost) hear(cmd *exec.Cmd, line string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.lines, h.by = append(h.lines, line), append(h.by, cmd)
	close(h.more)
	h.more = make(chan struct{})
}

// said waits for the next line of the present daemon with all of the words.
func (h *testHost) said(words ...string) string {
	h.t.Helper()
	return h.awaitLine(fmt.Sprintf("%q", words), func(line string) bool {
		return !slices.ContainsFunc(words, func(w string) bool { return !strings.Contains(line, w) })
	})
}

// awaitLine waits for the next line of the present daemon that matches.
func (h *testHost) awaitLine(what string, matches func(line string) bool) string {
	h.t.Helper()
	late := time.After(hostPatience)
	for {
		line, more := h.nextLine(matches)
		if line != "" {
			return line
		}
		select {
		case <-more:
		case <-late:
			h.t.Fatalf("the daemon did not log %s", what)
		}
	}
}

func (h *testHost) nextLine(matches func(line string) bool) (string, <-chan struct{}) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for h.seen < len(h.lines) {
		line, by := h.lines[h.seen], h.by[h.seen]
		h.seen++
		if by == h.cmd && matches(line) {
			return line, nil
		}
	}
	return "", h.more
}

// count returns the number of lines that contain all the words.
func (h *testHost) count(words ...string) (n int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, line := range h.lines {
		if !slices.ContainsFunc(words, func(w string) bool { return !strings.Contains(line, w) }) {
			n++
		}
	}
	return n
}

func (h *testHost) signal(s syscall.Signal) {
	h.t.Helper()
	if err := h.cmd.Process.Signal(s); err != nil {
		h.t.Fatal(err)
	}
}

// wait waits for the daemon's end and returns its status; -1 for a signal.
func (h *testHost) wait() int {
	h.t.Helper()
	ended := make(chan error, 1)
	go func() { ended <- h.cmd.Wait() }()
	select {
	case err := <-ended:
		var exit *exec.ExitError
		if err != nil && !errors.As(err, &exit) {
			h.t.Fatal(err)
		}
	case <-time.After(hostPatience):
		h.t.Fatal("the daemon does not end")
	}
	return h.cmd.ProcessState.ExitCode()
}

// stop stops the daemon in good order.
func (h *testHost) stop() {
	h.t.Helper()
	h.signal(syscall.SIGTERM)
	if code := h.wait(); code != 0 {
		h.t.Errorf("the daemon ended with status %d: %v", code, h.cmd.ProcessState)
	}
}

func (h *testHost) context() context.Context {
	ctx, cancel := context.WithTimeout(h.t.Context(), hostPatience)
	h.t.Cleanup(cancel)
	return ctx
}

// run starts jobs and returns their runs, which live.
func (h *testHost) run(refs ...string) []job.Run {
	h.t.Helper()
	runs, err := h.client.Run(h.context(), api.RunRequest{Refs: refs, Force: true})
	if err != nil {
		h.t.Fatal(err)
	}
	if len(runs) == 0 {
		h.t.Fatalf("nothing was started for %q", refs)
	}
	return runs
}

// do runs one job to its end.
func (h *testHost) do(ref string) (job.Run, string) {
	h.t.Helper()
	return h.ended(h.run(ref)[0].ID)
}

// follow reads what a run prints until enough of it is there or the run has
// ended, across daemons that follow one another.
func (h *testHost) follow(id job.RunID, enough func(text string) bool) (text string, ended bool) {
	h.t.Helper()
	for end := time.Now().Add(hostPatience); time.Now().Before(end); {
		var b strings.Builder
		for e, err := range h.client.Output(h.context(), id.String(), true) {
			switch {
			case err != nil: // its daemon went, or another is not there yet
			case e.Chunk != nil && e.Chunk.Cut > 0:
				fmt.Fprintf(&b, "[cut %d]", e.Chunk.Cut)
				b.Write(e.Chunk.Data)
			case e.Chunk != nil:
				b.Write(e.Chunk.Data)
			}
			if enough(b.String()) {
				return b.String(), false
			}
		}
		r, err := h.client.OneRun(h.context(), id.String())
		if err == nil && !r.State.Live() {
			return b.String(), true
		}
	}
	h.t.Fatalf("run %d goes on and on, or prints too little", id)
	return "", false
}

// process waits until the daemon has written down the start of a run, which can be after the run's
// first output, and returns its process.
func (h *testHost) process(id job.RunID) int {
	h.t.Helper()
	for end := time.Now().Add(hostPatience); time.Now().Before(end); {
		if r, err := h.client.OneRun(h.context(), id.String()); err == nil && r.PID > 1 {
			return r.PID
		}
	}
	h.t.Fatalf("run %d has no process", id)
	return 0
}

// printed waits until a run has printed a text, and its start is written down.
func (h *testHost) printed(id job.RunID, want string) {
	h.t.Helper()
	got, ended := h.follow(id, func(text string) bool { return strings.Contains(text, want) })
	if ended && !strings.Contains(got, want) {
		r, _ := h.client.OneRun(h.context(), id.String())
		h.t.Fatalf("run %d ended (%v) and printed %q, want %q in it", id, r.Outcome, got, want)
	}
	h.process(id)
}

// ended waits for the end of a run and returns it with all that it printed.
func (h *testHost) ended(id job.RunID) (job.Run, string) {
	h.t.Helper()
	h.follow(id, func(string) bool { return false })
	r, err := h.client.OneRun(h.context(), id.String())
	if err != nil {
		h.t.Fatal(err)
	}
	var b strings.Builder
	for e, err := range h.client.Output(h.context(), id.String(), false) {
		if err != nil {
			h.t.Fatal(err)
		}
		if e.Chunk != nil {
			if e.Chunk.Cut > 0 {
				fmt.Fprintf(&b, "[cut %d]", e.Chunk.Cut)
			}
			b.Write(e.Chunk.Data)
		}
	}
	return r, b.String()
}

// wantRun checks how a run ended and what it printed.
func (h *testHost) wantRun(id job.RunID, outcome, output string) job.Run {
	h.t.Helper()
	r, got := h.ended(id)
	if r.Outcome.String() != outcome || got != output {
		h.t.Errorf("run %d of %s: %v, output %q; want %s, %q", id, r.Job, r.Outcome, got, outcome, output)
	}
	return r
}

func (h *testHost) status() api.Status {
	h.t.Helper()
	s, err := h.client.Status(h.context())
	if err != nil {
		h.t.Fatal(err)
	}
	return s
}

func (h *testHost) reload() {
	h.t.Helper()
	if _, err := h.client.Reload(h.context()); err != nil {
		h.t.Logf("reload: %v", err) // it reports rejected files
	}
}

// records collects what happens to jobs from now on.
type records struct {
	t    testing.TB
	item chan job.Record
}

// watch begins before it returns: the daemon answers with a header when the
// caller will miss nothing.
func (h *testHost) watch() *records {
	h.t.Helper()
	w := &records{t: h.t, item: make(chan job.Record, 100_000)}
	dial := func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", h.path("run/cronring/s"))
	}
	client := &http.Client{Transport: &http.Transport{DialContext: dial}}
	h.t.Cleanup(client.CloseIdleConnections)
	answer, err := client.Get("http://cronring/v1/events")
	if err != nil {
		h.t.Fatal(err)
	}
	h.t.Cleanup(func() { answer.Body.Close() })
	go func() {
		for lines := json.NewDecoder(answer.Body); ; {
			var e api.Event
			if lines.Decode(&e) != nil {
				return
			}
			if e.Record != nil {
				w.item <- *e.Record
			}
		}
	}()
	return w
}

// await waits for a record.
func (w *records) await(what string, is func(job.Record) bool) job.Record {
	w.t.Helper()
	late := time.After(hostPatience)
	for {
		select {
		case r := <-w.item:
			if is(r) {
				return r
			}
		case <-late:
			w.t.Fatalf("no record: %s", what)
		}
	}
}

// fakeManager is a service manager: it receives the daemon's messages and keeps descriptors for
// the next daemon.
type fakeManager struct {
	t    testing.TB
	path string
	conn *net.UnixConn

	mu    sync.Mutex
	heard []string
	seen  int
	more  chan struct{}
	store []stored
	gives bool // what is stored is given to the next daemon
}

type stored struct {
	name string
	file *os.File
}

// withManager has the daemons of a host run under a service manager.
func (h *testHost) withManager() *fakeManager {
	h.t.Helper()
	m := &fakeManager{t: h.t, path: h.path("notify"), more: make(chan struct{}), gives: true}
	conn, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: m.path, Net: "unixgram"})
	if err != nil {
		h.t.Fatal(err)
	}
	m.conn = conn
	h.t.Cleanup(func() { conn.Close() })
	go m.listen()
	h.manager = m
	return m
}

func (m *fakeManager) listen() {
	data, rights := make([]byte, 64<<10), make([]byte, 4096)
	for {
		n, rn, _, _, err := m.conn.ReadMsgUnix(data, rights)
		if err != nil {
			return
		}
		var fds []int
		messages, _ := unix.ParseSocketControlMessage(rights[:rn])
		for i := range messages {
			some, _ := unix.ParseUnixRights(&messages[i])
			fds = append(fds, some...)
		}
		m.take(string(data[:n]), fds)
	}
}

func (m *fakeManager) take(text string, fds []int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	_, name, _ := strings.Cut(text, "FDNAME=")
	name, _, _ = strings.Cut(name, "\n")
	switch {
	case strings.HasPrefix(text, "FDSTORE=1"):
		for _, fd := range fds {
			syscall.CloseOnExec(fd)
			m.store = append(m.store, stored{name, os.NewFile(uintptr(fd), name)})
		}
	case strings.HasPrefix(text, "FDSTOREREMOVE=1"):
		m.store = slices.DeleteFunc(m.store, func(s stored) bool {
			if s.name == name {
				s.file.Close()
			}
			return s.name == name
		})
	}
	m.heard = append(m.heard, text)
	close(m.more)
	m.more = make(chan struct{})
}

// hears waits for the next message with a prefix.
func (m *fakeManager) hears(text string) string {
	m.t.Helper()
	late := time.After(hostPatience)
	for {
		m.mu.Lock()
		for m.seen < len(m.heard) {
			message := m.heard[m.seen]
			m.seen++
			if strings.HasPrefix(message, text) {
				m.mu.Unlock()
				return message
			}
		}
		more := m.more
		m.mu.Unlock()
		select {
		case <-more:
		case <-late:
			m.t.Fatalf("the service manager did not hear %q", text)
		}
	}
}

// keeps waits until a condition of the names in the store holds.
func (m *fakeManager) keeps(what string, is func(names []string) bool) {
	m.t.Helper()
	late := time.After(hostPatience)
	for {
		m.mu.Lock()
		var names []string
		for _, s := range m.store {
			names = append(names, s.name)
		}
		more := m.more
		m.mu.Unlock()
		if is(names) {
			return
		}
		select {
		case <-more:
		case <-late:
			m.t.Fatalf("the store has %q, want %s", names, what)
		}
	}
}

// catchUp waits until all messages are received that were sent until now.
func (m *fakeManager) catchUp() {
	m.t.Helper()
	conn, err := net.DialUnix("unixgram", nil, &net.UnixAddr{Name: m.path, Net: "unixgram"})
	if err != nil {
		m.t.Fatal(err)
	}
	defer conn.Close()
	last := fmt.Sprint("BARRIER=", time.Now().UnixNano())
	if _, err := conn.Write([]byte(last)); err != nil {
		m.t.Fatal(err)
	}
	for {
		m.mu.Lock()
		more, received := m.more, slices.Contains(m.heard, last)
		m.mu.Unlock()
		if received {
			return
		}
		<-more
	}
}

// empty drops what is stored, as happens when a service is stopped.
func (m *fakeManager) empty() {
	m.catchUp()
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, s := range m.store {
		s.file.Close()
	}
	m.store = nil
}

// prepare passes copies of the stored descriptors to a daemon.
func (m *fakeManager) prepare(cmd *exec.Cmd) {
	m.catchUp()
	m.mu.Lock()
	defer m.mu.Unlock()
	cmd.Env = append(cmd.Env, "NOTIFY_SOCKET="+m.path)
	if len(m.store) == 0 || !m.gives {
		return
	}
	var names []string
	for _, s := range m.store {
		fd, err := unix.FcntlInt(s.file.Fd(), unix.F_DUPFD_CLOEXEC, 3)
		if err != nil {
			m.t.Fatal(err)
		}
		names = append(names, s.name)
		cmd.ExtraFiles = append(cmd.ExtraFiles, os.NewFile(uintptr(fd), s.name))
	}
	cmd.Env = append(cmd.Env, fmt.Sprint("LISTEN_FDS=", len(names)), "LISTEN_FDNAMES="+strings.Join(names, ":"))
	cmd.Args = append([]string{"/bin/sh", "-c", `LISTEN_PID=$$ exec "$0" "$@"`}, append([]string{cmd.Path}, cmd.Args[1:]...)...)
	cmd.Path = "/bin/sh"
}

// shims are the processes of shims of this host.
func (h *testHost) shims() (pids []int) {
	h.t.Helper()
	procs, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		h.t.Fatal(err)
	}
	for _, file := range procs {
		line, err := os.ReadFile(file)
		if err != nil || string(line) != shim.Name+"\x00" {
			continue
		}
		var pid int
		if _, err := fmt.Sscanf(file, "/proc/%d/", &pid); err == nil && h.holdsStderr(pid) {
			pids = append(pids, pid)
		}
	}
	return pids
}

// holdsStderr reports whether a process has the standard error of this host's daemons. Each host
// has its own.
func (h *testHost) holdsStderr(pid int) bool {
	fds, err := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", pid))
	if err != nil {
		return false
	}
	inode := h.socketInode()
	return slices.ContainsFunc(fds, func(fd string) bool {
		to, err := os.Readlink(fd)
		return err == nil && inode != "" && to == "socket:["+inode+"]"
	})
}

// socketInode finds the shim's socket in the kernel's list.
func (h *testHost) socketInode() string {
	list, err := os.ReadFile("/proc/net/unix")
	if err != nil {
		return ""
	}
	path := shim.Socket(h.path("run/cronring/runs"))
	for line := range strings.Lines(string(list)) {
		if f := strings.Fields(line); len(f) == 8 && f[7] == path {
			return f[6]
		}
	}
	return ""
}

// gone waits for the end of a process, however it ends and whosever child it
// is.
func gone(t testing.TB, pid int) {
	t.Helper()
	fd, err := unix.PidfdOpen(pid, 0)
	if errors.Is(err, unix.ESRCH) {
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fd)
	n, err := 0, error(unix.EINTR)
	for err == unix.EINTR {
		n, err = unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, int(hostPatience/time.Millisecond))
	}
	if err != nil || n != 1 {
		t.Fatalf("process %d does not end: %d, %v", pid, n, err)
	}
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return !errors.Is(err, fs.ErrNotExist)
}

// newest is the newest run of a job.
func (h *testHost) newest(ref string) job.Run {
	h.t.Helper()
	r, err := h.client.OneRun(h.context(), ref+"@last")
	if err != nil {
		h.t.Fatal(err)
	}
	return r
}

// hasWords chooses problems that speak of something.
func hasWords(words string) func(api.Problem) bool {
	return func(p api.Problem) bool { return strings.Contains(p.What+" "+p.Why, words) }
}
