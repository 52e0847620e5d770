// Command cronringd is the daemon, which runs the jobs of crontabs in place of the host's cron.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/signal"
	"syscall"
	_ "time/tzdata" // for hosts and containers without /usr/share/zoneinfo

	"github.com/spf13/pflag"

	"github.com/cronring/cronring/daemon"
	"github.com/cronring/cronring/daemon/api"
	"github.com/cronring/cronring/daemon/config"
	"github.com/cronring/cronring/daemon/cronview"
	"github.com/cronring/cronring/daemon/demo"
	"github.com/cronring/cronring/daemon/groups"
	"github.com/cronring/cronring/daemon/pamsession"
	"github.com/cronring/cronring/daemon/shim"
	"github.com/cronring/cronring/daemon/spawn"
	"github.com/cronring/cronring/daemon/spool"
	"github.com/cronring/cronring/daemon/watchfiles"
)

func main() {
	spawn.Helper()
	shim.Main()
	groups.Main()
	pamsession.Main()
	watchfiles.Main()
	os.Exit(run(os.Args[1:], os.Stdout, os.Stderr))
}

func run(args []string, stdout, stderr io.Writer) int {
	o := daemon.Options{Stdout: stdout, Stderr: stderr, Version: api.Release()}
	verb, err := parse(&o, args, spool.ThisHost().Family)
	switch {
	case errors.Is(err, pflag.ErrHelp):
		fmt.Fprint(stderr, usage, flagsHelp())
		return 0
	case err != nil:
		fmt.Fprintf(stderr, "cronringd: %v\n  fix   cronringd --help\n", err)
		return 2
	case verb == showVersion:
		fmt.Fprintln(stdout, "cronringd", o.Version)
		return 0
	case verb == checkConfig || verb == checkNamedConfig:
		return check(o.ConfigDir, verb == checkNamedConfig, stdout, stderr)
	case verb == showDemo:
		return exitCode(stderr, demo.Serve(os.Stdin, stdout))
	case verb == showCron:
		return exitCode(stderr, cronview.Serve(os.Stdin, stdout))
	}
	o.Config = config.Read(o.ConfigDir)
	if err := o.Config.Err(); err != nil {
		fmt.Fprintln(stderr, "cronringd:", err)
	}

	o.HungUp = hungUp()
	signals := make(chan os.Signal, 4)
	signal.Notify(signals, syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP, syscall.SIGUSR2)
	o.Signals = signals
	// Without a handler a closed standard output would end the daemon; with
	// SIGPIPE ignored, jobs would inherit that.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	return exitCode(stderr, daemon.Run(context.Background(), o))
}

// exitCode prints an error, and returns the exit code.
func exitCode(stderr io.Writer, err error) int {
	if err != nil {
		fmt.Fprintln(stderr, "cronringd:", err)
		return 1
	}
	return 0
}

// hungUp returns a function that reports whether the controlling terminal is gone, or nil if
// there is none, or SIGHUP is ignored, as nohup(1) makes it. It is called before signal.Notify.
func hungUp() func() bool {
	if signal.Ignored(syscall.SIGHUP) || !hasTerminal() {
		return nil
	}
	return func() bool { return !hasTerminal() }
}

// hasTerminal reports whether the process has a controlling terminal: see tty(4).
func hasTerminal() bool {
	tty, err := os.OpenFile("/dev/tty", os.O_RDONLY|syscall.O_NOCTTY, 0)
	if err != nil {
		return false
	}
	tty.Close()
	return true
}

// check is --check-config. named means that --config was given: the directory must exist.
func check(dir string, named bool, stdout, stderr io.Writer) int {
	if _, err := os.Stat(dir); err != nil && named {
		fmt.Fprintf(stderr, "cronringd: cannot check the configuration in %s\n  why   %s\n", dir, spool.Reason(err))
		if errors.Is(err, fs.ErrNotExist) {
			fmt.Fprintln(stderr, "  fix   name an existing directory: --config DIRECTORY")
		}
		return 1
	}
	c := config.Read(dir)
	if err := c.Err(); err != nil {
		fmt.Fprintln(stderr, "cronringd:", err)
		return 1
	}
	fmt.Fprintln(stdout, "cronringd: the configuration in", dir, "is in order")
	return 0
}
