package server

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cronring/cronring/daemon/api"
	"github.com/cronring/cronring/daemon/job"
)

// send writes bytes to a new connection and returns the whole answer.
func send(t *testing.T, path, text string) *http.Response {
	t.Helper()
	c := connect(t, path)
	go io.WriteString(c, text) // the server may answer before it has read all
	response, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		t.Fatalf("no answer to %.80q: %v", text, err)
	}
	return response
}

func connect(t *testing.T, path string) net.Conn {
	t.Helper()
	c, err := net.DialTimeout("unix", path, patience)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	c.SetDeadline(time.Now().Add(patience))
	return c
}

func post(path, body string) string {
	return fmt.Sprintf("POST %s HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n%s", path, len(body), body)
}

func TestMalformedRequests(t *testing.T) {
	path := newWorld(t, etlCrontab).serve()
	get := func(target string) string { return "GET " + target + " HTTP/1.1\r\nHost: x\r\n\r\n" }
	for _, test := range []struct {
		name, request string
		status        int
	}{
		{"no such path", get("/v2/jobs"), 400},
		{"wrong method", get("/v1/pause"), 400},
		{"path that climbs", get("/v1/../../etc/passwd"), 307},
		{"no job", get("/v1/job"), 400},
		{"no such set", get("/v1/jobs?job=@nobody"), 400},
		{"pattern without end", get("/v1/jobs?job=%5Ba"), 400},
		{"time that is none", get("/v1/why?job=old&at=yesterday"), 400},
		{"number that is none", get("/v1/runs?limit=many"), 400},
		{"negative number", get("/v1/runs?limit=-1"), 400},
		{"flag that is none", get("/v1/runs?failed=perhaps"), 400},
		{"run number beyond bounds", get("/v1/run?run=99999999999999999999"), 404},
		{"empty body", post("/v1/run", ""), 400},
		{"body that is no JSON", post("/v1/run", "{"), 400},
		{"body of another type", post("/v1/run", `["a"]`), 400},
		{"unknown field", post("/v1/run", `{"jobs":["old"],"later":true}`), 400},
		{"two documents", post("/v1/run", `{"jobs":["old"]}{}`), 400},
		{"huge body", post("/v1/run", `{"jobs":["`+strings.Repeat("a", 2<<20)+`"]}`), 400},
		{"huge header", "GET /v1/status HTTP/1.1\r\nHost: x\r\nX: " + strings.Repeat("a", 1<<20) + "\r\n\r\n", 431},
		{"no HTTP", "hello\r\n\r\n", 400},
	} {
		t.Run(test.name, func(t *testing.T) {
			response := send(t, path, test.request)
			if response.StatusCode != test.status {
				t.Errorf("status %d, want %d", response.StatusCode, test.status)
			}
			if response.Header.Get("Content-Type") != "application/json" {
				return // net/http refused it before it came to us
			}
			var e api.Error
			if err := json.NewDecoder(response.Body).Decode(&e); err != nil || e.V != api.Version || e.What == "" || e.Kind == "" {
				t.Errorf("error document %+v, %v", e, err)
			}
		})
	}
}

// TestFaultOfABody closes connections after the answer: it must not get lost if the daemon has not
// parsed the whole body.
func TestFaultOfABody(t *testing.T) {
	path := newWorld(t, etlCrontab).serve()
	for body, want := range map[string]string{
		"":                         "it is empty",
		`{"jobs":`:                 "it ends within the document",
		`{"jobs":}`:                "it is not JSON, or too deeply nested, at byte 9",
		strings.Repeat("[", 20000): "it is not JSON, or too deeply nested, at byte 10001",
		`{"jobs":"x"}`:             "jobs cannot be a JSON string",
		`{"later":true}`:           `unknown field \"later\"`,
	} {
		c := connect(t, path)
		if _, err := io.WriteString(c, strings.Replace(post("/v1/run", body), "\r\n\r\n", "\r\nConnection: close\r\n\r\n", 1)); err != nil {
			t.Fatal(err)
		}
		if answer, err := io.ReadAll(c); err != nil || !strings.Contains(string(answer), `"why":"`+want+`"`) {
			t.Errorf("%.20s: got %s, error %v; want %s", body, answer, err, want)
		}
	}
}

// Connections that say nothing cost their account its own places only.
func TestSilentConnectionsDelayNobody(t *testing.T) {
	w := annsWorld(t)
	path := w.serve()
	openDirs(t, path)
	as(t, bobUID, func() {
		begun := time.Now()
		for range 2 * maxUserConns {
			connect(t, path)
		}
		if _, err := statusOn(path); err == nil && time.Since(begun) < headerTimeout { // else the first ones were closed
			t.Error("an account got more connections than it may have")
		}
	})
	as(t, annUID, func() {
		if _, err := statusOn(path); err != nil {
			t.Errorf("another account: %v", err)
		}
	})
	as(t, 0, func() {
		if _, err := statusOn(path); err != nil {
			t.Errorf("root: %v", err)
		}
	})
}

// Requests of a user are answered only so fast, also if they are cheap or wrong: reading those of many connections
// took all processors, so that jobs of all users started up to a second late.
func TestRequestsOfAUserAreAnsweredSlowly(t *testing.T) {
	w := annsWorld(t)
	path := w.serve()
	openDirs(t, path)
	took := func(uid, n int, request string) (d time.Duration) {
		as(t, uid, func() {
			c := connect(t, path)
			begun := time.Now()
			go io.WriteString(c, strings.Repeat(request, n))
			answers := bufio.NewReader(c)
			for i := range n {
				response, err := http.ReadResponse(answers, nil)
				if err != nil {
					t.Fatalf("answer %d: %v", i, err)
				}
				io.Copy(io.Discard, response.Body)
			}
			d = time.Since(begun)
		})
		return d
	}
	get := func(target string) string { return "GET " + target + " HTTP/1.1\r\nHost: x\r\n\r\n" }
	const least = 800 * time.Millisecond
	for what, test := range map[string]struct {
		n       int
		request string
	}{
		"cheap requests":        {1200, get("/v1/health")},
		"requests without path": {1200, get("/nothing")},
		"long bodies":           {6, post("/v1/emit", `{"env":[`+strings.Repeat(`"",`, 60_000)+`""]}`)},
		"long queries":          {40, get("/v1/health?" + strings.Repeat("&a", 15_000))},
		"many headers":          {12, "GET /v1/health HTTP/1.1\r\nHost: x\r\n" + strings.Repeat("a: b\r\n", 100) + "\r\n"},
	} {
		if d := took(bobUID, test.n, test.request); d < least {
			t.Errorf("%d %s took %v, want more than %v", test.n, what, d, least)
		}
	}
	if d := took(annUID, 10, get("/v1/health")); d > least {
		t.Errorf("ten requests of another user took %v", d)
	}
}

// Connections of uids that belong to no user take the places of one user only: one user can have thousands of
// such uids.
func TestConnectionsOfUnnamedUIDsDelayNobody(t *testing.T) {
	w := annsWorld(t)
	path := w.serve()
	openDirs(t, path)
	for uid := range maxNonAdminConns / maxUserConns {
		as(t, 165536+uid, func() {
			for range maxUserConns {
				connect(t, path)
			}
		})
	}
	as(t, bobUID, func() {
		if _, err := statusOn(path); err != nil {
			t.Errorf("a user: %v", err)
		}
	})
}

func TestListenerReservesConnectionsForAdmins(t *testing.T) {
	d := newLimitedListener(nil, nil, nil)
	now := instant(t, firstUp)
	guests := 0
	for uid := uint32(1); uid <= 100; uid++ {
		for d.admit(share{key: uid}, now) {
			guests++
		}
	}
	if guests != maxNonAdminConns {
		t.Errorf("%d guests, want %d", guests, maxNonAdminConns)
	}
	admin := 0
	for d.admit(share{admin: true}, now) {
		admin++
	}
	if admin != maxConns-maxNonAdminConns {
		t.Errorf("%d admin, want %d", admin, maxConns-maxNonAdminConns)
	}
	d.release(share{key: 1})
	if !d.admit(share{key: 1}, now) {
		t.Error("no room after somebody left")
	}
}

// A user that connects in a loop is refused for the rest of the second. Other
// users and admins are not.
func TestListenerLimitsNewConnections(t *testing.T) {
	d := newLimitedListener(nil, nil, nil)
	now := instant(t, firstUp)
	accepted := func(by share, n int) (accepted int) {
		for range n {
			if d.admit(by, now) {
				accepted++
				d.release(by)
			}
		}
		return accepted
	}
	if n := accepted(share{key: annUID}, 10*maxConnRate); n != maxConnRate {
		t.Errorf("ann made %d connections in a second, want %d", n, maxConnRate)
	}
	for _, by := range []share{{admin: true}, {key: bobUID}} {
		if n := accepted(by, maxConnRate); n != maxConnRate {
			t.Errorf("%+v made %d connections, want %d", by, n, maxConnRate)
		}
	}
	if n := accepted(share{admin: true}, 10*maxConnRate); n != 10*maxConnRate {
		t.Errorf("root made %d connections, want %d", n, 10*maxConnRate)
	}
	now = now.Add(time.Second)
	if n := accepted(share{key: annUID}, 10*maxConnRate); n != maxConnRate || len(d.recent) != 1 {
		t.Errorf("ann made %d connections in the next second, want %d; users counted: %d", n, maxConnRate, len(d.recent))
	}
}

// directory returns a directory service for a test: hasUser reports whether name was called for a uid.
func directory() (hasUser func(uint32) bool, name func(uint32) (string, error)) {
	var seen sync.Map
	return func(uid uint32) bool { _, ok := seen.Load(uid); return ok }, func(uid uint32) (string, error) {
		seen.Store(uid, true)
		return users.Name(uid)
	}
}

// Connections of a user whom a directory service returned after they were accepted count as the user's own.
func TestConnectionsAreMovedToTheirUser(t *testing.T) {
	s := annsWorld(t).server()
	s.hasUser, s.account = directory()
	d := newLimitedListener(nil, s.shareOf, nil)
	now := instant(t, firstUp)
	conns := make([]*limitedConn, maxUserConns)
	for i := range conns {
		if !d.admit(unnamed, now) {
			t.Fatalf("connection %d was refused", i+1)
		}
		conns[i] = &limitedConn{peer: &syscall.Ucred{Uid: annUID}, listener: d, by: unnamed}
	}
	if d.admit(unnamed, now) {
		t.Fatal("unnamed uids got more connections than one user may have")
	}
	for _, c := range conns {
		s.newCall(httptest.NewRecorder(), httptest.NewRequestWithContext(s.withCaller(t.Context(), c), "GET", "/v1/health", nil))
	}
	if !d.admit(unnamed, now) || d.admit(share{key: annUID}, now) {
		t.Errorf("connections are counted as %v, want as ann's", d.by)
	}
	for _, c := range conns {
		c.leave()
		c.named()
	}
	if d.by[share{key: annUID}] != 0 || d.nonAdmins != 1 {
		t.Errorf("after the end of ann's connections: %v, %d in all", d.by, d.nonAdmins)
	}
}

// Other uids that may belong to no user cannot lock out a user of a directory service: after a refused
// connection the user is looked up.
func TestRefusedUserIsLookedUp(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s")
	l, err := Listen(path)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	hasUser, name := directory()
	found := make(chan struct{}, 1)
	d := newLimitedListener(l, func(uid uint32) share {
		if hasUser(uid) {
			return share{key: uid}
		}
		return unnamed
	}, func(uid uint32) { name(uid); found <- struct{}{} })
	d.by[unnamed] = maxUserConns
	accepted := make(chan error, 1)
	go func() {
		c, err := d.Accept()
		if err == nil {
			c.Close()
		}
		accepted <- err
	}()
	if answer, err := io.ReadAll(connect(t, path)); err != nil || string(answer) != busyAnswer {
		t.Errorf("got %q, error %v; want that the connection is refused", answer, err)
	}
	await(t, "the lookup of the refused user", found)
	connect(t, path)
	if err := await(t, "the next connection of the user", accepted); err != nil {
		t.Error(err)
	}
}

// A user whose connections are refused receives the reason, for requests with and without a body, and
// package net/http prints nothing.
func TestRefusedConnectionHasAReason(t *testing.T) {
	printed := make(lines, 1)
	log.SetOutput(printed)
	t.Cleanup(func() { log.SetOutput(os.Stderr) })
	path := filepath.Join(t.TempDir(), "s")
	l, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	d := newLimitedListener(l, func(uint32) share { return share{} }, nil)
	d.nonAdmins = maxNonAdminConns
	refusing := make(chan error)
	go func() {
		_, err := d.Accept() // refuses until the listener is closed
		refusing <- err
	}()
	c := api.Dial(path)
	large := make([]byte, 1<<20)
	for range 100 {
		_, err := c.Status(t.Context())
		_, posted := c.InstallCrontabFile(t.Context(), api.CrontabFileRequest{Text: large})
		for _, err := range []error{err, posted} {
			if err == nil || !strings.Contains(err.Error(), "cronringd has too many connections") {
				t.Fatalf("got %v, want the reason", err)
			}
		}
	}
	l.Close()
	<-refusing
	c.Close()
	if len(printed) > 0 {
		t.Errorf("net/http printed %q", <-printed)
	}
}

// lines takes what is written, as far as there is room.
type lines chan string

func (l lines) Write(p []byte) (int, error) {
	select {
	case l <- string(p):
	default:
	}
	return len(p), nil
}

// A reader who does not read gets a Gap, and holds up neither the loop nor
// the end of the server.
func TestSlowReaderGetsGap(t *testing.T) {
	w := newWorld(t, etlCrontab)
	l, err := Listen(t.TempDir() + "/s")
	if err != nil {
		t.Fatal(err)
	}
	stop := w.serveOn(l, w.server())
	c := connect(t, l.Addr().String())
	io.WriteString(c, "GET /v1/events HTTP/1.1\r\nHost: x\r\n\r\n")
	await(t, "the subscriber", w.Subscribed)
	big := make([]byte, 64<<10)
	for range 1000 { // 64 MB, where the socket and the channel take less than 10
		w.Publish(api.Event{Chunk: &job.Chunk{Run: 1, Job: "old", Data: big}})
	}
	response, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		t.Fatal(err)
	}
	readGap(t, w, json.NewDecoder(response.Body))
	for range 1000 {
		w.Publish(api.Event{Chunk: &job.Chunk{Run: 1, Job: "old", Data: big}})
	}
	if err := stop(); err != nil { // returns, although the handler is stuck in a write
		t.Errorf("Serve: %v", err)
	}
}

// readGap reads a stream up to the first gap. It comes with the next event for
// which there is room.
func readGap(t *testing.T, w *world, lines *json.Decoder) {
	t.Helper()
	for {
		var e api.Event
		if err := lines.Decode(&e); err != nil {
			t.Fatalf("the stream ended before a gap: %v", err)
		}
		if e.Gap != nil {
			return
		}
		w.Publish(api.Event{Record: &job.Record{Kind: job.Loaded}})
	}
}

// A loop that answers nothing is waited for, but not for ever.
func TestMuteLoopIsGivenUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, etlCrontab)
		w.Mute = true
		status, text := w.walk(0, "POST", "/v1/pause", walked{body: `{"jobs":["certbot"]}`})
		if status != http.StatusInternalServerError || !strings.Contains(text, "10s") {
			t.Errorf("status %d, %s; want the daemon's own trouble after 10 s", status, text)
		}
	})
}

func TestStreamsEndWithServer(t *testing.T) {
	w := newWorld(t, etlCrontab)
	l, err := Listen(t.TempDir() + "/s")
	if err != nil {
		t.Fatal(err)
	}
	stop := w.serveOn(l, w.server())
	c := api.Dial(l.Addr().String())
	defer c.Close()
	ended := make(chan error)
	go func() {
		var last error
		for _, err := range c.Events(patient(t)) {
			last = err
		}
		ended <- last
	}()
	awaitSubscriber(t, w, ended)
	if err := stop(); err != nil {
		t.Errorf("Serve: %v", err)
	}
	if err := await(t, "the stream's end", ended); err != nil {
		t.Errorf("the stream ended with %v, want a plain end", err)
	}
}
