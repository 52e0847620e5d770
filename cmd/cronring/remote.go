package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"

	"github.com/cronring/cronring/daemon/api"
)

// The daemon of another host is asked through ssh: "cronring bridge" runs
// there and passes bytes on between ssh and that host's socket. No argument of
// the command line goes there but the path of the socket, so that there is
// nothing for a shell of the other host to read; and who is asking is for the
// daemon there the account that ssh logged in as.

// remoteHost refuses what ssh would not take for the name of a host.
func remoteHost(host string) error {
	if strings.HasPrefix(host, "-") || strings.ContainsFunc(host, func(r rune) bool { return r <= ' ' || r == 0x7f }) {
		return badUsage(fmt.Sprintf("go to the host %q", host), "a name begins with no hyphen and has no blanks", "-H user@host")
	}
	return nil
}

// sshArgs is what ssh is called with.
func (a *app) sshArgs(host string) []string {
	args := []string{"-T"}
	if a.noInput {
		args = append(args, "-o", "BatchMode=yes")
	}
	bridge := []string{"cronring", "bridge"}
	if a.socket != "" {
		bridge = append(bridge, "--socket", a.socket)
	}
	return append(args, "--", host, shellLine(bridge))
}

// overSSH makes connections to the daemon of a host. Each is an ssh of its own,
// which ends with it.
func (a *app) overSSH(host string) func(context.Context) (net.Conn, error) {
	return func(ctx context.Context) (net.Conn, error) {
		ours, theirs, err := socketPair()
		if err != nil {
			return nil, err
		}
		defer theirs.Close()
		cmd := exec.Command("ssh", a.sshArgs(host)...)
		cmd.Stdin, cmd.Stdout, cmd.Stderr = theirs, theirs, a.err
		if err := cmd.Start(); err != nil {
			return nil, errors.Join(fmt.Errorf("run ssh: %w", err), ours.Close())
		}
		go func() { _ = cmd.Wait() }() // how it ended shows on the connection, and what it said on stderr
		return ours, nil
	}
}

// socketPair makes a connection with itself.
func socketPair() (ours net.Conn, theirs *os.File, err error) {
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
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

func newBridge(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "bridge",
		Short: "Pass bytes on between standard input and output and the daemon's socket",
		Long: `Pass bytes on between standard input and output and the daemon's socket, until
either side ends. This is what -H runs on the other host; as the forced command
of a key in authorized_keys it gives that key the daemon and nothing else.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return a.bridge(cmd.Context()) },
	}
	cmd.Flags().StringVar(&a.socket, "socket", "", "`PATH` of the daemon's socket (default: $CRONRING_SOCKET, else where it usually is)")
	return cmd
}

func (a *app) bridge(ctx context.Context) error {
	path := a.socket
	if path == "" {
		path = api.FindSocket(os.Getenv)
	}
	conn, err := new(net.Dialer).DialContext(ctx, "unix", path)
	if err != nil {
		return &api.Error{
			Kind: api.Unreachable, What: "cannot reach the daemon: cronringd does not answer on " + path,
			Why: err.Error(), Fix: "systemctl status cronring",
		}
	}
	defer conn.Close()
	go func() {
		_, _ = io.Copy(conn, a.in) // a side that is gone ends the other
		_ = conn.(*net.UnixConn).CloseWrite()
	}()
	if _, err := io.Copy(flushing{a}, conn); err != nil {
		return fmt.Errorf("pass on what the daemon answers: %w", err)
	}
	return nil
}

// flushing writes to the result at once.
type flushing struct{ *app }

func (f flushing) Write(p []byte) (int, error) {
	n, err := f.out.Write(p)
	return n, errors.Join(err, f.out.Flush())
}
