package daemon

import (
	"bufio"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/cronring/cronring/crontab/option"
	"github.com/cronring/cronring/daemon/api"
	"github.com/cronring/cronring/daemon/filetest"
	"github.com/cronring/cronring/daemon/groups"
	"github.com/cronring/cronring/daemon/job"
	"github.com/cronring/cronring/daemon/notify"
	"github.com/cronring/cronring/daemon/usual"
)

// The host sends email on the conditions of mail= to the recipients of mailto=, and after the last
// attempt if a run is retried.
func TestHostMailsWhenAsked(t *testing.T) {
	t.Parallel()
	h := newTestHost(t)
	h.withMailer()
	h.write("etc/cron.d/m", "MAILTO=\n"+
		"#@ name=never mail=never mailto=ops\n0 0 1 1 * ann echo never\n"+
		"#@ name=good mail=failure mailto=ops\n0 0 1 1 * ann echo good\n"+
		"#@ name=bad mail=failure mailto=ops@example.org retry=1 backoff=1s retry-jitter=0%\n0 0 1 1 * ann echo attempt $CRONRING_ATTEMPT; exit 3\n"+
		"#@ name=nobody mail=always\n0 0 1 1 * ann true\n"+
		"#@ name=silent mail=always mailto=ann\n0 0 1 1 * ann true\n")
	h.start()
	records := h.watch()
	h.do("never")
	h.do("good")
	h.do("nobody")
	h.run("bad")
	records.await("the end of the second attempt", func(r job.Record) bool {
		return r.Kind == job.Ended && r.Job == "bad" && r.Run.Attempt == 2
	})
	h.do("silent")
	for _, want := range [][]string{
		{"To: ops@example.org\n", "\n\nattempt 2\n"},
		{"To: ann\n", "\n\n[cronring: the run printed nothing; it ended with: ok]\n"},
	} {
		letter := h.letter()
		for _, words := range want {
			if !strings.Contains(letter, words) {
				t.Errorf("got the letter\n%s\nwant %q in it", letter, words)
			}
		}
	}
	h.stop()
	if len(h.letters) > 0 {
		t.Errorf("one letter too many:\n%s", <-h.letters)
	}
}

// A daemon with a crontab by name mails through a configured command. Without one it reports once that
// it does not, if a job asks for mail.
func TestHostMailsFromACrontabByName(t *testing.T) {
	t.Parallel()
	h := newTestHost(t)
	h.Files = []string{h.path("tab")}
	h.write("tab", "MAILTO=ops@example.org\n0 0 1 1 * true\n#@ name=talk\n0 0 1 1 * echo said\n")
	h.start()
	h.said("level=WARN", "no mail is sent", "set mail.command")
	h.do("talk")
	h.stop()
	h.withMailer()
	h.start()
	h.do("talk")
	if letter := h.letter(); !strings.Contains(letter, "To: ops@example.org\n") || !strings.HasSuffix(letter, "\n\nsaid\n") {
		t.Errorf("got the letter\n%s", letter)
	}
	h.stop()
	if n := h.count("no mail is sent"); n != 1 {
		t.Errorf("%d lines say that no mail is sent, want 1", n)
	}
}

// A success that took much longer than the last ones is odd, and its notification has the numbers.
func TestHostTellsOfAnOddDuration(t *testing.T) {
	t.Parallel()
	h := newTestHost(t)
	gate, slow := h.fifo("gate"), h.fifo("is-slow")
	all := h.withHook()
	h.channels("[channel.ops]\ntype = \"command\"\nuser = \"ann\"\ncommand = [\"" + h.path("hook") + "\"]\n")
	h.write("etc/crontab", "#@ name=j every=1s overlap=skip notify=ops notify-on=odd\n"+
		"* * * * * root test ! -e "+h.path("slow")+" || { echo >"+slow.Name()+"; read x <"+gate.Name()+"; }\n")
	h.start()
	w := h.watch()
	var longest time.Duration
	for range usual.Fewest {
		r := w.await("a success", func(r job.Record) bool { return r.Kind == job.Ended && r.Run.OK() }).Run
		longest = max(longest, r.Ended.Sub(r.Started))
	}
	h.write("slow", "")
	if _, err := slow.Read(make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
	odd := time.Now().Add(3*time.Second + 10*longest)
	w.await("occurrences beside the slow run", func(r job.Record) bool { return r.Decision == job.DecideSkip && r.At.After(odd) })
	h.open(gate, 1)
	one := next(t, all)
	if text := one.message.Text; one.message.On != job.OnOdd || !strings.Contains(text, "That is odd: the median of its last ") || !strings.Contains(text, "(MAD) of ") {
		t.Errorf("got the notification %+v", one.message)
	}
	h.stop()
}

// A notification about a run that was ended by a limit names the limit, not the resulting exit
// status.
func TestHostTellsOfTheLimit(t *testing.T) {
	t.Parallel()
	g, err := groups.Open(stateName(t.TempDir()), "")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(g.Close)
	if why := g.Missing(t.Context(), &option.Resources{Memory: 1}); why != "" {
		t.Skip("SKIPPED, NOT TESTED: ", why)
	}
	h := newTestHost(t)
	h.withMailer()
	all := h.withHook()
	h.channels("[channel.ops]\ntype = \"command\"\nuser = \"ann\"\ncommand = [\"" + h.path("hook") + "\"]\n")
	h.start()
	w := h.watch()
	h.write("etc/crontab", "#@ name=big every=1s memory=32M mail=failure notify=ops retry=1 backoff=1s on-exhausted=pause\n"+
		"* * * * * root exec 2>/dev/null; v=$(head -c 200M /dev/zero | tail -n 1 | wc -c); exit $((98+1))\n")
	again := w.await("a second attempt", func(r job.Record) bool { return r.Kind == job.Queued })
	paused := w.await("a pause", func(r job.Record) bool { return r.Kind == job.Paused })
	letter, one := h.letter(), next(t, all)
	for what, text := range map[string]string{
		"the second attempt": again.Detail.Words(), "the pause": paused.Detail.Words(), "the letter": letter,
		"the notice": one.message.Text, "the variable": one.variables["OUTCOME"],
	} {
		if !strings.Contains(text, "memory limit") || strings.Contains(text, "exit 99") {
			t.Errorf("%s: %q, want the memory limit", what, text)
		}
	}
	h.stop()
}

// told is the input of a hook: its user, its variables, and the document.
type told struct {
	uid       string
	variables map[string]string
	message   notify.Message
}

// withHook writes a program for channels, and returns its inputs.
func (h *testHost) withHook() <-chan told {
	h.t.Helper()
	fifo := h.fifo("told")
	h.write("hook", fmt.Sprintf("#!/bin/sh\n{ id -u; env | sed -n 's/^CRONRING_NOTICE_//p'; echo; cat; printf '\\0'; } >%s.$$\ncat %[1]s.$$ >%[1]s\nrm %[1]s.$$\n", fifo.Name()))
	if err := errors.Join(os.Chmod(h.path("hook"), 0o755), os.Chmod(h.Root, 0o777)); err != nil {
		h.t.Fatal(err)
	}
	all := make(chan told, 1000)
	go func() {
		for r := bufio.NewReader(fifo); ; {
			text, err := r.ReadString(0)
			if err != nil {
				return
			}
			head, document, _ := strings.Cut(strings.TrimSuffix(text, "\x00"), "\n\n")
			lines := strings.Split(head, "\n")
			one := told{uid: lines[0], variables: map[string]string{}}
			for _, line := range lines[1:] {
				name, value, _ := strings.Cut(line, "=")
				one.variables[name] = value
			}
			if err := json.Unmarshal([]byte(document), &one.message); err != nil {
				h.t.Errorf("a hook got %s: %v", document, err)
			}
			all <- one
		}
	}()
	return all
}

// next returns the next input of a hook.
func next(t *testing.T, all <-chan told) told {
	t.Helper()
	select {
	case one := <-all:
		return one
	case <-time.After(hostPatience):
		t.Fatal("no hook was told")
	}
	return told{}
}

// channels writes the configuration.
func (h *testHost) channels(text string) {
	h.t.Helper()
	if err := os.MkdirAll(h.path("etc/cronring"), 0o755); err != nil {
		h.t.Fatal(err)
	}
	h.write("etc/cronring/cronring.toml", text)
}

// secretFile writes a file that a channel reads.
func (h *testHost) secretFile(name, text string) string {
	h.t.Helper()
	filetest.Write(h.t, h.path(name), text+"\n", 0o600)
	return h.path(name)
}

// A job that fails repeatedly causes one notification, and another one when it has recovered. The
// program runs as the user of its channel.
func TestHostTellsOfAStreakOnce(t *testing.T) {
	t.Parallel()
	h := newTestHost(t)
	all := h.withHook()
	h.channels(fmt.Sprintf("[channel.ops]\ntype = \"command\"\ncommand = [%q]\nuser = \"bob\"\nusers = [\"ann\"]\n", h.path("hook")))
	h.userCrontab("ann", annID, "#@ name=flaky every=1s overlap=skip notify=ops notify-on=fail,recover\n* * * * * echo one; echo two; test -e "+h.path("mended")+"\n")
	h.start()
	records := h.watch()
	ended := func(ok bool) func(job.Record) bool {
		return func(r job.Record) bool { return r.Kind == job.Ended && r.Job == "ann/flaky" && r.Run.OK() == ok }
	}
	for range 3 {
		records.await("a failure", ended(false))
	}
	h.said("level=WARN", "on=fail", "job=ann/flaky")
	first := next(t, all)
	h.write("mended", "")
	for range 3 {
		records.await("a success", ended(true))
	}
	h.said("level=INFO", "on=recover", "job=ann/flaky")
	second := next(t, all)
	h.stop()
	if n := len(all); n > 0 {
		t.Errorf("%d notices too many: %+v", n, <-all)
	}
	for i, c := range []struct {
		got told
		on  job.NoticeOn
	}{{first, job.OnFail}, {second, job.OnRecover}} {
		v, m := c.got.variables, c.got.message
		if c.got.uid != fmt.Sprint(bobID) || v["ON"] != string(c.on) || v["JOB"] != "ann/flaky" || v["USER"] != "ann" || v["CHANNEL"] != "ops" || v["TEXT"] == "" || v["RUN"] == "" {
			t.Errorf("notice %d: as %s, %v; want %s of ann/flaky, as bob", i, c.got.uid, v, c.on)
		}
		if v["OUTPUT"] != "one two" || m.Output != "one\ntwo" {
			t.Errorf("notice %d: output %q and %q, want what the run printed", i, v["OUTPUT"], m.Output)
		}
		if m.On != c.on || m.ID != v["ID"] || m.Run == nil || m.Text != v["TEXT"] {
			t.Errorf("notice %d: document %+v, variables %v", i, m, v)
		}
	}
	if h.count("level=WARN", "on=fail", "job=ann/flaky") != 1 || h.count("level=INFO", "on=recover", "job=ann/flaky") != 1 {
		t.Error("the notices are not in the log once")
	}
}

// An undelivered notification is passed to the next daemon, after exec and after a restart. It
// keeps its ID, and its target is not shown in any text.
func TestHostKeepsNoticesOverRestarts(t *testing.T) {
	t.Parallel()
	const secret = "t0p-s3cret"
	var open atomic.Bool
	ids := make(chan string, 1000)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		mac := hmac.New(sha256.New, []byte(secret))
		mac.Write(body)
		if r.URL.Path != "/"+secret || r.Header.Get("Cronring-Signature") != "sha256="+hex.EncodeToString(mac.Sum(nil)) {
			t.Errorf("%s with signature %q", r.URL.Path, r.Header.Get("Cronring-Signature"))
		}
		ids <- r.Header.Get("Cronring-Notice")
		if !open.Load() {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
	}))
	defer server.Close()
	h := newTestHost(t)
	h.channels(fmt.Sprintf("[channel.web]\ntype = \"webhook\"\nurl-file = %q\nsecret-file = %q\n", h.secretFile("url", server.URL+"/"+secret), h.secretFile("key", secret)))
	h.write("etc/cron.d/a", "#@ name=a every=1s notify=web\n* * * * * ann false\n")
	h.start()
	tried := func() string {
		t.Helper()
		select {
		case id := <-ids:
			return id
		case <-time.After(hostPatience):
			t.Fatal("nothing was sent")
		}
		return ""
	}
	id := tried()
	h.said("a message was not accepted", "answered 503")
	if !contains(h.status().Problems, "channel web: 1 notice waits") {
		t.Errorf("problems %+v", h.status().Problems)
	}
	h.signal(syscall.SIGUSR2)
	if again := tried(); again != id {
		t.Errorf("after an execution anew the notice has the ID %s, want %s", again, id)
	}
	h.said("msg=ready")
	h.stop()
	open.Store(true)
	h.start()
	if again := tried(); again != id {
		t.Errorf("after a restart the notice has the ID %s, want %s", again, id)
	}
	status, err := json.Marshal(h.status())
	if err != nil {
		t.Fatal(err)
	}
	h.stop()
	if n := h.count(secret); n > 0 || strings.Contains(string(status), secret) {
		t.Errorf("%d lines of the log show the secret; the status is %s", n, status)
	}
}

func contains(problems []api.Problem, words string) bool {
	for _, p := range problems {
		if strings.Contains(p.What, words) {
			return true
		}
	}
	return false
}

// Root can test channels and receives the result.
func TestHostTriesAChannel(t *testing.T) {
	t.Parallel()
	h := newTestHost(t)
	all := h.withHook()
	h.channels(fmt.Sprintf("[channel.ops]\ntype = \"command\"\ncommand = [%q]\nuser = \"ann\"\n[channel.gone]\ntype = \"command\"\ncommand = [\"/nowhere/x\"]\nuser = \"ann\"\n[channel.nobodys]\ntype = \"command\"\ncommand = [%[1]q]\n", h.path("hook")))
	h.write("etc/cron.d/a", "#@ name=a notify=opps\n0 0 1 1 * ann true\n")
	h.userCrontab("bob", bobID, "#@ name=b notify=ops,mail\n0 0 1 1 * true\n")
	h.start()
	if err := h.client.Notify(h.context(), "ops"); err != nil {
		t.Errorf("a channel that works: %v", err)
	}
	if got := next(t, all); got.uid != fmt.Sprint(annID) || got.variables["TEST"] != "yes" || !got.message.Test {
		t.Errorf("told %+v, want a test as ann", got)
	}
	for channel, want := range map[string]string{
		"none": "there is no channel none", "gone": "/nowhere/x", "nobodys": "nobody", "mail": "sends no mail",
	} {
		if err := h.client.Notify(h.context(), channel); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("channel %s: error %v, want %q", channel, err, want)
		}
	}
	for ref, want := range map[string]string{"a": `channel \"opps\" does not exist`, "b": `channel \"ops\" is not allowed in crontabs of \"bob\"`} {
		j, err := h.client.Show(h.context(), ref)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(j.Job.Degraded, strings.ReplaceAll(want, `\`, "")) {
			t.Errorf("%s is degraded by %q, want %q", ref, j.Job.Degraded, want)
		}
	}
	h.channels("") // the daemon takes what is in force at once
	h.reload()
	if err := h.client.Notify(h.context(), "ops"); err == nil || !strings.Contains(err.Error(), "there is no channel ops") {
		t.Errorf("a channel that was taken out: %v", err)
	}
}
