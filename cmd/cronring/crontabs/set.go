package crontabs

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/cronring/cronring/cmd/cronring/cli"
	"github.com/cronring/cronring/crontab/option"
	"github.com/cronring/cronring/daemon/display"
)

// NewSet returns the command set.
func NewSet(a *cli.App) *cobra.Command {
	f := &changeFlags{}
	cmd := &cobra.Command{
		Use:   "set JOB KEY=VALUE...",
		Short: "Change options of a job",
		Long: `Change options of a job in its crontab. Options are written above the entry in
comments, #@ KEY=VALUE, which other crons ignore. KEY= removes an option. See
cronring-options(7) for all of them.

The rest of the file does not change.`,
		Example: "  cronring set etl-nightly overlap=queue timeout=2h\n  cronring set pg-backup protect=yes retry=",
		Args:    cobra.MinimumNArgs(2),
		RunE:    func(cmd *cobra.Command, args []string) error { return set(a, cmd, args[0], args[1:], f) },
	}
	f.add(a, cmd)
	a.AddZone(cmd, "of the times")
	return cmd
}

func set(a *cli.App, cmd *cobra.Command, ref string, settings []string, f *changeFlags) error {
	for _, s := range settings {
		if err := checkOption(s); err != nil {
			return err
		}
	}
	by, err := openCrontabs(cmd.Context(), a, f)
	if err != nil {
		return err
	}
	changes, entries, err := OpenJobs(cmd, by, "change", "set JOB "+display.ShellLine(settings), []string{ref})
	if err != nil {
		return err
	}
	c, one := cli.Single(changes)
	if !one || len(entries[c]) != 1 {
		return cli.UsageError("set options of "+ref, "it names several jobs, and one is wanted", "cronring list "+display.Quote(ref))
	}
	c.verb = "set"
	line := entries[c][0].Entry.Line()
	for _, s := range settings {
		key, value, _ := strings.Cut(s, "=")
		if line, err = c.draft.Set(line, key, value); err != nil {
			return cli.UsageError("set "+key, err.Error(), "cronring edit "+c.Old.File)
		}
	}
	return carryOut(cmd.Context(), a, c, f)
}

// checkOption rejects unknown options and options that this version does not
// implement: the entry would be held, or run without them.
func checkOption(setting string) error {
	key, value, ok := strings.Cut(setting, "=")
	spec := option.Find(key)
	switch {
	case !ok && spec != nil:
		return cli.UsageError(fmt.Sprintf("set %q", setting), "it has no value: "+key+" accepts "+spec.Values,
			"cronring set JOB "+key+"=VALUE    or to remove it: "+key+"=")
	case !ok:
		return cli.UsageError(fmt.Sprintf("set %q", setting), "it is not written KEY=VALUE", "cronring options")
	case strings.HasPrefix(key, "x-") || value == "" || spec != nil:
		return nil
	}
	fix := "man cronring-options"
	if near := option.NearestKey(key); near != "" {
		fix = "cronring set JOB " + display.Quote(near+"="+value) + "    or see: " + fix
	}
	return cli.UsageError(fmt.Sprintf("set %q: no such option", key), "", fix)
}
