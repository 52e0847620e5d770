package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/cronring/cronring/cmd/cronring/cli"
)

// exitMeaning is the meaning of an exit code, and the commands that use it.
type exitMeaning struct {
	code  int
	text  string
	verbs []string // nil: of all
	asks  bool     // only for commands that use the daemon
}

// exitMeanings are all exit codes: help, the manual pages of the verbs and the tests
// of both read them here.
var exitMeanings = []exitMeaning{
	{code: cli.ExitDone, text: "done"},
	{code: cli.ExitFailed, text: "failed"},
	{code: cli.ExitUsage, text: "the command line makes no sense"},
	{code: 3, text: "no such job, run or file"},
	{code: 4, text: "not allowed", asks: true},
	{code: 5, text: "the daemon cannot be reached", asks: true},
	{code: 6, text: "refused by state: paused, overlapping, draining, nothing to stop, --read-only", asks: true},
	{code: 7, text: "the time of --timeout was over", asks: true},
	{code: cli.ExitProblems, text: "a check found problems", verbs: []string{"lint", "config", "calendar", "db", "doctor", "import", "status"}},
	{code: cli.ExitWaitFailed, text: "trouble that is not the job's own, with --wait", verbs: []string{"run", "retry", "logs"}},
	{code: cli.ExitInterrupted, text: "interrupted"},
}

// ownMeanings are those of verbs where they are others.
var ownMeanings = map[string]map[int]string{
	"diff":   {cli.ExitDone: "the schedules are the same", cli.ExitFailed: "the schedules differ", cli.ExitUsage: "trouble"},
	"import": {cli.ExitFailed: "failed, or with --against the starts differ", cli.ExitProblems: "with --strict something would behave differently"},
	"status": {cli.ExitProblems: "with --check there are problems"},
	"run":    {cli.ExitDone: "done, or with --wait the job's own code, or 128+n if signal n ended it"},
	"retry":  {cli.ExitDone: "done, or with --wait the job's own code, or 128+n if signal n ended it"},
	"logs":   {cli.ExitDone: "done, or with --wait the code of the run, or 128+n if signal n ended it"},
}

// meaningsOf are the exit codes of one verb.
func meaningsOf(verb *cobra.Command) (of []exitMeaning) {
	asks := usesDaemon(verb)
	for _, m := range exitMeanings {
		if m.asks && !asks || m.verbs != nil && !slices.Contains(m.verbs, verb.Name()) {
			continue
		}
		if own, ok := ownMeanings[verb.Name()][m.code]; ok {
			m.text = own
		}
		of = append(of, m)
	}
	return of
}

// usesDaemon reports whether a command, or one below it, uses the daemon.
func usesDaemon(cmd *cobra.Command) bool {
	return cmd.Annotations[cli.UsesDaemon] != "" || slices.ContainsFunc(cmd.Commands(), usesDaemon)
}

// newExitCodes is a help topic: it has no Run.
func newExitCodes() *cobra.Command {
	var text strings.Builder
	text.WriteString("Exit codes:\n\n")
	for _, m := range exitMeanings {
		fmt.Fprintf(&text, "  %-4d %s%s\n", m.code, m.text, verbsOf(m))
	}
	text.WriteString("\nWith --wait run, retry and logs give the job's own exit code, or 128+n if signal\nn ended it.")
	return &cobra.Command{Use: "exit-codes", Short: "What the exit codes mean", Long: text.String()}
}

// verbsOf lists the commands of an exit code, or those that use it for something else.
func verbsOf(m exitMeaning) string {
	switch {
	case m.verbs != nil:
		return " (" + strings.Join(m.verbs, ", ") + ")"
	case m.code == cli.ExitFailed || m.code == cli.ExitUsage:
		return " (diff: " + ownMeanings["diff"][m.code] + ")"
	}
	return ""
}
