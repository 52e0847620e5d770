package main

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/cronring/cronring/daemon/api"
	"github.com/cronring/cronring/tui/safe"
)

func newCompletion(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "completion bash|zsh|fish",
		Short: "Print what makes a shell complete commands, flags and names of jobs",
		Long: `Print what makes a shell complete commands, flags and names of jobs.

The names come from the daemon. If it does not tell them within 50 ms, none are
offered.`,
		Example: `  cronring completion bash >/etc/bash_completion.d/cronring
  cronring completion zsh >"${fpath[1]}/_cronring"
  cronring completion fish >~/.config/fish/completions/cronring.fish`,
		Args:      cobra.ExactArgs(1),
		ValidArgs: []string{"bash", "zsh", "fish"},
		RunE: func(cmd *cobra.Command, args []string) error {
			root := cmd.Root()
			switch args[0] {
			case "bash":
				return root.GenBashCompletionV2(a.out, true)
			case "zsh":
				return root.GenZshCompletion(a.out)
			case "fish":
				return root.GenFishCompletion(a.out, true)
			}
			return badUsage("complete for the shell "+args[0], "it is none of bash, zsh and fish", "cronring completion bash")
		},
	}
}

// takesJobs are the verbs whose arguments name jobs.
var takesJobs = []string{
	"list", "show", "history", "logs", "why", "timeline", "clashes", "stats", "metrics", "graph", "dead", "events",
	"run", "stop", "redrive", "drop", "pause", "resume", "ack", "backfill", "next", "explain", "set", "rm", "retry", "env", "export",
}

// addCompletion has the arguments of a verb completed, if they name jobs.
func (a *app) addCompletion(verb *cobra.Command) {
	if slices.Contains(takesJobs, verb.Name()) {
		verb.ValidArgsFunction = a.completeJobs
	}
}

// completeFlag has the words of a flag completed that takes several, with commas
// between.
func completeFlag(cmd *cobra.Command, flag string, words []string) {
	_ = cmd.RegisterFlagCompletionFunc(flag, func(_ *cobra.Command, _ []string, typed string) (offered []string, _ cobra.ShellCompDirective) {
		done := typed[:strings.LastIndexByte(typed, ',')+1]
		for _, word := range words {
			offered = append(offered, done+word)
		}
		return offered, cobra.ShellCompDirectiveNoFileComp
	})
}

// completionPatience is how long a person who presses tab is kept waiting.
const completionPatience = 50 * time.Millisecond

// completeJobs offers the names of jobs, and of the sets of jobs, that begin
// with what was typed.
func (a *app) completeJobs(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
	names := []string{"@failed", "@late", "@paused", "@running"}
	if !strings.HasPrefix(typed, "@") {
		names = a.jobNames(cmd.Context(), typed)
	}
	names = slices.DeleteFunc(names, func(name string) bool { return !strings.HasPrefix(name, typed) || slices.Contains(args, name) })
	directive := cobra.ShellCompDirectiveNoFileComp
	if cmd.Name() == "next" { // a file's line can be meant
		directive = cobra.ShellCompDirectiveDefault
	}
	return names, directive
}

// jobNames asks the daemon for the names that begin with a word. Names that a
// shell could take for something else are not offered.
func (a *app) jobNames(ctx context.Context, typed string) (names []string) {
	if ctx == nil {
		ctx = context.Background()
	}
	ctx, cancel := context.WithTimeout(ctx, completionPatience)
	defer cancel()
	var q api.Query
	if typed != "" {
		q.Refs = []string{globbed(typed) + "*"}
	}
	jobs, err := a.daemon().List(ctx, q)
	if err != nil {
		return nil
	}
	for i := range jobs {
		if name := string(jobs[i].Job.ID); shellWord(name) == name && safe.Text(name) == name {
			names = append(names, name)
		}
	}
	return names
}

// globbed is a pattern that means the text itself.
func globbed(text string) string {
	return strings.NewReplacer(`\`, `\\`, "*", `\*`, "?", `\?`, "[", `\[`).Replace(text)
}
