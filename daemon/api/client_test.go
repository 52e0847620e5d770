package api

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/cronring/cronring/daemon/hosttest"
	"github.com/cronring/cronring/daemon/job"
)

// answering listens on a socket and writes the same bytes to every client.
func answering(t *testing.T, answer string) *Client {
	t.Helper()
	path := filepath.Join(t.TempDir(), "s")
	l, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			c.Read(make([]byte, 1<<16))
			io.WriteString(c, answer)
			c.Close()
		}
	}()
	c := Dial(path)
	t.Cleanup(c.Close)
	return c
}

func TestClientWithStrangeAnswers(t *testing.T) {
	for _, test := range []struct{ name, answer, want string }{
		{"nothing", "", "the connection ended before the answer"},
		{"no HTTP", "SSH-2.0-OpenSSH_9.2\r\n", "does not answer"},
		{"no JSON", "HTTP/1.1 502 Bad Gateway\r\nContent-Length: 4\r\n\r\noops", "cannot see the status: the answer was 502 Bad Gateway"},
		{"JSON of another kind", "HTTP/1.1 500 x\r\nContent-Length: 2\r\n\r\n{}", "the answer was 500 x"},
		{"an error", "HTTP/1.1 409 x\r\nConnection: close\r\n\r\n" + `{"v":1,"error":"cannot x","why":"y","kind":"conflict"}`, "cannot x: y"},
		{"an error that names the request", "HTTP/1.1 403 x\r\nConnection: close\r\n\r\n" + `{"v":1,"error":"cannot GET /v1/status: it needs the role admin","kind":"not-allowed"}`, "cannot see the status: it needs the role admin"},
		{"an error inside the daemon", "HTTP/1.1 500 x\r\nConnection: close\r\n\r\n" + `{"v":1,"error":"cannot answer","why":"the disk is full","kind":"internal"}`, "cannot see the status: the disk is full"},
		{"a cut document", "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{\"v\":1,", "read answer of /v1/status"},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, err := answering(t, test.answer).Status(context.Background())
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("Status: %v, want %q", err, test.want)
			}
		})
	}
}

// A list is decoded row by row, and no part of one passes for all of it.
func TestListThatIsCut(t *testing.T) {
	const row = `{"job":{"id":"a"},"state":"ok"}`
	for body, want := range map[string]int{
		"": -1, `{"v":1,`: -1, `{"v":1}`: -1, `{"v":1,"jobs":[`: -1, `{"v":1,"jobs":[` + row: -1, `{"v":1,"jobs":[` + row + `,{"job"`: -1,
		`{"v":1,"jobs":[]}`: 0, `{"v":1,"jobs":null}`: 0, `{"v":1,"jobs":[` + row + "," + row + "]}\n": 2,
	} {
		jobs, err := answering(t, "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n"+body).List(t.Context(), Query{})
		if (err == nil) != (want >= 0) || len(jobs) != max(want, 0) || want > 0 && jobs[1].State != "ok" {
			t.Errorf("List of %q: %v, %v; want %d jobs, or an error if -1", body, jobs, err, want)
		}
	}
}

func TestStreamThatIsCut(t *testing.T) {
	for _, test := range []struct{ name, body, want string }{
		{"in a line", `{"gap":{"lo`, "does not answer"},
		{"by an error", `{"gap":{"lost":1}}` + "\n" + `{"error":{"v":1,"error":"no more","kind":"internal"}}` + "\n", "no more"},
		{"at its end", `{"gap":{"lost":1}}` + "\n", ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			c := answering(t, "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n"+test.body)
			var last error
			for _, err := range c.Events(context.Background()) {
				last = err
			}
			if test.want == "" && last != nil || test.want != "" && (last == nil || !strings.Contains(last.Error(), test.want)) {
				t.Errorf("the stream ended with %v, want %q", last, test.want)
			}
		})
	}
}

// The end of the caller's own ctx is not the daemon's trouble.
func TestClientEndsWithContext(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_, err := answering(t, "").Status(ctx)
	if !errors.Is(err, context.Canceled) || KindOf(err) == Unreachable {
		t.Errorf("Status: %v, want the ctx's error", err)
	}
}

// A socket of the service manager exists although no process accepts connections.
func TestClientWaitsForNoDaemonForEver(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s")
	l, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	c := Dial(path)
	c.patience = 20 * time.Millisecond
	_, err = c.Status(t.Context())
	if KindOf(err) != Unreachable || !strings.Contains(err.Error(), "no answer in time") {
		t.Errorf("error %v (%s), want that no answer came", err, KindOf(err))
	}
}

// listenAs listens on a socket as another user: the kernel reports the listener's uid to clients.
// It reports each connection that received data.
func listenAs(t *testing.T, uid int, heard chan<- string) (path string) {
	t.Helper()
	dir, err := os.MkdirTemp("", "listen")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	path = filepath.Join(dir, "s")
	made := make(chan error, 1)
	var l net.Listener
	go func() {
		runtime.LockOSThread() // never unlocked: the thread ends with the goroutine
		_, _, errno := syscall.RawSyscall(syscall.SYS_SETRESUID, ^uintptr(0), uintptr(uid), ^uintptr(0))
		if errno != 0 {
			made <- errno
			return
		}
		var err error
		l, err = net.Listen("unix", path)
		made <- err
	}()
	if err := <-made; err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	if err := os.Chmod(path, 0o777); err != nil {
		t.Fatal(err)
	}
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			text := make([]byte, 1<<10)
			if n, _ := c.Read(text); n > 0 {
				heard <- string(text[:n])
			}
			c.Close()
		}
	}()
	return path
}

// A client sends nothing to the daemon of another user. A user may connect to root's daemon and
// their own, and root only to root's.
func TestClientRefusesDaemonsOfOtherUsers(t *testing.T) {
	hosttest.Root(t, "only root can be another user")
	const ann, bob = 20001, 20002
	heard := make(chan string, 100)
	sockets := map[int]string{0: listenAs(t, 0, heard), ann: listenAs(t, ann, heard), bob: listenAs(t, bob, heard)}
	for _, test := range []struct {
		caller, listener int
		accepted         bool
	}{
		{0, 0, true}, {0, ann, false}, {ann, 0, true}, {ann, ann, true}, {ann, bob, false},
	} {
		path := sockets[test.listener]
		conn, err := net.Dial("unix", path)
		if err != nil {
			t.Fatal(err)
		}
		err = checkOwner(conn.(*net.UnixConn), path, test.caller)
		conn.Close()
		if test.accepted != (err == nil) || err != nil && (KindOf(err) != NotAllowed || !strings.Contains(err.Error(), fmt.Sprint("uid ", test.listener))) {
			t.Errorf("uid %d asks a daemon of uid %d: %v, want accepted %t", test.caller, test.listener, err, test.accepted)
		}
	}
	// A socket of root in a place where another user put it is not enough.
	link := filepath.Join(filepath.Dir(sockets[ann]), "link")
	if err := errors.Join(os.Symlink(sockets[0], link), os.Lchown(link, ann, ann)); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{sockets[ann], link} {
		c := Dial(path)
		_, err := c.Pause(t.Context(), PauseRequest{Refs: []string{"secret"}})
		if KindOf(err) != NotAllowed {
			t.Errorf("root asks through %s: %v, want a refusal", path, err)
		}
		for _, err := range c.Events(t.Context()) {
			if KindOf(err) != NotAllowed {
				t.Errorf("root follows events through %s: %v, want a refusal", path, err)
			}
		}
	}
	select {
	case text := <-heard:
		t.Errorf("another user's daemon received %q", text)
	default:
	}
	c := Dial(sockets[0])
	c.Health(t.Context()) // the fake daemon closes the connection, but it is asked
	if text := <-heard; !strings.HasPrefix(text, "GET /v1/health") {
		t.Errorf("root's daemon received %q", text)
	}
}

func TestFindSocket(t *testing.T) {
	env := func(pairs ...string) func(string) string {
		return func(name string) string {
			for i := 0; i < len(pairs); i += 2 {
				if pairs[i] == name {
					return pairs[i+1]
				}
			}
			return ""
		}
	}
	if got := FindSocket(env("CRONRING_SOCKET", "/x/y", "HOME", "/root")); got != "/x/y" {
		t.Errorf("FindSocket with CRONRING_SOCKET: %s", got)
	}
	user := findSocket(env("HOME", "/home/ann"), 1000)
	if _, err := os.Lstat(SystemSocket); err != nil && user != "/home/ann/.local/state/cronring/cronring.sock" {
		t.Errorf("FindSocket of a user without a system daemon: %s", user)
	}
	// sudo can keep the environment of its caller.
	if got := findSocket(env("HOME", "/home/ann", "XDG_STATE_HOME", "/home/ann/st", "XDG_RUNTIME_DIR", "/run/user/1000"), 0); got != SystemSocket {
		t.Errorf("FindSocket of root: %s, want %s", got, SystemSocket)
	}
	if got, want := UserSocket(env("XDG_STATE_HOME", "/st", "HOME", "/root")), "/st/cronring/cronring.sock"; got != want {
		t.Errorf("UserSocket with XDG_STATE_HOME: %s, want %s", got, want)
	}
	if got, want := UserSocket(env("HOME", "/home/ann")), "/home/ann/.local/state/cronring/cronring.sock"; got != want {
		t.Errorf("UserSocket: %s, want %s", got, want)
	}
}

// Without a daemon the error names all sockets that were tried, and how to start the daemon on
// a host, in a clone and in a container.
func TestNoDaemonNamesSocketsAndStart(t *testing.T) {
	t.Setenv("HOME", t.TempDir())
	t.Setenv("XDG_STATE_HOME", "")
	own := UserSocket(os.Getenv)
	_, err := Dial(own).Status(t.Context())
	e, ok := errors.AsType[*Error](err)
	if !ok || e.Kind != Unreachable || !strings.Contains(e.Why, "(tried "+SystemSocket+" and "+own+")") {
		t.Errorf("without a daemon: got %+v, want both sockets", err)
	}
	if want := "systemctl start cronring    or in a clone: make run    or in a container: cronringd FILE...    or name its socket: --socket PATH"; ok && e.Fix != want {
		t.Errorf("without a daemon: got fix %q, want %q", e.Fix, want)
	}
	named := filepath.Join(t.TempDir(), "s")
	_, err = Dial(named).Status(t.Context())
	if e, ok := errors.AsType[*Error](err); !ok || !strings.Contains(e.Why, "(tried "+named+")") || !strings.HasPrefix(e.Fix, "cronringd FILE...    ") {
		t.Errorf("a named socket: got %+v, want it alone", err)
	}
}

// The address of a program that has ended can be taken by another user.
func TestConnectOwnRefusesOtherUsers(t *testing.T) {
	l, err := net.Listen("unix", "")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	for uid, want := range map[int]bool{os.Geteuid(): true, os.Geteuid() + 1: false} {
		conn, err := connectOwn(t.Context(), l.Addr().String(), uid)
		if (err == nil) != want {
			t.Errorf("as uid %d: got error %v, want a connection: %t", uid, err, want)
		}
		if err == nil {
			conn.Close()
		}
	}
}

// body answers each request with the same text.
type body struct {
	status int
	text   []byte
}

func (b body) RoundTrip(r *http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: b.status, Status: fmt.Sprint(b.status), Body: io.NopCloser(bytes.NewReader(b.text)), Request: r}, nil
}

// collect reads a stream, and returns its events as JSON.
func collect(t *testing.T, text []byte) (events [][]byte, err error) {
	t.Helper()
	c := Client{remote: true, http: &http.Client{Transport: body{http.StatusOK, text}}, patience: answerTime}
	for e, failed := range c.Output(t.Context(), "7", true) {
		if err != nil {
			t.Fatalf("%q: an event follows the error %v", text, err)
		}
		if err = failed; err != nil {
			continue
		}
		if r := e.Record; r != nil {
			_ = r.Words()
		}
		if r := e.Record; r != nil && r.Run != nil {
			_ = r.Run.Ending()
		}
		again, err := json.Marshal(e)
		if err != nil {
			t.Fatalf("%q: write event again: %v", text, err)
		}
		events = append(events, again)
	}
	return events, err
}

// endless answers with JSON that has no end: head, and then rest again and again.
type endless struct{ head, rest string }

func (e endless) RoundTrip(r *http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: http.StatusOK, Body: io.NopCloser(io.MultiReader(strings.NewReader(e.head), &repeated{text: e.rest})), Request: r}, nil
}

type repeated struct {
	text string
	at   int
}

func (r *repeated) Read(p []byte) (int, error) {
	n := copy(p, r.text[r.at:])
	r.at = (r.at + n) % len(r.text)
	return n, nil
}

// What answers on another host can send without an end. Only the length of a stream is not limited.
func TestEndlessAnswerIsAnError(t *testing.T) {
	client := func(head, rest string) *Client {
		return &Client{remote: true, http: &http.Client{Transport: endless{head, rest}}, patience: answerTime, longest: 1 << 16}
	}
	_, err := client(`{"jobs":[`, `{"id":"x"},`).List(t.Context(), Query{})
	if !errors.Is(err, errTooLong) {
		t.Errorf("a list without an end: %v", err)
	}
	if _, err = client(`{"job":"`, "x").Why(t.Context(), "x", time.Time{}); !errors.Is(err, errTooLong) {
		t.Errorf("a text without an end: %v", err)
	}
	if _, err = client("", "x").Metrics(t.Context(), MetricsQuery{}); err == nil {
		t.Error("metrics without an end are read")
	}
	events, failed := 0, error(nil)
	for _, err := range client("", `{"gap":{"lost":3}}`+"\n").Events(t.Context()) {
		if events++; err != nil || events == 100_000 { // 1.9 MB
			failed = err
			break
		}
	}
	if failed != nil || events != 100_000 {
		t.Errorf("%d events, then %v", events, failed)
	}
	for _, err := range client(`{"gap":{"lost":"`, "x").Events(t.Context()) {
		if failed = err; err == nil {
			t.Error("an event without an end is read")
		}
	}
	if failed == nil || !strings.Contains(failed.Error(), errTooLong.Error()) {
		t.Errorf("an event without an end: %v", failed)
	}
}

// FuzzAnswers reads any answer of a hostile daemon on another host.
func FuzzAnswers(f *testing.F) {
	at := time.Date(2026, 11, 22, 8, 0, 0, 0, time.UTC)
	run := job.Run{ID: 7, Job: "etl", State: job.RunEnded, Started: at, Ended: at, Outcome: job.Outcome{Kind: job.Signalled, Signal: 9}}
	for _, document := range []any{
		Event{Chunk: &job.Chunk{Job: "etl", Run: 7, At: at, Stream: job.Stderr, Data: []byte("x\n")}}, Event{Record: &job.Record{Kind: job.Ended, Run: &run}},
		Event{Gap: &Gap{Lost: 3}}, Event{Error: &Error{V: Version, Kind: Internal, What: "no more"}}, Error{V: Version, Kind: Conflict, What: "cannot GET /v1/why: no"},
		Why{V: Version, Job: "etl", At: at, Run: &run, Steps: []Step{{Name: job.StepSchedule, State: Crossed}}}, Run{V: Version, Run: run}, Status{Health: Health{V: Version}, Now: at},
		map[string]any{"v": Version, "jobs": []job.Status{{Job: job.Job{ID: "etl"}, State: job.StateOK, Running: []job.Run{run}}}}, Ring{Members: []Member{{ID: "a", Labels: map[string]string{"a": "b"}}}},
	} {
		text, err := json.Marshal(document)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
		f.Add(append(append(text, '\n'), text[:len(text)-1]...))
	}
	f.Add([]byte(`{"jobs":[null,{},[]`))
	f.Fuzz(func(t *testing.T, text []byte) {
		events, err := collect(t, text)
		if again, errAgain := collect(t, bytes.Join(events, nil)); errAgain != nil || !slices.EqualFunc(again, events, bytes.Equal) {
			t.Errorf("read %q, written and read again %q, %v", events, again, errAgain)
		}
		if more, errMore := collect(t, append(text[:len(text):len(text)], "\n\x00"...)); err == nil && (errMore == nil || !slices.EqualFunc(more, events, bytes.Equal)) {
			t.Errorf("%q has %q, with a wrong line after it %q, %v", text, events, more, errMore)
		}
		c := Client{remote: true, http: &http.Client{Transport: body{http.StatusOK, text}}, patience: answerTime}
		if why, err := c.Why(t.Context(), "etl", at); err == nil {
			_ = why.Sum()
		}
		if run, err := c.OneRun(t.Context(), "7"); err == nil {
			_, _ = run.Ending(), run.Failed()
		}
		_, _ = c.Status(t.Context())
		if jobs, err := c.List(t.Context(), Query{}); len(jobs) > len(text) || err != nil && jobs != nil {
			t.Errorf("%q has %d jobs, error %v", text, len(jobs), err)
		}
		if ring, err := c.Ring(t.Context()); err == nil {
			for i := range ring.Members {
				_ = ring.Members[i].LabelsText()
			}
			if up := ring.Up(); up > len(ring.Members) {
				t.Errorf("%q: %d of %d members are up", text, up, len(ring.Members))
			}
		}
		c.http.Transport = body{http.StatusConflict, text}
		_, err = c.Why(t.Context(), "etl", at)
		if e, ok := errors.AsType[*Error](err); !ok || e.What == "" || e.Kind == "" || e.Kind.Exit() == 0 {
			t.Errorf("the refusal %q is read as %#v", text, err)
		}
	})
}
