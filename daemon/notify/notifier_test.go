package notify

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"crypto/x509"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cronring/cronring/daemon/filetest"
	"github.com/cronring/cronring/daemon/hosttest"
	"github.com/cronring/cronring/daemon/job"
	"github.com/cronring/cronring/daemon/outbox"
)

// testNotifier is a notifier under test. It records its log and the programs that it runs.
type testNotifier struct {
	*Notifier
	t       *testing.T
	log     *syncBuffer
	ran     chan Program
	letters []string // one channel writes at a time
	does    func(ctx context.Context, p Program) (job.Outcome, []byte, error)
}

type syncBuffer struct {
	mu   sync.Mutex
	b    bytes.Buffer
	more chan struct{} // closed at the next write
}

func (s *syncBuffer) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	close(s.more)
	s.more = make(chan struct{})
	return s.b.Write(p)
}

// await waits until something was written.
func (s *syncBuffer) await(t *testing.T, words string) {
	t.Helper()
	for late := time.After(hosttest.Patience); ; {
		s.mu.Lock()
		text, more := s.b.String(), s.more
		s.mu.Unlock()
		if strings.Contains(text, words) {
			return
		}
		select {
		case <-more:
		case <-late:
			t.Fatalf("%q was not said, but\n%s", words, text)
		}
	}
}

func (s *syncBuffer) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}

var fine = job.Outcome{Kind: job.Exited}

func newTestNotifier(t *testing.T, dir string, channels ...Channel) *testNotifier {
	t.Helper()
	return newTestNotifierTrusting(t, dir, nil, channels...)
}

func newTestNotifierTrusting(t *testing.T, dir string, roots *x509.CertPool, channels ...Channel) *testNotifier {
	t.Helper()
	n := &testNotifier{t: t, log: &syncBuffer{more: make(chan struct{})}, ran: make(chan Program, 10_000)}
	n.does = func(context.Context, Program) (job.Outcome, []byte, error) { return fine, nil, nil }
	n.Notifier = Open(Options{
		Dir: dir, Host: "lab", Version: "1", Roots: roots,
		Log: slog.New(slog.NewTextHandler(n.log, nil)),
		Run: func(ctx context.Context, p Program) (job.Outcome, []byte, error) {
			n.ran <- p
			return n.does(ctx, p)
		},
		Mail: func(_ context.Context, c *Channel, m *Message) error {
			if m.User == "ghost" {
				return &FinalError{"mail is off"}
			}
			subject, text := m.Email()
			n.letters = append(n.letters, fmt.Sprintf("%q as %s: %s\n%s", c.To, c.User, subject, text))
			return nil
		},
	})
	for _, c := range channels {
		if err := c.Check(); err != nil {
			t.Fatal(err)
		}
	}
	n.Configure(channels)
	return n
}

// start runs the notifier until the test ends, or until stop is called.
func (n *testNotifier) start() (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- n.Run(ctx) }()
	stop = sync.OnceFunc(func() {
		cancel()
		if err := <-done; err != nil {
			n.t.Error(err)
		}
	})
	n.t.Cleanup(stop)
	return stop
}

// jobs is the jobs of the programs that were run, in order.
func (n *testNotifier) jobs() (list []string) {
	for {
		select {
		case p := <-n.ran:
			list = append(list, variable(p.Env, "CRONRING_NOTICE_JOB"))
		default:
			return list
		}
	}
}

func variable(env []string, name string) string {
	for _, v := range env {
		if value, ok := strings.CutPrefix(v, name+"="); ok {
			return value
		}
	}
	return "?"
}

func hook(name string) Channel {
	return Channel{Name: name, Type: Command, Command: []string{"/bin/true"}}
}

func notice(id string, channels ...string) job.Notice {
	return job.Notice{
		At: time.Date(2026, 11, 22, 1, 2, 3, 0, time.UTC), On: job.OnFail, Job: job.ID(id), User: "ann",
		Text: "It failed.", Desc: "nightly", Contact: "ops", Streak: 3, Channels: channels,
		Run: &job.Run{ID: 7, Job: job.ID(id), Attempt: 2, Outcome: job.Outcome{Kind: job.Exited, Code: 3}},
	}
}

func failing(why string) func(context.Context, Program) (job.Outcome, []byte, error) {
	return func(context.Context, Program) (job.Outcome, []byte, error) {
		return job.Outcome{Kind: job.Exited, Code: 1}, []byte(why), nil
	}
}

func wantProblem(t *testing.T, n *Notifier, words ...string) {
	t.Helper()
	var all []string
	for _, p := range n.Problems() {
		text := p.What + "; " + p.Why + "; " + p.Fix
		if !slices.ContainsFunc(words, func(w string) bool { return !strings.Contains(text, w) }) {
			return
		}
		all = append(all, text)
	}
	t.Errorf("problems %q, want one with %q", all, words)
}

func TestCommandGetsTheNotice(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := hook("ops")
		c.Command, c.User = []string{"/usr/local/bin/page", "-x"}, "pager"
		n := newTestNotifier(t, t.TempDir(), c, hook("other"))
		defer n.start()()
		n.Enqueue(notice("backup", "ops", "other"), "")
		synctest.Wait()
		got := map[string]Program{}
		for range 2 {
			p := <-n.ran
			got[variable(p.Env, "CRONRING_NOTICE_CHANNEL")] = p
		}
		p := got["ops"]
		if p.User != "pager" || !slices.Equal(p.Argv, c.Command) || got["other"].User != Nobody {
			t.Errorf("ran %q as %s, and as %s; want %q as pager, and as nobody", p.Argv, p.User, got["other"].User, c.Command)
		}
		for name, want := range map[string]string{
			"ON": "fail", "JOB": "backup", "USER": "ann", "TEXT": "It failed.", "STREAK": "3", "DESC": "nightly", "OWNER": "ops", "RUN": "7", "ATTEMPT": "2",
			"OUTCOME": "exit 3", "AT": "2026-11-22T01:02:03Z", "DUE": "", "HOST": "lab", "TEST": "",
		} {
			if got := variable(p.Env, "CRONRING_NOTICE_"+name); got != want {
				t.Errorf("%s is %q, want %q", name, got, want)
			}
		}
		var m Message
		if err := json.Unmarshal(p.Stdin, &m); err != nil {
			t.Fatal(err)
		}
		if m.V != 1 || m.ID == "" || m.ID == variable(got["other"].Env, "CRONRING_NOTICE_ID") || m.Job != "backup" || m.Run.Outcome.Code != 3 || m.Channels != nil {
			t.Errorf("the document is %s", p.Stdin)
		}
		if n.Count() != 0 || len(n.Problems()) > 0 {
			t.Errorf("%d wait, problems %q", n.Count(), n.Problems())
		}
	})
}

// The notice is tried for a day, at growing distances, and then given up
// loudly; what was given up is kept and counted by the next daemon.
func TestNoticeIsTriedForADay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		w := newTestNotifier(t, dir, hook("ops"))
		w.does = failing("out of\npaper \x1b[31m")
		stop := w.start()
		began := time.Now()
		w.Enqueue(notice("backup", "ops"), "")
		time.Sleep(2 * time.Minute)
		if n := len(w.ran); n != 4 { // at 0, 15, 45 and 105 seconds
			t.Errorf("%d tries in two minutes, want 4", n)
		}
		wantProblem(t, w.Notifier, "channel ops: 1 notice waits", "the program ended with exit 1;", "cronring config notify ops")
		if log := w.log.String(); !strings.Contains(log, `error="the program ended with exit 1: out of paper`) || strings.Contains(fmt.Sprint(w.Problems()), "paper") {
			t.Errorf("what a program complains of is for the log alone: %s, %q", log, w.Problems())
		}
		time.Sleep(24*time.Hour - time.Since(began) - time.Second)
		if w.Count() != 1 {
			t.Error("it was given up before a day was over")
		}
		time.Sleep(2 * time.Second)
		if n := len(w.ran); w.Count() != 0 || n < 24 || n > 40 {
			t.Errorf("%d wait after a day and %d tries", w.Count(), n)
		}
		wantProblem(t, w.Notifier, "1 notice was given up", "ops: the program ended with exit 1", dir)
		if log := w.log.String(); strings.Count(log, "is tried again") != 1 || !strings.Contains(log, "level=ERROR msg=\"a message could not be sent and is given up\" queue=notice channel=ops job=backup on=fail") || strings.Contains(log, "\x1b") {
			t.Errorf("the log says\n%s", log)
		}
		stop()
		wantProblem(t, Open(Options{Dir: dir}), "1 notice was given up")
	})
}

func TestNoticeSurvivesRestart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		n := newTestNotifier(t, dir, hook("ops"), hook("slow"))
		n.does = func(ctx context.Context, p Program) (job.Outcome, []byte, error) {
			if variable(p.Env, "CRONRING_NOTICE_CHANNEL") == "slow" {
				<-ctx.Done() // cut off by the daemon's end
				return job.Outcome{}, nil, ctx.Err()
			}
			return failing("")(ctx, p)
		}
		stop := n.start()
		n.Enqueue(notice("one", "ops"), "")
		n.Enqueue(notice("two", "slow"), "")
		synctest.Wait()
		ids := map[string]string{}
		for range 2 {
			p := <-n.ran
			ids[variable(p.Env, "CRONRING_NOTICE_JOB")] = variable(p.Env, "CRONRING_NOTICE_ID")
		}
		n.Enqueue(notice("three", "ops"), "") // given, and not yet written down
		stop()

		again := newTestNotifier(t, dir, hook("ops"), hook("slow"))
		if again.Count() != 3 {
			t.Errorf("%d wait after a restart, want 3", again.Count())
		}
		defer again.start()()
		synctest.Wait()
		for range 3 {
			p := <-again.ran
			name, id := variable(p.Env, "CRONRING_NOTICE_JOB"), variable(p.Env, "CRONRING_NOTICE_ID")
			if want := ids[name]; want != "" && id != want {
				t.Errorf("%s has the ID %s at its second try, want %s", name, id, want)
			}
			delete(ids, name)
		}
		if left, _ := os.ReadDir(dir); len(ids) != 0 || again.Count() != 0 || len(left) != 0 {
			t.Errorf("not sent: %v, %d wait, files %v", ids, again.Count(), left)
		}
	})
}

func TestSlowChannelHoldsUpNoOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newTestNotifier(t, t.TempDir(), hook("slow"), hook("ops"))
		n.does = func(ctx context.Context, p Program) (job.Outcome, []byte, error) {
			if variable(p.Env, "CRONRING_NOTICE_CHANNEL") == "slow" {
				<-ctx.Done()
				return job.Outcome{}, nil, ctx.Err()
			}
			return fine, nil, nil
		}
		defer n.start()()
		for i := range 5 {
			n.Enqueue(notice(fmt.Sprint(i), "slow", "ops"), "")
		}
		time.Sleep(time.Second)
		if got := n.jobs(); len(got) != 6 || n.Count() != 5 { // one try of the slow one
			t.Errorf("tried %q after a second, %d wait", got, n.Count())
		}
		time.Sleep(time.Minute) // 30 s to hang, 15 s to rest: no other message is tried before that
		if got := n.jobs(); len(got) != 1 {
			t.Errorf("tried %q in the minute after", got)
		}
		wantProblem(t, n.Notifier, "channel slow: 5 notices wait", "did not end in time")
	})
}

// The notification about a recovery is sent after the one about the failure, and other jobs do not
// wait for that.
func TestNoticesOfAJobKeepTheirOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newTestNotifier(t, t.TempDir(), hook("ops"))
		var mended atomic.Bool
		n.does = func(ctx context.Context, p Program) (job.Outcome, []byte, error) {
			if !mended.Load() && variable(p.Env, "CRONRING_NOTICE_JOB") == "backup" {
				return failing("")(ctx, p)
			}
			return fine, nil, nil
		}
		defer n.start()()
		first := notice("backup", "ops")
		n.Enqueue(first, "")
		synctest.Wait()
		second := first
		second.On = job.OnRecover
		n.Enqueue(second, "")
		n.Enqueue(notice("other", "ops"), "")
		synctest.Wait()
		if got := n.jobs(); !slices.Equal(got, []string{"backup", "other"}) {
			t.Errorf("tried %q", got)
		}
		mended.Store(true)
		time.Sleep(time.Minute)
		var got []string
		for len(n.ran) > 0 {
			got = append(got, variable((<-n.ran).Env, "CRONRING_NOTICE_ON"))
		}
		if !slices.Equal(got, []string{"fail", "recover"}) {
			t.Errorf("then tried %q", got)
		}
	})
}

func TestAccountsTakeTurnsAndHaveShares(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newTestNotifier(t, t.TempDir(), hook("ops"))
		for i := range maxWaiting {
			w.Enqueue(notice(fmt.Sprint("flood", i), "ops"), "")
		}
		own := notice("own", "ops")
		own.User = "bob"
		w.Enqueue(own, "")
		written, cancel := context.WithCancel(t.Context())
		cancel() // so that nothing is sent yet
		if err := w.Run(written); err != nil || w.Count() != maxWaiting/4+1 {
			t.Errorf("%d wait, want %d of one user and one of another; error %v", w.Count(), maxWaiting/4, err)
		}
		defer w.start()()
		synctest.Wait()
		if got := w.jobs(); len(got) != maxWaiting/4+1 || got[1] != "own" {
			t.Errorf("%d were sent, the second of %s; want bob's", len(got), got[1])
		}
		wantProblem(t, w.Notifier, fmt.Sprint(maxWaiting*3/4, " notices were lost"), "for lack of room")
		if n := strings.Count(w.log.String(), "has no room"); n != 1 {
			t.Errorf("said %d times that there is no room", n)
		}
	})
}

func TestUnknownChannelIsSaid(t *testing.T) {
	n := newTestNotifier(t, t.TempDir(), hook("ops"))
	for range 2 {
		n.Enqueue(notice("backup", "opps"), "")
	}
	if log := n.log.String(); strings.Count(log, `level=ERROR msg="a notice goes nowhere: there is no such channel" channel=opps job=backup on=fail`) != 2 {
		t.Errorf("the log says\n%s", log)
	}
	wantProblem(t, n.Notifier, "2 notices went nowhere", "opps")
	n.Configure([]Channel{hook("opps")})
	if got := n.Problems(); len(got) > 0 {
		t.Errorf("problems %q although there is such a channel now", got)
	}
	if err := n.Try(t.Context(), "nope", job.Notice{}); !errors.As(err, new(*UnknownError)) {
		t.Errorf("trying one: %v", err)
	}
}

func TestMailIsALetter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		w := newTestNotifier(t, dir, Channel{Name: "ops", Type: Mail, To: []string{"ops@example.org"}, User: "pager"})
		defer w.start()()
		w.Enqueue(notice("backup", "ops"), "")
		synctest.Wait()
		n := notice("backup\nBcc: all", "mail")
		w.Enqueue(n, "")
		synctest.Wait()
		if len(w.letters) != 2 || !strings.HasPrefix(w.letters[0], "[\"ops@example.org\"] as pager: backup: fail\nIt failed.\n\nid:      ") ||
			!strings.HasPrefix(w.letters[1], "[] as : backup Bcc: all: fail\nIt failed.\n") || !strings.Contains(w.letters[0], "\nstreak:  3\nrun:     7\n") {
			t.Errorf("letters %q", w.letters)
		}
		n.User = "ghost"
		w.Enqueue(n, "")
		synctest.Wait()
		wantProblem(t, w.Notifier, "1 notice was given up", "mail: mail is off")
	})
}

// A message that a daemon on its way out does not try is left to the next one,
// without a word.
func TestNoticeIsLeftToTheNextDaemon(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newTestNotifier(t, t.TempDir(), hook("ops"))
		n.does = func(context.Context, Program) (job.Outcome, []byte, error) { return job.Outcome{}, nil, ErrNotNow }
		defer n.start()()
		n.Enqueue(notice("backup", "ops"), "")
		time.Sleep(20 * time.Second)
		if n.Count() != 1 || len(n.ran) != 2 || n.log.String() != "" || len(n.Problems()) > 0 {
			t.Errorf("%d wait after %d tries, log %q, problems %q", n.Count(), len(n.ran), n.log.String(), n.Problems())
		}
	})
}

// A channel that was mended is not made to wait for its next turn.
func TestConfigureTriesAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newTestNotifier(t, t.TempDir(), hook("ops"))
		n.does = func(_ context.Context, p Program) (job.Outcome, []byte, error) {
			if p.User == Nobody {
				return job.Outcome{}, nil, errors.New("no such account")
			}
			return fine, nil, nil
		}
		defer n.start()()
		n.Enqueue(notice("backup", "ops"), "")
		time.Sleep(10 * time.Hour)
		n.Configure(nil)
		time.Sleep(time.Second)
		wantProblem(t, n.Notifier, "channel ops: 1 notice waits", "the channel was removed from the configuration")
		mended := hook("ops")
		mended.User = "pager"
		n.Configure([]Channel{mended})
		synctest.Wait()
		if n.Count() != 0 || len(n.Problems()) > 0 {
			t.Errorf("%d wait, problems %q", n.Count(), n.Problems())
		}
	})
}

func TestDiskTakesNothing(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "file")
	filetest.Write(t, dir, "", 0o600)
	n := newTestNotifier(t, dir, hook("ops"))
	wantProblem(t, n.Notifier, "not kept on disk", dir)
	stop := n.start()
	n.Enqueue(notice("backup", "ops"), "")
	if p := <-n.ran; variable(p.Env, "CRONRING_NOTICE_JOB") != "backup" {
		t.Errorf("ran %v", p)
	}
	stop()
}

func TestDamagedFileIsSetAside(t *testing.T) {
	dir := t.TempDir()
	for i, text := range []string{"{", `{"message":{}}`} {
		if err := outbox.Dir(dir).Write(uint64(i+1), []byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	n := newTestNotifier(t, dir)
	if n.Count() != 0 {
		t.Errorf("%d wait", n.Count())
	}
	wantProblem(t, n.Notifier, "2 notices were given up")
}

// secret must appear only in the request.
const secret = "s3cr3t-t0ken"

// silent checks that nothing that people read shows a secret.
func (n *testNotifier) silent(more ...error) {
	n.t.Helper()
	text := n.log.String() + fmt.Sprint(n.Problems()) + errors.Join(more...).Error()
	if strings.Contains(text, secret) {
		n.t.Errorf("a secret is shown:\n%s", text)
	}
}

func writeSecret(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "secret")
	filetest.Write(t, path, text+"\n", 0o600)
	return path
}

func TestWebhookIsSignedAndVerified(t *testing.T) {
	type got struct {
		header http.Header
		body   []byte
		path   string
	}
	requests := make(chan got, 1)
	server := httptest.NewTLSServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		requests <- got{r.Header, body, r.URL.Path}
	}))
	defer server.Close()
	server.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, 0)
	roots := x509.NewCertPool()
	roots.AddCert(server.Certificate())
	c := Channel{
		Name: "ops", Type: Webhook, URLFile: writeSecret(t, server.URL+"/"+secret), SecretFile: writeSecret(t, "key"),
		Header: map[string]string{"Authorization": "Bearer " + secret},
	}
	n := newTestNotifierTrusting(t, t.TempDir(), roots, c)
	n.start()
	n.Enqueue(notice("backup", "ops"), "")
	r := <-requests
	mac := hmac.New(sha256.New, []byte("key"))
	mac.Write(r.body)
	if want := "sha256=" + hex.EncodeToString(mac.Sum(nil)); r.header.Get("Cronring-Signature") != want {
		t.Errorf("signature %q, want %q", r.header.Get("Cronring-Signature"), want)
	}
	var m Message
	if err := json.Unmarshal(r.body, &m); err != nil || m.Job != "backup" || m.ID != r.header.Get("Cronring-Notice") || m.ID == "" {
		t.Errorf("the body is %s, error %v, the header's ID %q", r.body, err, r.header.Get("Cronring-Notice"))
	}
	if r.path != "/"+secret || r.header.Get("Authorization") != "Bearer "+secret || r.header.Get("Content-Type") != "application/json" || r.header.Get("User-Agent") != "cronring/1" {
		t.Errorf("path %s, headers %v", r.path, r.header)
	}

	strange := newTestNotifier(t, t.TempDir(), c) // it does not know the authority
	err := strange.Try(t.Context(), "ops", notice("backup"))
	if err == nil || !strings.Contains(err.Error(), "certificate") || len(requests) > 0 {
		t.Errorf("a server that nobody vouches for: %v, %d requests", err, len(requests))
	}
	strange.silent(err)
}

func TestWebhookAnswers(t *testing.T) {
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		t.Error("a redirect to another host was followed")
	}))
	defer other.Close()
	type reply struct {
		status int
		header [2]string
	}
	for name, c := range map[string]struct {
		reply reply
		want  string // in the error; "": none
		final bool
		after time.Duration
	}{
		"ok":                  {reply: reply{status: 204}},
		"refused for good":    {reply: reply{status: 404}, want: "answered 404 Not Found", final: true},
		"too many":            {reply: reply{429, [2]string{"Retry-After", "90"}}, want: "answered 429", after: 90 * time.Second},
		"too many, nonsense":  {reply: reply{429, [2]string{"Retry-After", "-soon"}}, want: "answered 429"},
		"out of order":        {reply: reply{status: 503}, want: "answered 503"},
		"redirect elsewhere":  {reply: reply{307, [2]string{"Location", other.URL + "/" + secret}}, want: "answered 307", final: true},
		"redirect to a GET":   {reply: reply{302, [2]string{"Location", "/fine"}}, want: "answered 302", final: true},
		"redirect at home":    {reply: reply{307, [2]string{"Location", "/fine"}}},
		"redirect in circles": {reply: reply{307, [2]string{"Location", "/" + secret}}, want: "answered 307", final: true},
		"redirect nowhere":    {reply: reply{307, [2]string{"Location", "http://%zz/" + secret}}, want: "http://127.0.0.1"},
	} {
		t.Run(name, func(t *testing.T) {
			posts := 0
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				body, _ := io.ReadAll(r.Body)
				if posts++; r.Method != "POST" || len(body) == 0 {
					t.Errorf("%s with %d bytes", r.Method, len(body))
				}
				if r.URL.Path == "/fine" {
					return
				}
				if c.reply.header[0] != "" {
					w.Header().Set(c.reply.header[0], c.reply.header[1])
				}
				w.WriteHeader(c.reply.status)
				fmt.Fprint(w, r.URL.Path) // which shows the secret
			}))
			defer server.Close()
			channel := Channel{Name: "ops", Type: Webhook, URL: server.URL + "/" + secret}
			n := newTestNotifier(t, t.TempDir(), channel)
			m := newMessage(notice("backup"), "", "id", "lab", "ops")
			f := n.post(t.Context(), &channel, &m)
			switch {
			case f == nil && c.want == "" && posts > 0:
			case f == nil || c.want == "":
				t.Errorf("failure %v after %d requests, want %q", f, posts, c.want)
			case !strings.Contains(f.Why, c.want) || f.Final != c.final || f.After != c.after || strings.Contains(f.Why, secret):
				t.Errorf("failure %+v, want %q, final %t, after %v", *f, c.want, c.final, c.after)
			}
		})
	}
}

func TestRetryAfter(t *testing.T) {
	now := time.Date(2026, 11, 22, 1, 0, 0, 0, time.UTC)
	for text, want := range map[string]time.Duration{
		"": 0, "soon": 0, "-5": 0, "120": 2 * time.Minute, "99999999999": longestRetry,
		"Sun, 22 Nov 2026 01:10:00 GMT": 10 * time.Minute, "Sun, 22 Nov 2020 01:10:00 GMT": 0, "Sun, 22 Nov 2099 01:10:00 GMT": longestRetry,
	} {
		if got := retryAfter(text, now); got != want {
			t.Errorf("Retry-After: %s is %v, want %v", text, got, want)
		}
	}
}

func TestWebhookThatHangsOrFloods(t *testing.T) {
	release := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/headers":
			w.Header().Set("X", strings.Repeat("x", 1<<20))
		case "/hang":
			select {
			case <-release:
			case <-r.Context().Done():
			}
		case "/flood":
			for b := make([]byte, 1<<16); r.Context().Err() == nil; {
				if _, err := w.Write(b); err != nil {
					return
				}
			}
		}
	}))
	defer server.Close()
	defer close(release)
	n := newTestNotifier(t, t.TempDir())
	try := func(path string, timeout time.Duration) *outbox.Failure {
		m := newMessage(notice("backup"), "", "id", "lab", "ops")
		return n.send(t.Context(), &Channel{Name: "ops", Type: Webhook, URL: server.URL + path, Timeout: timeout}, &m)
	}
	if f := try("/hang", 100*time.Millisecond); f == nil || !f.Silent || !strings.Contains(f.Why, "no answer in time") {
		t.Errorf("one that hangs: %+v", f)
	}
	if f := try("/flood", hosttest.Patience); f != nil { // 200, and what follows is not read
		t.Errorf("one that floods: %+v", f)
	}
	if f := try("/headers", hosttest.Patience); f == nil || f.Final {
		t.Errorf("one with a header of a megabyte: %+v", f)
	}
}

func TestSecretsAreGuarded(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string, mode os.FileMode) string {
		path := filepath.Join(dir, name)
		if err := errors.Join(os.WriteFile(path, []byte(text), 0o600), os.Chmod(path, mode)); err != nil {
			t.Fatal(err)
		}
		return path
	}
	if text, err := readSecret(write("good", " "+secret+"\n", 0o640)); err != nil || string(text) != secret {
		t.Errorf("got %q, %v", text, err)
	}
	strange := write("strange", secret, 0o600)
	if err := os.Chown(strange, 12345, 0); err != nil {
		t.Logf("SKIPPED in part, NOT TESTED without root: a file of another account: %v", err)
	} else if _, err := readSecret(strange); err == nil || !strings.Contains(err.Error(), "uid 12345") {
		t.Errorf("a file of another account: %v", err)
	}
	for path, want := range map[string]string{
		write("open", secret, 0o644): "chmod 0600", write("writable", secret, 0o620): "chmod 0600",
		write("empty", "\n", 0o600): "is empty", write("large", strings.Repeat("x", longestSecret+1), 0o600): "has more than",
		dir: "not a regular file", filepath.Join(dir, "gone"): "no such file",
	} {
		if _, err := readSecret(path); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want %q", path, err, want)
		}
	}

	for name, c := range map[string]Channel{
		"a password":      {Name: "ops", Type: Webhook, URL: "http://user:" + secret + "@127.0.0.1:1/" + secret + "?key=" + secret},
		"nobody listens":  {Name: "ops", Type: Webhook, URL: "https://127.0.0.1:1/" + secret},
		"no URL":          {Name: "ops", Type: Webhook, URLFile: writeSecret(t, "::"+secret)},
		"a bad port":      {Name: "ops", Type: Webhook, URLFile: writeSecret(t, "http://h:"+secret+"/")},
		"open file":       {Name: "ops", Type: Webhook, URLFile: write("open2", "http://h/"+secret, 0o644)},
		"a bad signature": {Name: "ops", Type: Webhook, URL: "http://127.0.0.1:1/" + secret, SecretFile: dir},
	} {
		n := newTestNotifier(t, t.TempDir(), c)
		if err := n.Try(t.Context(), "ops", notice("backup")); err == nil || strings.Contains(err.Error(), secret) {
			t.Errorf("%s: %v", name, err)
		}
		stop := n.start()
		n.Enqueue(notice("backup", "ops"), "")
		n.log.await(t, "a message was not accepted")
		stop()
		n.silent(errors.New(name))
	}
}
