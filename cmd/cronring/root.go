package main

import (
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/cronring/cronring/cmd/cronring/analysis"
	"github.com/cronring/cronring/cmd/cronring/cli"
	"github.com/cronring/cronring/cmd/cronring/crontabs"
	"github.com/cronring/cronring/cmd/cronring/dashboard"
	"github.com/cronring/cronring/cmd/cronring/host"
	"github.com/cronring/cronring/cmd/cronring/jobs"
	"github.com/cronring/cronring/cmd/cronring/migration"
	"github.com/cronring/cronring/cmd/cronring/ring"
	"github.com/cronring/cronring/cmd/cronring/runs"
	"github.com/cronring/cronring/crontab/diagnostic"
	"github.com/cronring/cronring/daemon/api"
)

// newRoot builds the tree of commands. Without an argument it is the
// dashboard, or the status where that cannot be shown.
func newRoot(a *cli.App) *cobra.Command {
	root := &cobra.Command{
		Use:   "cronring",
		Short: "Show and control the jobs of cronringd, and check crontab files without it",
		Long: `Show and control the jobs of cronringd, and check crontab files without it.

Without a command: cronring top on a terminal, else cronring status.

JOB is a name, USER/NAME, a glob, FILE:LINE, or @failed, @running, @late, @paused.
RUN is a number, or JOB@last, JOB@-2, JOB@failed.`,
		SilenceErrors:      true,
		SilenceUsage:       true,
		CompletionOptions:  cobra.CompletionOptions{DisableDefaultCmd: true},
		DisableSuggestions: true, // unknownCommand makes them, in the shape of an error
		PersistentPreRunE:  func(cmd *cobra.Command, _ []string) error { return a.Prepare(cmd) },
		Args:               unknownCommand,
		RunE:               func(cmd *cobra.Command, _ []string) error { return bare(a, cmd) },
	}
	a.AddConnection(root) // also accepted before the command
	root.Version = api.Release()
	root.SetVersionTemplate(versionLine())
	root.Flags().BoolP("version", "v", false, "print the version")
	root.SetFlagErrorFunc(badFlag)
	root.SetUsageFunc(func(cmd *cobra.Command) error {
		cmd.Print(usage(cmd))
		return nil
	})
	a.PageHelp(root)
	root.AddGroup(
		&cobra.Group{ID: "jobs", Title: "Jobs:"},
		&cobra.Group{ID: "crontabs", Title: "Crontabs:"},
		&cobra.Group{ID: "analysis", Title: "Analysis:"},
		&cobra.Group{ID: "host", Title: "Host:"},
		&cobra.Group{ID: "ring", Title: "Ring:"},
		&cobra.Group{ID: "help", Title: "Help:"},
	)
	root.SetHelpCommand(newHelp(a))
	root.SetHelpCommandGroupID("help")
	for group, verbs := range map[string][]*cobra.Command{
		"jobs": {
			dashboard.NewTop(a, newRoot), dashboard.NewDemo(a, newRoot), jobs.NewStatus(a), jobs.NewList(a), jobs.NewShow(a), jobs.NewWhy(a),
			runs.NewHistory(a), runs.NewLogs(a), runs.NewDead(a),
			runs.NewRun(a), runs.NewStop(a), runs.NewRetry(a), runs.NewBackfill(a), jobs.NewPause(a), jobs.NewSkip(a), jobs.NewResume(a), jobs.NewAck(a), jobs.NewEmit(a), jobs.NewBeat(a), jobs.NewState(a), jobs.NewAccess(a),
		},
		"crontabs": {
			crontabs.NewEdit(a, newRoot), crontabs.NewAdd(a), crontabs.NewSet(a), crontabs.NewRm(a), crontabs.NewApply(a), crontabs.NewUndo(a),
		},
		"analysis": {
			analysis.NewLint(a), analysis.NewNext(a), analysis.NewExplain(a), analysis.NewSimulate(a), crontabs.NewDiff(a),
			newReport(a),
		},
		"host": {
			newDoctor(a), host.NewConfig(a), host.NewCalendar(a), crontabs.NewReload(a), host.NewDB(a),
			newImport(a), migration.NewExport(a), host.NewBridge(a),
		},
		"ring": {ring.NewRing(a)},
		"help": {analysis.NewOptions(a), newMan(a), newCompletion(a)},
	} {
		for _, verb := range verbs {
			verb.GroupID = group
			finish(a, verb)
			root.AddCommand(verb)
		}
	}
	for _, topic := range newTopics() {
		root.AddCommand(topic)
	}
	return root
}

// versionLine is the output of --version.
func versionLine() string {
	return fmt.Sprintf("cronring %s %s %s/%s\n", api.Release(), runtime.Version(), runtime.GOOS, runtime.GOARCH)
}

// bare runs the program without a command: the dashboard on a terminal that can
// show it, otherwise the status.
func bare(a *cli.App, cmd *cobra.Command) error {
	if dashboard.CanShow(a) {
		return dashboard.Show(a, cmd, newRoot, "jobs", "")
	}
	return jobs.PrintStatusPage(a, cmd)
}

// offline are the commands that never ask the daemon.
var offline = []string{"lint", "simulate", "import", "bridge", "completion", "man", "options", "demo"}

// finish adds to a command, and to those below it, what all of their kind have.
func finish(a *cli.App, cmd *cobra.Command) {
	if isGroup(cmd) {
		cmd.Args = unknownCommand
	} else {
		cmd.Args = cli.CheckArgs(cmd.Args)
	}
	if cmd.HasSubCommands() && !cmd.Runnable() {
		cmd.RunE = func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
	} else if !slices.Contains(offline, cmd.Name()) {
		a.AddConnection(cmd)
	}
	cmd.DisableFlagsInUseLine = true
	if cmd.ValidArgsFunction == nil && strings.Contains(cmd.Use, "JOB") {
		cmd.ValidArgsFunction = a.CompleteJobs
	}
	for _, sub := range cmd.Commands() {
		finish(a, sub)
	}
}

// isGroup reports whether a command takes a subcommand and no arguments of its own.
func isGroup(cmd *cobra.Command) bool {
	return cmd.HasSubCommands() && !strings.Contains(cmd.Use, " ")
}

// unknownCommand rejects the arguments of a command that has only subcommands.
func unknownCommand(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	fix := cmd.CommandPath() + " --help"
	if near := nearestCommands(cmd, args[0]); near != nil {
		fix = cmd.CommandPath() + " " + strings.Join(near, "    or: "+cmd.CommandPath()+" ") + "    or see: " + fix
	}
	what := args[0]
	if cmd.HasParent() {
		what = cmd.Name() + " " + what
	}
	return cli.UsageError(fmt.Sprintf("do %q: no such command", what), "", fix)
}

// nearestCommands returns what a user may mean by a command that cmd does not have:
// a flag or subcommands of that name, else the command with the most similar name.
func nearestCommands(cmd *cobra.Command, name string) (near []string) {
	if cmd.Flags().Lookup(name) != nil {
		return []string{"--" + name}
	}
	var verbs []string
	for _, c := range cmd.Commands() {
		if c.Hidden {
			continue
		}
		verbs = append(verbs, c.Name())
		for _, below := range c.Commands() {
			if below.Name() == name && !below.Hidden {
				near = append(near, c.Name()+" "+name)
			}
		}
	}
	if nearest := diagnostic.Nearest(name, verbs); near == nil && nearest != "" {
		near = []string{nearest}
	}
	return near
}

// badFlag returns the error of an invalid flag. The flags of an unknown command are not the
// problem.
func badFlag(cmd *cobra.Command, err error) error {
	if words := cmd.Flags().Args(); isGroup(cmd) && len(words) > 0 {
		return unknownCommand(cmd, words)
	}
	help, why := cmd.CommandPath()+" --help", err.Error()
	if missing, ok := errors.AsType[*pflag.NotExistError](err); ok {
		var names []string
		cmd.Flags().VisitAll(func(f *pflag.Flag) { names = append(names, f.Name) })
		if near := diagnostic.Nearest(missing.GetSpecifiedName(), names); near != "" {
			help = cmd.CommandPath() + " --" + near + "    or see: " + help
		}
		if missing.GetSpecifiedShortnames() != "" {
			why = "unknown flag: -" + missing.GetSpecifiedName()
		}
	}
	if invalid, ok := errors.AsType[*pflag.InvalidValueError](err); ok {
		f := invalid.GetFlag()
		why = fmt.Sprintf("--%s %q: %v", f.Name, invalid.GetValue(), errors.Unwrap(err))
		switch f.Value.Type() {
		case "int":
			why = fmt.Sprintf("--%s %q: write a whole number", f.Name, invalid.GetValue())
		case "bool":
			why = fmt.Sprintf("--%s %q: write true or false", f.Name, invalid.GetValue())
		}
	}
	return cli.UsageError("read the flags of \""+cmd.CommandPath()+"\"", why, help)
}
