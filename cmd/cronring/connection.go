package main

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/cronring/cronring/daemon/api"
	"github.com/cronring/cronring/tui/safe"
	"github.com/cronring/cronring/tui/when"
)

// connection is what the flags say about the daemon.
type connection struct {
	socket   string
	host     string
	timeout  durationFlag
	readOnly bool
	client   *api.Client // nil before the first request
}

// addConnection adds the flags of all commands that use the daemon.
func (a *app) addConnection(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&a.socket, "socket", "", "`PATH` of the daemon's socket (default: $CRONRING_SOCKET, else where it usually is)")
	flags.StringVarP(&a.host, "host", "H", "", "ask the daemon of `[USER@]HOST`, through ssh (default: $CRONRING_HOST)")
	flags.Var(&a.timeout, "timeout", "give up after `D`, with exit code 7 (default: $CRONRING_TIMEOUT, else never)")
	flags.Lookup("timeout").DefValue = ""
	flags.BoolVar(&a.readOnly, "read-only", false, "refuse to change anything")
	flags.BoolVar(&a.noInput, "no-input", false, "never ask a question (default: $CRONRING_NO_INPUT)")
	cmd.Annotations = map[string]string{usesDaemon: ""}
}

// usesDaemon marks the commands that have the flags of addConnection.
const usesDaemon = "daemon"

// reach takes what the flags and the environment say about the daemon, once the
// flags are known to go together.
func (a *app) reach(cmd *cobra.Command) error {
	if err := flagRules(cmd); err != nil {
		return err
	}
	if _, asks := cmd.Annotations[usesDaemon]; !asks {
		return nil
	}
	if a.host == "" {
		a.host = os.Getenv("CRONRING_HOST")
	}
	a.noInput = a.noInput || os.Getenv("CRONRING_NO_INPUT") != ""
	if text := os.Getenv("CRONRING_TIMEOUT"); text != "" && !cmd.Flags().Changed("timeout") {
		if err := a.timeout.Set(text); err != nil {
			return badUsage("use CRONRING_TIMEOUT", err.Error(), "")
		}
	}
	if d := time.Duration(a.timeout); d > 0 {
		ctx, cancel := context.WithTimeoutCause(cmd.Context(), d, &api.Error{
			Kind: api.TimedOut, What: "cannot wait any longer: the " + when.Brief(d) + " of --timeout are over", Fix: "cronring status",
		})
		context.AfterFunc(ctx, cancel)
		cmd.SetContext(ctx)
	}
	return remoteHost(a.host)
}

// daemon returns the client of the daemon that the flags and the environment
// name. The client is closed when the command ends.
func (a *app) daemon() *api.Client {
	if a.client != nil {
		return a.client
	}
	switch {
	case a.host != "":
		a.client = api.Through(a.host+", through ssh", a.overSSH(a.host))
	case a.socket != "":
		a.client = api.Dial(a.socket)
	default:
		a.client = api.Dial(api.FindSocket(os.Getenv))
	}
	if a.readOnly {
		a.client.ReadOnly()
	}
	if debug := os.Getenv("CRONRING_DEBUG"); debug != "" && debug != "0" && !a.drawn {
		a.client.Trace(a.trace)
	}
	return a.client
}

func (a *app) disconnect() {
	if a.client != nil {
		a.client.Close()
	}
}

// trace reports a request to the daemon and its duration, for CRONRING_DEBUG. It is
// a single write, because requests run concurrently.
func (a *app) trace(t api.Trace) {
	line := fmt.Sprintf("cronring: %s %s: ", t.Method, safe.Text(t.Path))
	took := when.Brief(t.Took.Round(10 * time.Microsecond))
	switch {
	case t.Err != nil:
		line += fmt.Sprintf("no answer after %s: %s", took, safe.Text(t.Err.Error()))
	case t.Ended:
		line += fmt.Sprintf("%d bytes, over after %s", t.Bytes, took)
	default:
		line += fmt.Sprintf("%d after %s", t.Status, took)
	}
	fmt.Fprintln(a.err, line)
}

// reachFlags are the flags that lead another command to the same daemon.
func (a *app) reachFlags() (flags []string) {
	if a.host != "" {
		flags = append(flags, "-H", a.host)
	}
	if a.socket != "" {
		flags = append(flags, "--socket", a.socket)
	}
	return flags
}

// onThisHost refuses -H for what is about this host.
func (a *app) onThisHost(verb string) error {
	if a.host == "" {
		return nil
	}
	return badUsage(verb+" on "+a.host, "it is about the host that it runs on", "ssh "+a.host+" cronring "+verb)
}
