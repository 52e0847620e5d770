package api

import (
	"context"
	"errors"
	"io"
	"net"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// answering listens on a socket and writes the same bytes to whoever asks.
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
		{"nothing", "", "does not answer"},
		{"no HTTP", "SSH-2.0-OpenSSH_9.2\r\n", "does not answer"},
		{"no JSON", "HTTP/1.1 502 Bad Gateway\r\nContent-Length: 4\r\n\r\noops", "cannot see the status: the answer was 502 Bad Gateway"},
		{"JSON of another kind", "HTTP/1.1 500 x\r\nContent-Length: 2\r\n\r\n{}", "the answer was 500 x"},
		{"an error", "HTTP/1.1 409 x\r\nConnection: close\r\n\r\n" + `{"v":1,"error":"cannot x","why":"y","kind":"conflict"}`, "cannot x: y"},
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

// A socket that the service manager holds is there although nobody accepts.
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
	if KindOf(err) != Unreachable || !strings.Contains(err.Error(), "no answer came in time") {
		t.Errorf("error %v (%s), want that no answer came", err, KindOf(err))
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
	if got, want := UserSocket(env("XDG_STATE_HOME", "/st", "HOME", "/root")), "/st/cronring/cronring.sock"; got != want {
		t.Errorf("UserSocket with XDG_STATE_HOME: %s, want %s", got, want)
	}
	if got, want := UserSocket(env("HOME", "/home/ann")), "/home/ann/.local/state/cronring/cronring.sock"; got != want {
		t.Errorf("UserSocket: %s, want %s", got, want)
	}
}
