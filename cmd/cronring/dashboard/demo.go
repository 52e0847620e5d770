package dashboard

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/cronring/cronring/cmd/cronring/cli"
)

// NewDemo returns the command demo. root is that of NewTop.
func NewDemo(a *cli.App, root func(*cli.App) *cobra.Command) *cobra.Command {
	f := &topFlags{root: root, screen: cli.OneOf("jobs")}
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "Show the dashboard of an invented host",
		Long: `Show the dashboard of an invented host: 30 days of history with failing jobs and a
change of the clock, and a ring of three. Try every key: nothing is really run, and
nothing is left when you quit. It needs no daemon, no files and no privileges.

The engine of cronringd makes the history, and time goes on while the dashboard is
open. cronringd has to be installed beside cronring.`,
		Example: "  cronring demo",
		Args:    cobra.NoArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return demo(a, cmd, f) },
	}
	cmd.Flags().BoolVar(&f.ascii, "ascii", false, "draw with ASCII characters alone")
	a.AddColor(cmd)
	return cmd
}

// demo shows the dashboard of a host that cronringd plays. That process ends when its input is closed,
// thus also when this one is killed.
func demo(a *cli.App, cmd *cobra.Command, f *topFlags) error {
	if !CanShow(a) {
		return top(a, cmd, f) // which says why not
	}
	player := exec.Command(daemonProgram(), "--demo")
	in, err := player.StdinPipe()
	if err != nil {
		return err
	}
	out, err := player.StdoutPipe()
	if err != nil {
		return err
	}
	if err := player.Start(); err != nil {
		return fmt.Errorf("show the demo, which needs cronringd beside cronring: %w", err)
	}
	address, err := bufio.NewReader(out).ReadString('\n')
	if err == nil {
		ctx, cancel := context.WithCancel(cmd.Context())
		defer cancel()
		go func() { // its output ends with it; afterwards, another process could take its address
			io.Copy(io.Discard, out)
			cancel()
		}()
		a.Demo = func(dial context.Context) (net.Conn, error) {
			if ctx.Err() != nil {
				return nil, errors.New("the demo has ended")
			}
			return new(net.Dialer).DialContext(dial, "unix", strings.TrimSpace(address))
		}
		err = top(a, cmd, f)
	}
	in.Close()
	player.Wait()
	return err
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
