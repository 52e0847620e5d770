package main

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/cronring/cronring/crontab"
	"github.com/cronring/cronring/daemon"
	"github.com/cronring/cronring/daemon/api"
)

const usage = `usage: cronringd [options]            root: run the crontabs of this host, instead of cron
       cronringd [options] FILE...    run the jobs of these crontabs as the current user

cronringd stays in the foreground. SIGHUP reads the crontabs again. After SIGTERM
or SIGINT it starts no jobs, waits for active runs up to --grace, and exits 0; a
second signal ends them immediately. Under a service manager it does not wait: runs
continue without it, and the next start takes them over. SIGUSR2 executes the
program again in place, as after an upgrade; active runs are not interrupted.

Options of cron and crond from EXTRA_OPTS and CRONDARGS have the same meaning as
in this host's own cron: see cronringd(8).

`

// verb is the action of a command line.
type verb int

const (
	runDaemon verb = iota
	showVersion
	checkConfig
	checkNamedConfig // in a directory that --config names
	showDemo         // for cronring demo
	showCron         // for cronring top without a daemon
)

// hostState and hostRuntime are the directories of a host's own daemon.
const (
	hostState   = "/var/lib/cronring"
	hostRuntime = "/run/cronring"
	configDir   = "/etc/cronring"
)

// logForms are the values of --log.
var logForms = []string{"auto", "text", "json", "journal", "syslog"}

// ownFlags are the options of cronringd itself.
func ownFlags(o *daemon.Options, version, check *bool) *pflag.FlagSet {
	f := pflag.NewFlagSet("cronringd", pflag.ContinueOnError)
	f.SortFlags = false
	f.StringVar(&o.State, "state", "", "`directory` of the history (default "+hostState+" for the host's crontabs)")
	f.StringVar(&o.Socket, "socket", "", "`path` of the control socket (default "+api.SystemSocket+" for the host's crontabs, else cronring.sock in the state directory)")
	f.BoolVar(&o.System, "system", false, "the FILEs have a user column, like /etc/crontab")
	f.DurationVar(&o.Grace, "grace", 30*time.Second, "how long active runs may continue after SIGTERM")
	f.StringVar(&o.Log, "log", "", "`where` to write: auto, text, json (both to standard output), journal or syslog")
	f.StringVar(&o.ConfigDir, "config", configDir, "`directory` of cronring.toml and conf.d")
	f.BoolVar(check, "check-config", false, "check the configuration, print errors, and exit")
	f.BoolVar(version, "version", false, "print the version and exit")
	return f
}

func flagsHelp() string {
	var o daemon.Options
	var b bool
	return ownFlags(&o, &b, &b).FlagUsages()
}

// cronFlags adds the options of the family's own cron, so that those in /etc/default/cron or
// /etc/sysconfig/crond keep their effect. They are not in --help: the manual page has them.
func cronFlags(f *pflag.FlagSet, o *daemon.Options, family crontab.Family, version *bool) {
	var ignored bool
	var text string
	f.BoolVarP(&ignored, "foreground", "f", false, "")
	f.StringVarP(&text, "debug", "x", "", "")
	if family == crontab.RHEL {
		f.BoolVarP(&ignored, "no-daemon", "n", false, "")
		f.StringVarP(&o.Cron.Mailer, "mailer", "m", "", "")
		f.BoolVarP(&o.Cron.ToSyslog, "mail-to-syslog", "s", false, "")
		f.BoolVarP(&o.Cron.InheritPath, "inherit-path", "P", false, "")
		f.BoolVarP(&o.Cron.NoWatch, "no-inotify", "i", false, "")
		f.BoolVarP(&o.Cron.Permissive, "permissive", "p", false, "")
		f.BoolVarP(&o.Cron.Cluster, "cluster", "c", false, "")
		f.BoolVarP(version, "print-version", "V", false, "")
		return
	}
	f.BoolVarP(&o.Cron.LSBNames, "lsb-names", "l", false, "")
	f.IntVarP(&o.Cron.LogLevel, "log-level", "L", 1, "")
	f.BoolVarP(&o.Cron.FullHost, "full-host-name", "n", false, "")
}

// parse reads a command line into o.
func parse(o *daemon.Options, args []string, family crontab.Family) (verb, error) {
	var version, check bool
	f := ownFlags(o, &version, &check)
	f.Usage = func() {}
	help := f.BoolP("help", "h", false, "")
	invented, foreign := f.Bool("demo", false, ""), f.Bool("view-crontabs", false, "")
	cronFlags(f, o, family, &version)
	if err := f.Parse(args); err != nil {
		return runDaemon, err
	}
	if f.NArg() > 0 {
		o.Files = f.Args()
	}
	switch {
	case *help:
		return runDaemon, pflag.ErrHelp
	case version:
		return showVersion, nil
	case check && f.NArg() > 0:
		return runDaemon, fmt.Errorf("--check-config does not accept the argument %s: name a directory with --config DIRECTORY", f.Arg(0))
	case check && f.Changed("config"):
		return checkNamedConfig, nil
	case check:
		return checkConfig, nil
	case *invented:
		return showDemo, nil
	case *foreign:
		return showCron, nil
	case o.Log != "" && !slices.Contains(logForms, o.Log):
		return runDaemon, fmt.Errorf("--log %s: expected %s", o.Log, strings.Join(logForms, ", "))
	case o.Cron.Cluster:
		return runDaemon, errors.New("-c: cronie's cluster is the ring of cronring: mark the jobs with scope=ring instead")
	case len(o.Files) == 0 && os.Geteuid() != 0:
		return runDaemon, errors.New("missing argument: FILE (only root can run the crontabs of the host)")
	case len(o.Files) == 0 && o.System:
		return runDaemon, errors.New("--system requires FILEs: the format of the host's crontabs is known")
	}
	o.Family = family
	place(o)
	return runDaemon, nil
}

// place fills in the directories that were not named.
func place(o *daemon.Options) {
	if len(o.Files) > 0 {
		o.State = cmp.Or(o.State, filepath.Dir(api.UserSocket(os.Getenv)))
		return
	}
	o.Runtime = hostRuntime
	o.State = cmp.Or(o.State, hostState)
	o.Socket = cmp.Or(o.Socket, api.SystemSocket)
}
