package main

import (
	"errors"
	"fmt"
	"slices"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/cronring/cronring/cmd/cronring/cli"
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
	root.SetHelpCommandGroupID("more")
	for group, verbs := range map[string][]*cobra.Command{
		"see": {newTop(a), newStatus(a), newList(a), newShow(a), newHistory(a), newLogs(a), newWhy(a), newTimeline(a), newClashes(a), newStats(a), newMetrics(a), newGraph(a), newDead(a), newEvents(a), newEnv(a), newExport(a), newConfig(a)},
		"do": {
			newRun(a), newStop(a), newRetry(a), newRedrive(a), newDrop(a), newPause(a), newResume(a), newAck(a), newBackfill(a), newReload(a),
			newState(a), newNotify(a), newDB(a), newRing(a),
		},
		"files": {
			newLint(a), newNext(a), newExplain(a), newDiff(a), newSimulate(a), newImport(a),
		},
		"change": {newEdit(a), newAdd(a), newSet(a), newRm(a), newApply(a), newRevisions(a), newUndo(a)},
		"more":   {newDoctor(a), newPing(a), newVersion(a), newBridge(a), newCompletion(a), newMan(a)},
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

// offline are the commands that never ask the daemon.
var offline = []string{"lint", "simulate", "import", "version", "bridge", "completion", "man"}

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
