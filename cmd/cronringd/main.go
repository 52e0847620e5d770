// Command cronringd is the daemon.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"runtime/debug"
	"syscall"
	"time"
	_ "time/tzdata" // for hosts and containers without /usr/share/zoneinfo

	"github.com/cronring/cronring/daemon"
	"github.com/cronring/cronring/daemon/api"
)

const usage = `usage: cronringd [--state DIR] [--socket PATH] [--system] [--grace D] [--log text|json] FILE...

Runs the jobs of the crontab FILEs in the foreground, as the current user.
SIGHUP reads the files again. SIGTERM or SIGINT starts no further job, waits
for running ones up to --grace, and exits 0; a second one ends them at once.

`

func main() { os.Exit(run(os.Args[1:], os.Stdout, os.Stderr)) }

func run(args []string, stdout, stderr io.Writer) int {
	flags := flag.NewFlagSet("cronringd", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.Usage = func() { fmt.Fprint(stderr, usage); flags.PrintDefaults() }
	o := daemon.Options{Stdout: stdout, Stderr: stderr, Version: version()}
	flags.StringVar(&o.State, "state", filepath.Dir(api.UserSocket(os.Getenv)), "`directory` of the history")
	flags.StringVar(&o.Socket, "socket", "", "`path` of the control socket (default cronring.sock in the state directory)")
	flags.BoolVar(&o.System, "system", false, "the files have a column for the account, as /etc/crontab has")
	flags.DurationVar(&o.Grace, "grace", 30*time.Second, "how long running jobs may go on after SIGTERM")
	format := flags.String("log", "text", "`format` of what is written: text, or json for machines")
	if err := flags.Parse(args); errors.Is(err, flag.ErrHelp) {
		return 0
	} else if err != nil {
		return 2
	}
	if o.Files = flags.Args(); len(o.Files) == 0 || *format != "text" && *format != "json" {
		flags.Usage()
		return 2
	}
	o.JSON = *format == "json"

	signals := make(chan os.Signal, 4)
	signal.Notify(signals, syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP)
	o.Signals = signals
	// Without a handler a closed standard output would end the daemon; with
	// SIGPIPE ignored, jobs would inherit that.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	if err := daemon.Run(context.Background(), o); err != nil {
		fmt.Fprintln(stderr, "cronringd:", err)
		return 1
	}
	return 0
}

func version() string {
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
		return info.Main.Version
	}
	return "devel"
}
