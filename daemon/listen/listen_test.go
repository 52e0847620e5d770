package listen

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cronring/cronring/crontab"
	"github.com/cronring/cronring/daemon/config"
	"github.com/cronring/cronring/daemon/engine"
	"github.com/cronring/cronring/daemon/engine/effect"
	"github.com/cronring/cronring/daemon/engine/event"
	"github.com/cronring/cronring/daemon/engine/view"
	"github.com/cronring/cronring/daemon/job"
)

// world is a daemon with one job of root's and one in ann's own crontab.
type world struct {
	*Server
	t       testing.TB
	now     time.Time
	tokens  map[string]config.Token
	asked   []event.Event
	refusal string // of the engine

	auditing sync.Mutex
	audited  []job.Action
}

func newWorld(t testing.TB) *world {
	x := engine.New(engine.State{})
	file, _ := crontab.Parse("/etc/cron.d/a", "#@ name=backup\n0 0 1 1 * ann true\n", crontab.Config{Format: crontab.System, Zone: time.LoadLocation})
	own, _ := crontab.Parse("/spool/ann", "#@ name=report\n0 0 1 1 * true\n", crontab.Config{Format: crontab.User, Owner: "ann", Zone: time.LoadLocation})
	w := &world{t: t, now: time.Date(2026, 11, 20, 0, 0, 0, 0, time.UTC)}
	x.Step(job.Moment{Wall: w.now, Up: time.Hour}, event.Load{Crontabs: []*crontab.File{file, own}})
	jobs := x.View()
	token := func(secret string, allow ...string) config.Token {
		return config.Token{Sum: sha256.Sum256([]byte(secret)), Allow: allow}
	}
	w.tokens = map[string]config.Token{
		"ci": token("ci-secret", "run:backup"), "ann": token("ann-secret", "run:ann/*"), "prom": token("prom-secret", "metrics"),
		"etl":    token("etl-secret", "emit:data-*", "emit:ann/ready"),
		"broken": {Sum: sha256.Sum256(nil), Allow: []string{"metrics", "run:*"}, Unread: "its file is not there"},
	}
	w.Server = New(Options{
		Tokens: func() map[string]config.Token { return w.tokens },
		View:   func() *view.View { return jobs },
		Ask: func(_ context.Context, e event.Event) (effect.Answer, error) {
			w.asked = append(w.asked, e)
			if w.refusal != "" {
				return effect.Answer{Err: &effect.Refusal{Reason: w.refusal}}, nil
			}
			if run, ok := e.(event.RunNow); ok {
				return effect.Answer{Runs: []job.Run{{ID: 57, Job: run.Job}}}, nil
			}
			return effect.Answer{Runs: make([]job.Run, 2)}, nil
		},
		Metrics: func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "cronring_up 1\n") },
		Audit: func(_ context.Context, a []job.Action) {
			w.auditing.Lock()
			defer w.auditing.Unlock()
			w.audited = append(w.audited, a...)
		},
		Now: func() time.Time { return w.now },
		Log: slog.New(slog.DiscardHandler),
	})
	return w
}

// send sends a request with a secret, and returns the answer.
func (w *world) send(method, path, secret, body string) (int, string) {
	r := httptest.NewRequest(method, path, strings.NewReader(body))
	if secret != "" {
		r.Header.Set("Authorization", secret)
	}
	recorder := httptest.NewRecorder()
	w.ServeHTTP(recorder, r)
	return recorder.Code, recorder.Body.String()
}

func TestTokensAllowWhatTheySay(t *testing.T) {
	for _, tc := range []struct {
		method, path, secret string
		want                 int
		audited              string // who and whether it was refused
	}{
		{"GET", "/healthz", "", 200, ""},
		{"GET", "/metrics", "Bearer prom-secret", 200, "token:prom false"},
		{"GET", "/metrics", "Bearer ci-secret", 403, "token:ci true"},
		{"GET", "/metrics", "", 401, " true"},
		{"GET", "/metrics", "Bearer ", 401, " true"},
		{"GET", "/metrics", "prom-secret", 401, " true"},
		{"GET", "/metrics", "Basic prom-secret", 401, " true"},
		{"POST", "/v1/jobs/backup/run", "Bearer ci-secret", 202, "token:ci false"},
		{"POST", "/v1/jobs/root/backup/run", "Bearer ci-secret", 202, "token:ci false"},
		{"POST", "/v1/jobs/backup/run", "Bearer ci-secret2", 401, " true"},
		{"POST", "/v1/jobs/backup/run", "Bearer ann-secret", 403, "token:ann true"},
		{"POST", "/v1/jobs/ann/report/run", "Bearer ann-secret", 202, "token:ann false"},
		{"POST", "/v1/jobs/ann%2Freport/run", "Bearer ann-secret", 202, "token:ann false"},
		{"POST", "/v1/jobs/report/run", "Bearer ann-secret", 403, "token:ann true"},
		{"POST", "/v1/jobs/backup/run", "Bearer prom-secret", 403, "token:prom true"},
		{"POST", "/v1/jobs/ann/other/run", "Bearer ann-secret", 404, "token:ann true"},
		{"GET", "/v1/jobs", "Bearer ci-secret", 403, "token:ci true"}, // of the control socket
		{"POST", "/v1/run", "Bearer ci-secret", 403, "token:ci true"},
		{"POST", "/v1/reload", "Bearer ci-secret", 403, "token:ci true"},
		{"POST", "/v1/reload", "", 401, " true"},
		{"GET", "/v1/jobs/backup/run", "Bearer ci-secret", 403, "token:ci true"},
		{"POST", "/v1/emit/data-ready", "Bearer etl-secret", 202, "token:etl false"},
		{"POST", "/v1/emit/ann/ready", "Bearer etl-secret", 202, "token:etl false"},
		{"POST", "/v1/emit/ann%2Fready", "Bearer etl-secret", 202, "token:etl false"},
		{"POST", "/v1/emit/bob/ready", "Bearer etl-secret", 403, "token:etl true"},
		{"POST", "/v1/emit/ready", "Bearer etl-secret", 403, "token:etl true"},
		{"POST", "/v1/emit/ann/data-ready", "Bearer etl-secret", 403, "token:etl true"},
		{"POST", "/v1/emit/data-ready", "Bearer ci-secret", 403, "token:ci true"},
		{"POST", "/v1/emit/backup", "Bearer ci-secret", 403, "token:ci true"},
		{"POST", "/v1/emit/data-%20", "Bearer etl-secret", 400, "token:etl true"},
		{"POST", "/v1/jobs/data-x/run", "Bearer etl-secret", 403, "token:etl true"},
	} {
		w := newWorld(t)
		status, text := w.send(tc.method, tc.path, tc.secret, "")
		got := ""
		for _, a := range w.audited {
			got += fmt.Sprint(a.Who, " ", a.Refused != "")
		}
		if status != tc.want || got != tc.audited || (len(w.asked) == 1) != (status == 202) {
			t.Errorf("%s %s with %q: %d %s, audit log %q; want %d, %q", tc.method, tc.path, tc.secret, status, text, got, tc.want, tc.audited)
		}
		if strings.Contains(text, "secret") || strings.Contains(fmt.Sprint(w.audited), "secret") {
			t.Errorf("a secret is told: %s %v", text, w.audited)
		}
	}
}

func TestRunBody(t *testing.T) {
	for body, want := range map[string]int{
		"": 202, `{"env":["A=1"]}`: 202, `{"force":true}`: 400, "nonsense": 400, `{"env":["1x"]}`: 400,
		`{"env":"A=1"}`: 400, `{"env":["A=1"]}{"env":[]}`: 400, `{"env":["A=1"]}]`: 400,
		`{"env":["A=` + strings.Repeat("x", maxBody) + `"]}`: 413,
	} {
		w := newWorld(t)
		if status, text := w.send("POST", "/v1/jobs/backup/run", "Bearer ci-secret", body); status != want || strings.Contains(text, "json:") || strings.Contains(text, "http:") {
			t.Errorf("%.30s: %d %s, want %d", body, status, text, want)
		}
		if len(w.audited) != 1 || (w.audited[0].Refused == "") != (want == 202) {
			t.Errorf("%.30s: the audit log has %+v", body, w.audited)
		}
		if want == 202 && (len(w.asked) != 1 || w.asked[0].(event.RunNow).By != "token:ci" || (body != "") != (len(w.asked[0].(event.RunNow).Env) == 1)) {
			t.Errorf("%.30s: asked %+v", body, w.asked)
		}
	}
}

func TestRefusalOfTheEngineIsInTheAuditLog(t *testing.T) {
	w := newWorld(t)
	w.refusal = "it is paused"
	status, text := w.send("POST", "/v1/jobs/backup/run", "Bearer ci-secret", "")
	if status != http.StatusConflict || !strings.Contains(text, "paused") || len(w.audited) != 1 || w.audited[0].Refused != w.refusal || w.audited[0].Owner != "ann" {
		t.Errorf("status %d, %s, audit log %+v", status, text, w.audited)
	}
}

// limited counts the entries of the audit log about calls beyond a limit.
func (w *world) limited() (n int) {
	for _, a := range w.audited {
		if strings.HasPrefix(a.Refused, "too many requests") {
			n++
		}
	}
	return n
}

// Calls without end take no right from other callers, and do not fill the audit log.
func TestRatesAreLimited(t *testing.T) {
	w := newWorld(t)
	refused := 0
	for range 1000 {
		if status, _ := w.send("GET", "/metrics", "Bearer guess", ""); status == http.StatusTooManyRequests {
			refused++
		}
	}
	if refused != 1000-burst*unauthenticatedRate || len(w.audited) != burst*unauthenticatedRate+1 || w.limited() != 1 {
		t.Errorf("%d requests of strangers are limited, %d in the audit log", refused, len(w.audited))
	}
	for secret, path := range map[string]string{"Bearer prom-secret": "/metrics", "Bearer ann-secret": "/metrics"} { // the second is not allowed
		w.audited = nil
		got := map[int]int{}
		for range 2 * burst * tokenRate {
			status, _ := w.send("GET", path, secret, "")
			got[status]++
		}
		if got[200]+got[403] != burst*tokenRate || got[http.StatusTooManyRequests] != burst*tokenRate || len(w.audited) != burst*tokenRate+1 || w.limited() != 1 {
			t.Errorf("statuses %v, %d in the audit log", got, len(w.audited))
		}
	}
	if status, _ := w.send("POST", "/v1/jobs/backup/run", "Bearer ci-secret", ""); status != 202 {
		t.Errorf("another token: status %d", status)
	}
	w.now = w.now.Add(time.Second)
	if status, _ := w.send("GET", "/metrics", "Bearer prom-secret", ""); status != 200 {
		t.Errorf("a second later: status %d", status)
	}
	w.now, w.audited = w.now.Add(noteEvery), nil
	for range 2 * burst * tokenRate {
		w.send("GET", "/metrics", "Bearer prom-secret", "")
	}
	if w.limited() != 1 {
		t.Errorf("a minute later: %d calls beyond the limit are in the audit log, want 1", w.limited())
	}
}

// serving runs the server until the test ends. It returns the address.
func (w *world) serving() string {
	w.t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		w.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(w.t.Context())
	done := make(chan error, 1)
	go func() { done <- w.serve(ctx, l) }()
	w.t.Cleanup(func() {
		cancel()
		if err := <-done; !errors.Is(err, http.ErrServerClosed) {
			w.t.Errorf("serve: %v", err)
		}
	})
	return l.Addr().String()
}

// Connections without a complete request, or with a body that does not end, are closed for new ones.
func TestSlowCallersBlockNobody(t *testing.T) {
	for _, begun := range []string{"GET /healthz HT", "GET /healthz HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\n", "POST /v1/jobs/backup/run HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\n"} {
		w := newWorld(t)
		address := w.serving()
		for range 3 * maxUnauthenticated {
			c, err := net.Dial("tcp", address)
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			if _, err := io.WriteString(c, begun); err != nil {
				t.Fatal(err)
			}
		}
		client := &http.Client{Transport: &http.Transport{}}
		r, err := http.NewRequest("POST", "http://"+address+"/v1/jobs/backup/run", nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Authorization", "Bearer ci-secret")
		response, err := client.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		response.Body.Close()
		if response.StatusCode != 202 {
			t.Errorf("%q: status %d", begun, response.StatusCode)
		}
		w.guests.mu.Lock()
		if n := len(w.guests.conns); n > maxUnauthenticated {
			t.Errorf("%q: %d connections are open", begun, n)
		}
		w.guests.mu.Unlock()
		client.CloseIdleConnections()
	}
}

// A token has a limited number of requests that wait for their body.
func TestActiveRequestsAreLimited(t *testing.T) {
	w := newWorld(t)
	for range maxActive {
		if ok, _ := w.enter("ci", tokenRate); !ok {
			t.Fatal("a request within the limit is refused")
		}
	}
	if status, _ := w.send("POST", "/v1/jobs/backup/run", "Bearer ci-secret", ""); status != http.StatusTooManyRequests || w.limited() != 1 {
		t.Errorf("status %d, audit log %+v", status, w.audited)
	}
	if status, _ := w.send("POST", "/v1/jobs/ann/report/run", "Bearer ann-secret", ""); status != 202 {
		t.Errorf("another token: status %d", status)
	}
}

func TestRunAwaitsItsAddress(t *testing.T) {
	w := newWorld(t)
	w.retry = time.Millisecond
	taken, err := net.Listen("tcp", fmt.Sprintf("127.%d.%d.%d:0", 1+rand.N(250), 1+rand.N(250), 1+rand.N(250))) // which nobody else takes once it is free
	if err != nil {
		t.Fatal(err)
	}
	reported := make(chan struct{})
	w.Log = slog.New(slog.NewTextHandler(closing(reported), nil))
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { w.Run(ctx, taken.Addr().String()); close(done) }()
	<-reported
	if err := w.Problem(); err == nil || !strings.Contains(err.Error(), "address already in use") {
		t.Errorf("problem %v", err)
	}
	taken.Close()
	var response *http.Response
	for response == nil { // until it listens
		response, _ = http.Get("http://" + taken.Addr().String() + "/healthz")
	}
	text, _ := io.ReadAll(response.Body)
	response.Body.Close()
	if string(text) != "ok\n" || w.Problem() != nil {
		t.Errorf("health: %q, problem %v", text, w.Problem())
	}
	cancel()
	<-done
}

// closing is a log that closes a channel at its first line.
func closing(c chan struct{}) io.Writer {
	var once sync.Once
	return writer(func(text []byte) (int, error) { once.Do(func() { close(c) }); return len(text), nil })
}

type writer func([]byte) (int, error)

func (w writer) Write(text []byte) (int, error) { return w(text) }

// TestEmitAsWhom: an event of a token is root's unless the path names a user, and its values cannot
// replace variables that change what a job does.
func TestEmitAsWhom(t *testing.T) {
	w := newWorld(t)
	for path, want := range map[string]event.Emit{
		"/v1/emit/data-ready": {Name: "data-ready", User: "root", Admin: true, By: "token:etl", Env: []string{"CRONRING_EVENT_PATH=/tmp"}},
		"/v1/emit/ann/ready":  {Name: "ready", User: "ann", By: "token:etl", Env: []string{"CRONRING_EVENT_PATH=/tmp"}},
	} {
		w.asked = nil
		status, text := w.send("POST", path, "Bearer etl-secret", `{"env":["PATH=/tmp"]}`)
		if len(w.asked) != 1 || !reflect.DeepEqual(w.asked[0], want) || status != http.StatusAccepted || strings.Contains(text, "57") {
			t.Errorf("%s: got %+v, %d %s, want %+v", path, w.asked, status, text, want)
		}
	}
	for _, body := range []string{`{"env":["user=root"]}`, `{"env":["x"]}`, `{"env":["a-b=1"]}`, `{"other":1}`, "["} {
		if status, text := w.send("POST", "/v1/emit/data-ready", "Bearer etl-secret", body); status != http.StatusBadRequest {
			t.Errorf("%s: got %d %s", body, status, text)
		}
	}
}
