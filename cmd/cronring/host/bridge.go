package host

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"

	"github.com/spf13/cobra"

	"github.com/cronring/cronring/cmd/cronring/cli"
	"github.com/cronring/cronring/cmd/cronring/dashboard"
	"github.com/cronring/cronring/daemon/api"
)

// NewBridge returns the command bridge.
func NewBridge(a *cli.App) *cobra.Command {
	crontabs := false
	cmd := &cobra.Command{
		Hidden: true,
		Use:    "bridge",
		Short:  "Pass bytes on between standard input and output and the daemon's socket",
		Long: `Pass bytes on between standard input and output and the daemon's socket, until
either side ends. -H runs it on the other host. As the forced command of a key in
authorized_keys it restricts that key to talking to the daemon.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if crontabs {
				defer dashboard.ViewCrontabs(a, cmd)()
			}
			return bridge(cmd.Context(), a)
		},
	}
	cmd.Flags().BoolVar(&crontabs, "crontabs", false, "if no daemon runs here, let cronringd show the crontabs to the dashboard that asks")
	cmd.Flags().StringVar(&a.Socket, "socket", "", "`PATH` of the daemon's socket (default: $CRONRING_SOCKET, else where it usually is)")
	return cmd
}

func bridge(ctx context.Context, a *cli.App) error {
	path := a.SocketPath()
	connect := func(ctx context.Context) (net.Conn, error) { return api.Connect(ctx, path) }
	if a.Beside != nil {
		connect = a.Beside
	}
	conn, err := connect(ctx)
	if foreign, ok := errors.AsType[*api.Error](err); ok {
		return foreign
	}
	if err != nil {
		return &api.Error{
			Kind: api.Unreachable, What: "cannot reach the daemon: cronringd does not answer on " + path,
			Why: err.Error(), Fix: "systemctl status cronring",
		}
	}
	defer conn.Close()
	go func() {
		_, _ = io.Copy(conn, a.In) // a side that is gone ends the other
		_ = conn.(*net.UnixConn).CloseWrite()
	}()
	if _, err := io.Copy(flushing{a}, conn); err != nil {
		return fmt.Errorf("pass on what the daemon answers: %w", err)
	}
	return nil
}

// flushing writes to the result at once.
type flushing struct{ *cli.App }

func (f flushing) Write(p []byte) (int, error) {
	n, err := f.Out.Write(p)
	return n, errors.Join(err, f.Out.Flush())
}
