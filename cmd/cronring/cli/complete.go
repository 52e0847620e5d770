package cli

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/cronring/cronring/daemon/api"
	"github.com/cronring/cronring/daemon/display"
)

// CompleteFlag completes the words of a flag that takes several, separated by commas.
func CompleteFlag(cmd *cobra.Command, flag string, words []string) {
	_ = cmd.RegisterFlagCompletionFunc(flag, func(_ *cobra.Command, _ []string, typed string) (offered []string, _ cobra.ShellCompDirective) {
		done := typed[:strings.LastIndexByte(typed, ',')+1]
		for _, word := range words {
			offered = append(offered, done+word)
		}
		return offered, cobra.ShellCompDirectiveNoFileComp
	})
}

// completionPatience limits how long completion waits for the daemon.
const completionPatience = 50 * time.Millisecond

// CompleteJobs offers the names of jobs, and of the sets of jobs, that begin
// with what was typed.
func (a *App) CompleteJobs(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
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

// jobNames returns the daemon's job names that begin with typed. It leaves out names that
// a shell could misread.
func (a *App) jobNames(ctx context.Context, typed string) (names []string) {
	if ctx == nil {
		ctx = context.Background()
	}
	ctx, cancel := context.WithTimeout(ctx, completionPatience)
	defer cancel()
	var q api.Query
	if typed != "" {
		q.Refs = []string{globbed(typed) + "*"}
	}
	jobs, err := a.Daemon().List(ctx, q)
	if err != nil {
		return nil
	}
	for i := range jobs {
		if name := string(jobs[i].Job.ID); display.Quote(name) == name && display.Text(name) == name {
			names = append(names, name)
		}
	}
	return names
}

// globbed is a pattern that means the text itself.
func globbed(text string) string {
	return strings.NewReplacer(`\`, `\\`, "*", `\*`, "?", `\?`, "[", `\[`).Replace(text)
}
