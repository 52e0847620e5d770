package cli

import (
	"cmp"
	"context"
	"fmt"
	"net"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/cronring/cronring/daemon/api"
	"github.com/cronring/cronring/daemon/display"
)

// connection holds the flags about the daemon, and its client.
type connection struct {
	Socket   string
	Host     string   // the first of Hosts
	Hosts    []string // of -H
	timeout  Duration
	ReadOnly bool
	Client   *api.Client // nil before the first request

	// Beside connects to a cronringd that this command has started instead of the daemon, for cronring
	// demo or the crontabs of a host without a daemon, until a daemon starts there. nil: the daemon is
	// real.
	Beside func(context.Context) (net.Conn, error)
	Demo   bool // Beside plays an invented host

	cronHosts *cronHosts
}

// AddConnection adds the flags of all commands that use the daemon.
func (a *App) AddConnection(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&a.Socket, "socket", "", "`PATH` of the daemon's socket (default: $CRONRING_SOCKET, else where it usually is)")
	a.Host, a.Hosts = "", nil
	flags.FuncP("host", "H", "ask the daemon of `[USER@]HOST`, through ssh (default: $CRONRING_HOST)", a.addHost)
	flags.Var(&a.timeout, "timeout", "give up after `D`, with exit code 7 (default: $CRONRING_TIMEOUT, else never)")
	flags.Lookup("timeout").DefValue = ""
	flags.BoolVar(&a.ReadOnly, "read-only", false, "refuse to change anything")
	flags.BoolVar(&a.NoInput, "no-input", false, "never ask a question (default: $CRONRING_NO_INPUT)")
	cmd.Annotations = map[string]string{UsesDaemon: "yes"}
}

// GlobalFlags are the names of the flags of AddConnection.
var GlobalFlags = []string{"socket", "host", "timeout", "read-only", "no-input"}

// UsesDaemon is the annotation of the commands that have the flags of AddConnection.
const UsesDaemon = "daemon"

// Prepare takes what the flags and the environment say about the daemon, once the
// flags are known to go together.
func (a *App) Prepare(cmd *cobra.Command) error {
	if err := checkFlags(cmd); err != nil {
		return err
	}
	if _, asks := cmd.Annotations[UsesDaemon]; !asks {
		return nil
	}
	a.Host = cmp.Or(a.Host, os.Getenv("CRONRING_HOST"))
	a.NoInput = a.NoInput || os.Getenv("CRONRING_NO_INPUT") != ""
	if text := os.Getenv("CRONRING_TIMEOUT"); text != "" && !cmd.Flags().Changed("timeout") {
		if err := a.timeout.Set(text); err != nil {
			return UsageError("use CRONRING_TIMEOUT", err.Error(), "")
		}
	}
	if d := time.Duration(a.timeout); d > 0 {
		ctx, cancel := context.WithTimeoutCause(cmd.Context(), d, &api.Error{
			Kind: api.TimedOut, What: "cannot wait any longer: the " + display.Brief(d) + " of --timeout are over", Fix: "cronring status",
		})
		context.AfterFunc(ctx, cancel)
		cmd.SetContext(ctx)
	}
	return a.checkHosts(cmd)
}

// Daemon returns the client of the daemon that the flags and the environment
// name. The client is closed when the command ends.
func (a *App) Daemon() *api.Client {
	if a.Client != nil {
		return a.Client
	}
	switch {
	case a.Demo:
		a.Client = api.Through("the cronringd of this command", a.Beside)
	case a.Beside != nil:
		a.Client = api.DialWith(api.FindSocket(os.Getenv), a.Beside)
	case a.Host != "":
		a.Client = api.Through(a.Host+", through ssh", a.overSSH(a.Host))
	default:
		a.Client = api.Dial(a.SocketPath())
	}
	if a.ReadOnly {
		a.Client.ReadOnly()
	}
	if debug := os.Getenv("CRONRING_DEBUG"); debug != "" && debug != "0" && !a.Drawing {
		a.Client.Trace(a.trace)
	}
	return a.Client
}

// SocketPath returns the path of the socket of this host's daemon.
func (a *App) SocketPath() string { return cmp.Or(a.Socket, api.FindSocket(os.Getenv)) }

func (a *App) disconnect() {
	if a.Client != nil {
		a.Client.Close()
	}
}

// trace reports a request to the daemon and its duration, for CRONRING_DEBUG. It is
// a single write, because requests run concurrently.
func (a *App) trace(t api.Trace) {
	line := fmt.Sprintf("cronring: %s %s: ", t.Method, display.Text(t.Path))
	took := display.Brief(t.Took.Round(10 * time.Microsecond))
	switch {
	case t.Err != nil:
		line += fmt.Sprintf("no answer after %s: %s", took, display.Text(t.Err.Error()))
	case t.Ended:
		line += fmt.Sprintf("%d bytes, over after %s", t.Bytes, took)
	default:
		line += fmt.Sprintf("%d after %s", t.Status, took)
	}
	fmt.Fprintln(a.Err, line)
}

// ConnectionFlags are the flags that lead another command to the same daemon.
func (a *App) ConnectionFlags() (flags []string) {
	if a.Host != "" {
		flags = append(flags, "-H", a.Host)
	}
	if a.Socket != "" {
		flags = append(flags, "--socket", a.Socket)
	}
	return flags
}

// ThisHostOnly refuses -H for what is about this host.
func (a *App) ThisHostOnly(verb string) error {
	if a.Host == "" {
		return nil
	}
	return UsageError(verb+" on "+a.Host, "it is about the host that it runs on", "ssh "+a.Host+" cronring "+verb)
}
