package main

import (
	"errors"
	"fmt"
	"slices"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/cronring/cronring/cmd/cronring/analysis"
	"github.com/cronring/cronring/cmd/cronring/cli"
	"github.com/cronring/cronring/cmd/cronring/crontabs"
	"github.com/cronring/cronring/cmd/cronring/dashboard"
	"github.com/cronring/cronring/cmd/cronring/doctor"
	"github.com/cronring/cronring/cmd/cronring/host"
	"github.com/cronring/cronring/cmd/cronring/jobs"
	"github.com/cronring/cronring/cmd/cronring/migration"
	"github.com/cronring/cronring/cmd/cronring/ring"
	"github.com/cronring/cronring/cmd/cronring/runs"
	"github.com/cronring/cronring/crontab"
)

// newRoot builds the tree of commands. Without an argument it is the
// dashboard, or the status where that cannot be shown.
func newRoot(a *cli.App) *cobra.Command {
	root := &cobra.Command{
		Use:   "cronring",
		Short: "See and steer the jobs of cronringd, and read crontab files without it",
		Long: `See and steer the jobs of cronringd, and read crontab files without it.

Without a command: cronring top on a terminal, else cronring status.

JOB is a name, USER/NAME, a glob, FILE:LINE, or @failed, @running, @late, @paused.
RUN is a number, or JOB@last, JOB@-2, JOB@failed.`,
		SilenceErrors:      true,
		SilenceUsage:       true,
		CompletionOptions:  cobra.CompletionOptions{DisableDefaultCmd: true},
		DisableSuggestions: true, // unknownCommand makes them, in the shape of an error
		PersistentPreRunE:  func(cmd *cobra.Command, _ []string) error { return a.Prepare(cmd) },
		Args:               func(cmd *cobra.Command, args []string) error { return unknownCommand(cmd, args) },
		RunE:               func(cmd *cobra.Command, _ []string) error { return bare(a, cmd) },
	}
	a.AddConnection(root) // also accepted before the command
	root.SetFlagErrorFunc(badFlag)
	a.PageHelp(root)
	root.AddGroup(
		&cobra.Group{ID: "see", Title: "See (with a daemon):"},
		&cobra.Group{ID: "do", Title: "Do (with a daemon):"},
		&cobra.Group{ID: "change", Title: "Change crontabs:"},
		&cobra.Group{ID: "files", Title: "Files (without a daemon):"},
		&cobra.Group{ID: "more", Title: "More:"},
	)
	root.SetHelpCommand(newHelp(a))
	root.SetHelpCommandGroupID("more")
	for group, verbs := range map[string][]*cobra.Command{
		"see": {dashboard.NewTop(a, newRoot), jobs.NewStatus(a), jobs.NewList(a), jobs.NewShow(a), runs.NewHistory(a), runs.NewLogs(a), jobs.NewWhy(a), runs.NewTimeline(a), analysis.NewClashes(a), runs.NewStats(a), host.NewMetrics(a), jobs.NewGraph(a), runs.NewDead(a), runs.NewEvents(a), jobs.NewEnv(a), migration.NewExport(a), host.NewConfig(a)},
		"do": {
			runs.NewRun(a), runs.NewStop(a), runs.NewRetry(a), runs.NewRedrive(a), runs.NewDrop(a), jobs.NewPause(a), jobs.NewResume(a), jobs.NewAck(a), runs.NewBackfill(a), crontabs.NewReload(a),
			jobs.NewState(a), host.NewNotify(a), host.NewDB(a), ring.NewRing(a),
		},
		"files": {
			analysis.NewLint(a), analysis.NewNext(a), analysis.NewExplain(a), analysis.NewOptions(a), crontabs.NewDiff(a), analysis.NewSimulate(a), migration.NewImport(a),
		},
		"change": {crontabs.NewEdit(a), crontabs.NewAdd(a), crontabs.NewSet(a), crontabs.NewRm(a), crontabs.NewApply(a), crontabs.NewRevisions(a), crontabs.NewUndo(a)},
		"more":   {doctor.NewDoctor(a), host.NewPing(a), host.NewVersion(a), host.NewBridge(a), newCompletion(a), newMan(a)},
	} {
		for _, verb := range verbs {
			verb.GroupID = group
			finish(a, verb)
			if slices.Contains(takesJobs, verb.Name()) {
				verb.ValidArgsFunction = a.CompleteJobs
			}
			root.AddCommand(verb)
		}
	}
	for _, topic := range newTopics() {
		topic.GroupID = "more"
		root.AddCommand(topic)
	}
	return root
}

// bare runs the program without a command: the dashboard on a terminal that can
// show it, otherwise the status.
func bare(a *cli.App, cmd *cobra.Command) error {
	if dashboard.CanShow(a) {
		return dashboard.Show(a, cmd, "jobs", "")
	}
	return jobs.PrintStatusPage(a, cmd)
}

// offline are the commands that never ask the daemon.
var offline = []string{"lint", "simulate", "import", "version", "bridge", "completion", "man", "options"}

// finish adds to a command, and to those below it, what all of their kind have.
func finish(a *cli.App, cmd *cobra.Command) {
	cmd.DisableFlagsInUseLine = true
	cmd.Args = cli.CheckArgs(cmd.Args)
	for _, sub := range cmd.Commands() {
		finish(a, sub)
	}
	if helpOnly := cmd.HasSubCommands() && !cmd.HasFlags(); !helpOnly && !slices.Contains(offline, cmd.Name()) {
		a.AddConnection(cmd)
	}
}

func unknownCommand(root *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	var verbs []string
	for _, c := range root.Commands() {
		verbs = append(verbs, c.Name())
	}
	fix := "cronring --help"
	if near := crontab.Nearest(args[0], verbs); near != "" {
		fix = "cronring " + near + "    or see: " + fix
	}
	return cli.UsageError(fmt.Sprintf("do %q: no such command", args[0]), "", fix)
}

func badFlag(cmd *cobra.Command, err error) error {
	help := cmd.CommandPath() + " --help"
	if missing, ok := errors.AsType[*pflag.NotExistError](err); ok {
		var names []string
		cmd.Flags().VisitAll(func(f *pflag.Flag) { names = append(names, f.Name) })
		if near := crontab.Nearest(missing.GetSpecifiedName(), names); near != "" {
			help = cmd.CommandPath() + " --" + near + "    or see: " + help
		}
	}
	return cli.UsageError("read the flags of \""+cmd.CommandPath()+"\"", err.Error(), help)
}
