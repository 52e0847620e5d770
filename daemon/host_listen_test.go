package daemon

import (
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/cronring/cronring/daemon/job"
)

// The secrets of the tokens ci and prom.
const ciSecret, promSecret = "ci-0123456789abcdef0123", "prom-0123456789abcdef01"

// withListener configures a listener with two tokens.
func (h *testHost) withListener(address string) {
	h.t.Helper()
	h.configure(fmt.Sprintf("[listen]\naddress = %q\n[token.ci]\nfile = \"ci\"\nallow = [\"run:backup\", \"run:ann/*\"]\n[token.prom]\nfile = \"prom\"\nallow = [\"metrics\"]\n", address))
	for name, secret := range map[string]string{"ci": ciSecret, "prom": promSecret} {
		h.secretFile("etc/cronring/"+name, secret)
	}
	h.write("etc/cron.d/a", "#@ name=backup\n0 0 1 1 * ann echo $TARGET\n#@ name=other\n0 0 1 1 * root true\n")
}

// startListening starts a daemon, and waits until it is ready and has logged something about its
// listener, whichever is first. It returns that line.
func (h *testHost) startListening(words string) (line string) {
	h.t.Helper()
	h.launch()
	ready := false
	h.awaitLine("that it is ready, and "+words, func(l string) bool {
		if ready = ready || strings.Contains(l, "msg=ready"); strings.Contains(l, words) {
			line = l
		}
		return ready && line != ""
	})
	return line
}

// call sends a request to a listener and returns the status and the answer.
func (h *testHost) call(method, url, secret, body string) (int, string) {
	h.t.Helper()
	r, err := http.NewRequestWithContext(h.context(), method, url, strings.NewReader(body))
	if err != nil {
		h.t.Fatal(err)
	}
	if secret != "" {
		r.Header.Set("Authorization", "Bearer "+secret)
	}
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		h.t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		h.t.Fatal(err)
	}
	return response.StatusCode, string(text)
}

// A token runs the jobs that it allows, and nothing else; the audit log has what was done and refused.
func TestHostListensForWebhooks(t *testing.T) {
	t.Parallel()
	h := newTestHost(t)
	h.withListener("127.0.0.1:0")
	_, address, _ := strings.Cut(h.startListening("msg=listening"), "address=")
	url := "http://" + address

	slow, err := net.Dial("tcp", address) // sends half of a request, until the end of the test
	if err != nil {
		t.Fatal(err)
	}
	defer slow.Close()
	if _, err := io.WriteString(slow, "POST /v1/jobs/backup/run HTTP/1.1\r\nAuthor"); err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		method, path, secret, body string
		want                       int
		text                       string
	}{
		{"GET", "/healthz", "", "", 200, "ok\n"},
		{"GET", "/metrics", promSecret, "", 200, "cronring_"},
		{"GET", "/metrics", ciSecret, "", 403, "the token ci does not allow metrics"},
		{"POST", "/v1/jobs/backup/run", promSecret, "", 403, "the token prom does not allow run:backup"},
		{"POST", "/v1/jobs/backup/run", "ci-0123456789abcdef0124", "", 401, "no valid token"},
		{"POST", "/v1/jobs/other/run", ciSecret, "", 403, "does not allow run:other"},
		{"POST", "/v1/jobs/ann/gone/run", ciSecret, "", 404, "no such job"},
		{"POST", "/v1/jobs/backup/run", ciSecret, `{"env": ["X=` + strings.Repeat("x", 1<<20) + `"]}`, 413, "more than 64 KiB"},
		{"POST", "/v1/jobs/backup/run", ciSecret, `{"env": ["TARGET=moon"]}`, 202, `"runs"`},
	} {
		if status, text := h.call(tc.method, url+tc.path, tc.secret, tc.body); status != tc.want || !strings.Contains(text, tc.text) {
			t.Errorf("%s %s: %d %.200s, want %d, %q", tc.method, tc.path, status, text, tc.want, tc.text)
		}
	}
	r, text := h.ended(1)
	if r.Job != "backup" || r.By != "token:ci" || text != "moon\n" {
		t.Errorf("run %+v printed %q", r, text)
	}
	h.wantAction("run", "backup", func(a job.Action) bool {
		return a.Who == "token:ci" && a.Owner == "ann" && a.After == "run 1" && a.Refused == "" && strings.HasPrefix(a.From, "listener, 127.0.0.1:")
	})
	h.wantAction("run", "backup", func(a job.Action) bool { return a.Who == "" && a.Refused == "the request has no valid token" })
	h.wantAction("run", "backup", func(a job.Action) bool { return a.Who == "token:prom" && a.Refused != "" })
	h.wantAction("run", "backup", func(a job.Action) bool {
		return a.Who == "token:ci" && strings.HasPrefix(a.Refused, "the body cannot be read")
	})
	h.wantAction("run", "ann/gone", func(a job.Action) bool { return a.Refused == "no such job" })
	h.wantAction("metrics", "", func(a job.Action) bool { return a.Who == "token:prom" && a.Refused == "" })

	limited := 0
	for limited == 0 { // more requests at the same time than a stranger may send
		if status, _ := h.call("GET", url+"/metrics", "wrong", ""); status == http.StatusTooManyRequests {
			limited++
		}
	}
	h.wantAction("metrics", "", func(a job.Action) bool { return a.Who == "" && strings.HasPrefix(a.Refused, "too many requests") })
	if status, _ := h.call("GET", url+"/metrics", promSecret, ""); status != 200 {
		t.Errorf("a token beside strangers: status %d", status)
	}

	// A secret that changed counts after a reload, and the old one no longer.
	h.secretFile("etc/cronring/prom", "prom-of-another-secret-1")
	h.reload()
	if status, _ := h.call("GET", url+"/metrics", "prom-of-another-secret-1", ""); status != 200 {
		t.Errorf("the new secret: status %d", status)
	}
	if status, _ := h.call("GET", url+"/metrics", promSecret, ""); status == 200 {
		t.Error("the old secret is still valid")
	}
	h.stop()
	if n := h.count(ciSecret) + h.count(promSecret); n > 0 {
		t.Errorf("%d lines of the log have a secret", n)
	}
}

// A daemon whose address is taken runs jobs, and reports the problem. After the execution of a new
// program, the listener is there again.
func TestHostWhoseAddressIsTakenRunsJobs(t *testing.T) {
	t.Parallel()
	h := newTestHost(t)
	taken, err := net.Listen("tcp", fmt.Sprintf("127.%d.%d.%d:0", 1+rand.N(250), 1+rand.N(250), 1+rand.N(250))) // which nobody else takes once it is free
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	h.withListener(taken.Addr().String())
	if line := h.startListening("the listener is not open"); !strings.Contains(line, "address already in use") {
		t.Errorf("got %s", line)
	}
	status, err := h.client.Status(h.context())
	if err != nil {
		t.Fatal(err)
	}
	if !contains(status.Problems, "the listener is not open") {
		t.Errorf("problems %+v", status.Problems)
	}
	if r, _ := h.do("other"); r.Outcome.Kind != job.Exited {
		t.Errorf("outcome %v", r.Outcome)
	}
	taken.Close()
	h.signal(syscall.SIGUSR2)
	h.said("msg=listening")
	if status, text := h.call("GET", "http://"+taken.Addr().String()+"/healthz", "", ""); status != 200 {
		t.Errorf("status %d %s", status, text)
	}
	h.stop()
}

// Without an address in the configuration, the daemon opens no port.
func TestHostOpensNoPortByDefault(t *testing.T) {
	t.Parallel()
	h := newTestHost(t)
	h.configure("[token.ci]\nfile = \"ci\"\nallow = [\"metrics\"]\n")
	h.start()
	if _, err := h.client.Status(h.context()); err != nil {
		t.Fatal(err)
	}
	h.reload()
	sockets := h.sockets()
	for _, table := range []string{"tcp", "tcp6"} {
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/net/%s", h.cmd.Process.Pid, table))
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(text)) {
			if f := strings.Fields(line); len(f) > 9 && sockets["socket:["+f[9]+"]"] {
				t.Errorf("the daemon has a socket of %s: %s", table, line)
			}
		}
	}
	h.stop()
}

// sockets returns the sockets that the daemon has open.
func (h *testHost) sockets() map[string]bool {
	h.t.Helper()
	dir := fmt.Sprintf("/proc/%d/fd", h.cmd.Process.Pid)
	entries, err := os.ReadDir(dir)
	if err != nil {
		h.t.Fatal(err)
	}
	all := map[string]bool{}
	for _, entry := range entries {
		target, _ := os.Readlink(dir + "/" + entry.Name()) // one can be closed meanwhile
		all[target] = strings.HasPrefix(target, "socket:")
	}
	return all
}
