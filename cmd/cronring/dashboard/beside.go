package dashboard

import (
	"bufio"
	"context"
	"errors"
	"io"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/cronring/cronring/cmd/cronring/cli"
	"github.com/cronring/cronring/daemon/api"
)

// startBeside starts cronringd with a flag, and makes it the daemon of a. It ends when its input is
// closed, thus also when this process is killed. If it ends by itself, next makes the connections. The
// caller calls end.
func startBeside(a *cli.App, cmd *cobra.Command, flag string, next func(context.Context) (net.Conn, error)) (end func(), err error) {
	beside := exec.Command(daemonProgram(), flag)
	in, err := beside.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := beside.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := beside.Start(); err != nil {
		return nil, err
	}
	address, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		in.Close()
		return nil, errors.Join(err, beside.Wait())
	}
	ctx, cancel := context.WithCancel(cmd.Context())
	go func() { // its output ends with it; afterwards, another process could take its address
		io.Copy(io.Discard, out)
		cancel()
	}()
	a.Beside = func(dial context.Context) (net.Conn, error) {
		if ctx.Err() != nil {
			return next(dial)
		}
		return api.ConnectOwn(dial, strings.TrimSpace(address))
	}
	return func() {
		cancel()
		in.Close()
		beside.Wait()
	}, nil
}

// ViewCrontabs shows the crontabs of this host if the command is about its daemon, which does not run.
// It ends when a daemon starts, to which later connections go. Without cronringd beside cronring
// it does nothing.
func ViewCrontabs(a *cli.App, cmd *cobra.Command) (end func()) {
	named := a.Socket != "" || a.Host != "" || os.Getenv("CRONRING_SOCKET") != ""
	if named || a.Beside != nil || !daemonIsDown(cmd.Context()) {
		return func() {}
	}
	end, err := startBeside(a, cmd, "--view-crontabs", func(ctx context.Context) (net.Conn, error) {
		return api.Connect(ctx, api.FindSocket(os.Getenv))
	})
	if err != nil {
		return func() {}
	}
	return end
}

// daemonIsDown reports whether no daemon listens on this host.
func daemonIsDown(ctx context.Context) bool {
	err := api.Probe(ctx)
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ECONNREFUSED)
}

// daemonProgram returns the path of cronringd, which is installed in the same directory as cronring, or
// in the sbin directory beside it.
func daemonProgram() string {
	self, err := os.Executable()
	if err == nil {
		self, err = filepath.EvalSymlinks(self)
	}
	if err != nil {
		return "/usr/sbin/cronringd"
	}
	beside := filepath.Join(filepath.Dir(self), "cronringd")
	if _, err := os.Stat(beside); err == nil {
		return beside
	}
	return filepath.Join(filepath.Dir(self), "..", "sbin", "cronringd")
}
