package server

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/cronring/cronring/daemon/hosttest"
)

func init() {
	address := os.Getenv("SERVER_TEST_SOCKET")
	switch os.Getenv("SERVER_TEST_CONFINE") {
	case "":
		return
	case "yes": // the bit belongs to the thread until it executes the program again
		runtime.LockOSThread()
		if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
			panic(err)
		}
		_ = os.Setenv("SERVER_TEST_CONFINE", "no") // the name is valid
		panic(syscall.Exec("/proc/self/exe", os.Args, os.Environ()))
	}
	client := http.Client{Transport: &http.Transport{DialContext: func(context.Context, string, string) (net.Conn, error) {
		return net.Dial("unix", address)
	}}}
	for _, request := range strings.Split(os.Getenv("SERVER_TEST_REQUESTS"), ",") {
		method, path, _ := strings.Cut(request, " ")
		r, err := http.NewRequest(method, "http://cronring"+path, strings.NewReader("{}"))
		if err != nil {
			panic(err)
		}
		answer, err := client.Do(r)
		if err != nil {
			panic(err)
		}
		text, _ := io.ReadAll(answer.Body)
		if strings.Contains(string(text), errConfined.What) {
			fmt.Println(answer.StatusCode, request)
		}
	}
	os.Exit(0)
}

// asBob runs this program as an ordinary user, if the test can become one.
func asBob(t *testing.T, env ...string) string {
	t.Helper()
	cmd := exec.Command("/proc/self/exe")
	cmd.Env = append(os.Environ(), env...)
	if os.Geteuid() == 0 {
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: bobUID, Gid: bobUID}}
	}
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return strings.TrimSpace(string(out))
}

// abstract listens on a socket that every user can reach.
func abstract(t *testing.T) (l net.Listener, address string) {
	t.Helper()
	address = fmt.Sprintf("@cronring-%d-%s", os.Getpid(), t.Name())
	l, err := net.Listen("unix", address)
	if err != nil {
		t.Fatal(err)
	}
	return l, address
}

// TestConfinedProcessChangesNothing: a run with a sandbox cannot have the daemon run something
// without it, but it sees its jobs and keeps state.
func TestConfinedProcessChangesNothing(t *testing.T) {
	w := newWorld(t, annsJobs)
	needFree(t)
	l, address := abstract(t)
	w.serveOn(l, w.server())
	var requests, want []string
	for _, r := range w.server().routes() {
		if r.method == "GET" && r.path != "/v1/jobs" { // some have no end
			continue
		}
		request := r.method + " " + r.path
		requests = append(requests, request)
		if r.method == "POST" && r.path != keepState && r.path != giveBeat && (os.Geteuid() != 0 || r.permission != admin) { // those are refused anyway
			want = append(want, "403 "+request)
		}
	}
	for confine, want := range map[string]string{"no": "", "yes": strings.Join(want, "\n")} {
		got := asBob(t, "SERVER_TEST_SOCKET="+address, "SERVER_TEST_REQUESTS="+strings.Join(requests, ","), "SERVER_TEST_CONFINE="+confine)
		if got != want {
			t.Errorf("confined %s: got\n%s\nwant\n%s", confine, got, want)
		}
	}
}

// TestConfinedOnceEnded: nobody knows what a process was that has ended.
func TestConfinedOnceEnded(t *testing.T) {
	needFree(t)
	l, address := abstract(t)
	defer l.Close()
	accepted := make(chan *net.UnixConn, 1)
	go func() {
		c, err := l.Accept()
		if err != nil {
			return
		}
		accepted <- c.(*net.UnixConn)
		_, _ = http.ReadRequest(bufio.NewReader(c))
		_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
	}()
	asBob(t, "SERVER_TEST_SOCKET="+address, "SERVER_TEST_REQUESTS=GET /", "SERVER_TEST_CONFINE=no")
	c := await(t, "a connection", accepted)
	defer c.Close()
	peer, err := peerOf(c)
	if err != nil {
		t.Fatal(err)
	}
	peer.Pid, peer.Uid = int32(os.Getpid()), bobUID // as if its number belonged to another process by now
	if !confined(c, peer) {
		t.Error("got not confined")
	}
}

// needFree skips a test if this kernel names no process of a connection, or if nobody is confined
// because the test is.
func needFree(t *testing.T) {
	t.Helper()
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(pair[0])
	defer unix.Close(pair[1])
	if pidfd, err := unix.GetsockoptInt(pair[0], unix.SOL_SOCKET, unix.SO_PEERPIDFD); err != nil {
		hosttest.Missing(t, "SO_PEERPIDFD: %v", err)
	} else {
		_ = unix.Close(pidfd)
	}
	if own, err := unix.PrctlRetInt(unix.PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0); err != nil || own == 1 {
		hosttest.Missing(t, "the test cannot gain privileges")
	}
}
