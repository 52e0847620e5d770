package packaging

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"regexp"
	"strings"
	"sync"
	"time"
)

const socket = "/run/cronring/cronring.sock"

type request struct{ name, text string }

// malformed returns requests that no honest client sends. Each is written as it
// is, and must be refused (a path with ".." may be redirected to the clean one),
// or find the connection ended. They are 40 MB, so they are made when they are used:
// labtool starts for each run of a job in the machines.
var malformed = sync.OnceValue(func() []request {
	return []request{
		{"no HTTP", "hello\r\n\r\n"},
		{"empty line first", "\r\n\r\n\r\n"},
		{"unknown method", "BREW /v1/jobs HTTP/1.1\r\nHost: x\r\n\r\n"},
		{"wrong method", "DELETE /v1/jobs HTTP/1.1\r\nHost: x\r\n\r\n"},
		{"unknown path", "GET /v1/shadow HTTP/1.1\r\nHost: x\r\n\r\n"},
		{"path that climbs", "GET /v1/../../../etc/shadow HTTP/1.1\r\nHost: x\r\n\r\n"},
		{"encoded path that climbs", "GET /v1/%2e%2e/%2e%2e/etc/shadow HTTP/1.1\r\nHost: x\r\n\r\n"},
		{"NUL in the path", "GET /v1/jobs\x00 HTTP/1.1\r\nHost: x\r\n\r\n"},
		{"bad version", "GET /v1/jobs HTTP/9.9\r\nHost: x\r\n\r\n"},
		{"no host", "GET /v1/jobs HTTP/1.1\r\n\r\n"},
		{"huge path", "GET /v1/job?ref=" + strings.Repeat("a", 4<<20) + " HTTP/1.1\r\nHost: x\r\n\r\n"},
		{"huge header", "GET /v1/jobs HTTP/1.1\r\nHost: x\r\nX: " + strings.Repeat("a", 4<<20) + "\r\n\r\n"},
		{"many headers", "GET /v1/jobs HTTP/1.1\r\nHost: x\r\n" + strings.Repeat("X: y\r\n", 1<<18) + "\r\n"},
		{"header without colon", "GET /v1/jobs HTTP/1.1\r\nHost: x\r\nnonsense\r\n\r\n"},
		{"two lengths", "POST /v1/run HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\n{}"},
		{"length and chunks", "POST /v1/run HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"},
		{"negative length", "POST /v1/run HTTP/1.1\r\nHost: x\r\nContent-Length: -1\r\n\r\n"},
		{"bad chunk", "POST /v1/run HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n"},
		{"not JSON", post("/v1/run", "not json")},
		{"JSON of another shape", post("/v1/run", `{"jobs":{"a":[1,2,3]}}`)},
		{"deep JSON", post("/v1/run", strings.Repeat("[", 1<<20))},
		{"half of JSON", post("/v1/run", `{"jobs":["a`)},
		{"huge body", post("/v1/run", `{"jobs":["`+strings.Repeat("a", 8<<20)+`"]}`)},
		{"a million names", post("/v1/run", `{"jobs":["a"`+strings.Repeat(`,"a"`, 1<<20)+`]}`)},
		{"a name with escapes", post("/v1/run", `{"jobs":["\u001b]0;x\u0007\n"]}`)},
		{"a glob that backtracks", post("/v1/run", `{"jobs":["`+strings.Repeat("*a", 2000)+`"]}`)},
		{"somebody else's name", "GET /v1/jobs?user=root HTTP/1.1\r\nHost: x\r\nX-Forwarded-User: root\r\nAuthorization: Basic cm9vdDo=\r\n\r\n"},
	}
})

func post(path, body string) string {
	return fmt.Sprintf("POST %s HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", path, len(body), body)
}

// knock sends text as it is and returns the first line of the answer, or ""
// when the daemon hung up without one.
func knock(text string, patience time.Duration) (string, error) {
	c, err := net.DialTimeout("unix", socket, patience)
	if err != nil {
		return "", err
	}
	defer c.Close()
	if err := c.SetDeadline(time.Now().Add(patience)); err != nil {
		return "", err
	}
	_, _ = io.WriteString(c, text) // it may hang up in the middle of a huge one
	line, err := bufio.NewReader(c).ReadString('\n')
	if err != nil && (errors.Is(err, io.EOF) || strings.Contains(err.Error(), "reset by peer")) {
		return "", nil
	}
	return strings.TrimSpace(line), err
}

// attack sends each malformed request once, and reports the answers.
func attack([]string) error {
	for _, m := range malformed() {
		answer, err := knock(m.text, time.Minute)
		switch refused := answer == "" || regexp.MustCompile(`^HTTP/1\.1 ([34]\d\d|505) `).MatchString(answer); {
		case err != nil:
			fmt.Printf("NOT OK  request %q: no answer: %v\n", m.name, err)
		case refused || m.name == "somebody else's name" && strings.HasPrefix(answer, "HTTP/1.1 200"):
			fmt.Printf("ok      request %q: %q\n", m.name, answer)
		default:
			fmt.Printf("NOT OK  request %q was answered %q\n", m.name, answer)
		}
	}
	return nil
}

// flood N DURATION sends N requests spread evenly over the duration: half of
// them malformed, half so slow that they do not end within it.
func flood(args []string) error {
	var n int
	if len(args) != 2 {
		return errors.New("usage: labtool flood N DURATION")
	}
	if _, err := fmt.Sscan(args[0], &n); err != nil {
		return err
	}
	during, err := time.ParseDuration(args[1])
	if err != nil {
		return err
	}
	all := malformed()
	var crowd sync.WaitGroup
	tick := time.NewTicker(during / time.Duration(n))
	defer tick.Stop()
	end := time.Now().Add(during)
	for i := range n {
		<-tick.C
		crowd.Go(func() {
			if i%2 == 0 {
				_, _ = knock(all[rand.IntN(len(all))].text, time.Until(end))
				return
			}
			dawdle(end)
		})
	}
	crowd.Wait()
	fmt.Printf("%d requests in %v\n", n, during)
	return nil
}

// dawdle sends a request byte by byte, and never the last one.
func dawdle(end time.Time) {
	c, err := net.Dial("unix", socket)
	if err != nil {
		return
	}
	defer c.Close()
	for _, b := range []byte("GET /v1/jobs HTTP/1.1\r\nHost: " + strings.Repeat("x", 1000)) {
		if _, err := c.Write([]byte{b}); err != nil || time.Now().After(end) {
			return
		}
		time.Sleep(100 * time.Millisecond) // slowness is the attack, not a wait
	}
}
