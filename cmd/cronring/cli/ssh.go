package cli

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/cronring/cronring/daemon/api"
	"github.com/cronring/cronring/daemon/display"
)

// The daemon of another host is asked through ssh: "cronring bridge" runs
// there and passes bytes on between ssh and that host's socket. No argument of
// the command line goes there but the path of the socket, so that there is
// nothing for a shell of the other host to read; and who is asking is for the
// daemon there the account that ssh logged in as.

// remoteHost refuses what ssh would not take for the name of a host.
func remoteHost(host string) error {
	if strings.HasPrefix(host, "-") || strings.ContainsFunc(host, func(r rune) bool { return r <= ' ' || r == 0x7f }) {
		return UsageError(fmt.Sprintf("go to the host %q", host), "a name begins with no hyphen and has no blanks", "-H user@host")
	}
	return nil
}

// sshArgs returns the arguments for ssh.
func (a *App) sshArgs(host string) []string {
	args := []string{"-T"}
	if a.NoInput || a.Drawing { // a question would be drawn over, and its answer taken for keys
		args = append(args, "-o", "BatchMode=yes")
	}
	bridge := []string{"cronring", "bridge"}
	if a.cronHosts.has(host) {
		bridge = append(bridge, "--crontabs")
	}
	if a.Socket != "" {
		bridge = append(bridge, "--socket", a.Socket)
	}
	return append(args, "--", host, display.ShellLine(bridge))
}

// overSSH makes connections to the daemon of a host. Each is an ssh of its own,
// which ends with it.
func (a *App) overSSH(host string) func(context.Context) (net.Conn, error) {
	return func(ctx context.Context) (net.Conn, error) {
		ours, theirs, err := socketPair()
		if err != nil {
			return nil, err
		}
		defer theirs.Close()
		cmd := exec.Command("ssh", a.sshArgs(host)...)
		cmd.Stdin, cmd.Stdout, cmd.Stderr = theirs, theirs, a.Err
		c := &sshConn{Conn: ours, host: host, ended: make(chan struct{}), cronHosts: a.cronHosts}
		if a.Drawing {
			cmd.Stderr = &c.messages
		}
		if err := cmd.Start(); err != nil {
			ours.Close()
			if errors.Is(err, exec.ErrNotFound) {
				return nil, &api.Error{
					Kind: api.Unreachable, What: "cannot reach the daemon of " + host, Why: "ssh is not installed on this host, or not in the PATH",
					Fix: "apt install openssh-client    or: dnf install openssh-clients",
				}
			}
			return nil, fmt.Errorf("run ssh: %w", err)
		}
		go func() {
			defer close(c.ended)
			c.failed = cmd.Wait()
		}()
		return c, nil
	}
}

// sshConn is a connection that ssh makes. How ssh ended shows on it, with what it
// said if that is held back from a terminal on which the dashboard is drawn.
type sshConn struct {
	net.Conn
	host     string
	messages messageTail
	ended    chan struct{}
	failed   error // how ssh ended, once it has

	cronHosts *cronHosts
}

// cronHosts are the hosts without a daemon that a dashboard has met: it shows their crontabs instead.
// Other commands need the daemon.
type cronHosts struct {
	mu    sync.Mutex
	names map[string]bool // nil: the command is not a dashboard
}

// ShowCrontabs lets later connections show the crontabs of a host on which no daemon answers.
func (a *App) ShowCrontabs() {
	a.cronHosts.mu.Lock()
	defer a.cronHosts.mu.Unlock()
	a.cronHosts.names = map[string]bool{}
}

func (h *cronHosts) has(host string) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.names[host]
}

// learn takes into account how the command bridge ended on a host.
func (h *cronHosts) learn(host string, failed error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	switch code := exitCode(failed); {
	case h.names == nil:
	case code == api.Unreachable.Exit():
		h.names[host] = true
	case code == ExitUsage: // it is older, and does not have the flag
		delete(h.names, host)
	}
}

// sshEnds limits how long ssh may keep running after its end of the connection is closed.
const sshEnds = time.Second

func (c *sshConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	return n, c.explain(err)
}

func (c *sshConn) Write(p []byte) (int, error) {
	n, err := c.Conn.Write(p)
	return n, c.explain(err)
}

// explain makes of the end of the connection what ssh said of it, if that was
// held back.
func (c *sshConn) explain(err error) error {
	if err == nil || errors.Is(err, net.ErrClosed) {
		return err
	}
	select {
	case <-c.ended:
	case <-time.After(sshEnds):
		return err
	}
	message := c.messages.last()
	c.cronHosts.learn(c.host, c.failed)
	if c.failed == nil || message == "" {
		return err
	}
	e := &api.Error{
		Kind: api.Unreachable, What: "cannot reach the daemon of " + c.host + " through ssh",
		Why: message, Fix: "see that this gets there without a question: ssh " + c.host,
	}
	if exitCode(c.failed) == noSuchProgram {
		e.Why = "cronring is not installed there, or ssh does not find it (" + message + ")"
		e.Fix = "install cronring there, or copy cronring and cronringd to a directory in the PATH there"
	}
	return e
}

// noSuchProgram is the exit code of a shell that does not find a program.
const noSuchProgram = 127

// exitCode returns the exit code of a program that failed, or -1.
func exitCode(failed error) int {
	if ended, ok := errors.AsType[*exec.ExitError](failed); ok {
		return ended.ExitCode()
	}
	return -1
}

// messageTail keeps the last messages of a program.
type messageTail struct {
	mu   sync.Mutex
	text []byte
}

// maxMessageTail limits the size of messageTail.
const maxMessageTail = 4 << 10

func (h *messageTail) Write(p []byte) (int, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.text = append(h.text, p...)
	h.text = h.text[max(0, len(h.text)-maxMessageTail):]
	return len(p), nil
}

// last returns the last line, fit for a terminal: of an error of cronring its first, which says what
// failed.
func (h *messageTail) last() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	lines := strings.Split(strings.TrimSpace(string(h.text)), "\n")
	at := len(lines) - 1
	for at > 0 && strings.HasPrefix(lines[at], "  ") {
		at--
	}
	return display.Text(strings.TrimSpace(strings.TrimPrefix(lines[at], "cronring: ")))
}

// socketPair makes a connection with itself.
func socketPair() (ours net.Conn, theirs *os.File, err error) {
	syscall.ForkLock.RLock() // macOS cannot make sockets that no other program inherits
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM, 0)
	if err == nil {
		unix.CloseOnExec(fds[0])
		unix.CloseOnExec(fds[1])
	}
	syscall.ForkLock.RUnlock()
	if err != nil {
		return nil, nil, fmt.Errorf("make a connection for ssh: %w", err)
	}
	own := os.NewFile(uintptr(fds[0]), "ssh")
	theirs = os.NewFile(uintptr(fds[1]), "ssh")
	ours, err = net.FileConn(own) // a copy
	own.Close()
	if err != nil {
		return nil, nil, errors.Join(fmt.Errorf("make a connection for ssh: %w", err), theirs.Close())
	}
	return ours, theirs, nil
}
