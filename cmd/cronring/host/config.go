package host

import (
	"context"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/cronring/cronring/cmd/cronring/analysis"
	"github.com/cronring/cronring/cmd/cronring/cli"
	"github.com/cronring/cronring/cmd/cronring/ring"
	"github.com/cronring/cronring/crontab/option"
	"github.com/cronring/cronring/daemon/api"
	"github.com/cronring/cronring/daemon/config"
	"github.com/cronring/cronring/daemon/display"
	"github.com/cronring/cronring/daemon/spool"
)

// NewConfig returns the command config and its subcommands.
func NewConfig(a *cli.App) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "config",
		Short:   "Show or check the configuration and a job's environment, or test a channel",
		Example: "  cronring config show backup\n  cronring config check && systemctl reload cronring",
	}
	cmd.AddCommand(newConfigShow(a), newConfigEnv(a), newConfigCheck(a), newConfigPath(a), newConfigNotify(a))
	return cmd
}

func newConfigShow(a *cli.App) *cobra.Command {
	var out *cli.Output
	cmd := &cobra.Command{
		Use:   "show [JOB]",
		Short: "Show the settings of the daemon, or the options of a job",
		Long: `Show the settings of the daemon, each with the file and line that set it, or
"built-in". For JOB, show each option with what set it: the configuration, an
assignment, a #@ line, or a person who paused the job.`,
		Args:              cobra.MaximumNArgs(1),
		ValidArgsFunction: a.CompleteJobs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 1 {
				return configOfJob(cmd.Context(), a, args[0], out)
			}
			return configShow(cmd.Context(), a, out)
		},
	}
	out = a.ListOutput(cmd, cli.FormTable, cli.FormWide, cli.FormPlain, cli.FormJSON)
	a.AddColor(cmd)
	a.AddQuiet(cmd)
	return cmd
}

func newConfigCheck(a *cli.App) *cobra.Command {
	var dir string
	var out *cli.Output
	cmd := &cobra.Command{
		Use:   "check",
		Short: "Check the configuration files, without a daemon",
		Long: `Check the configuration files, without a daemon. The exit code is 8 if a setting
has no effect. root also learns which parts match no entry, and whether the key
of the ring can be used. Of a ring it also checks that its port is free on this
host, and that the seeds and voters answer and have the same key.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if _, err := os.Stat(dir); err != nil && cmd.Flags().Changed("config") { // a host without the default has no configuration
				return cli.FileError(dir, err)
			}
			return configCheck(cmd.Context(), a, dir, out)
		},
	}
	addConfigDir(cmd, &dir)
	out = a.ListOutput(cmd, cli.FormTable, cli.FormWide, cli.FormPlain, cli.FormJSON)
	a.AddColor(cmd)
	a.AddQuiet(cmd)
	return cmd
}

func newConfigPath(a *cli.App) *cobra.Command {
	var dir string
	var out *cli.Output
	cmd := &cobra.Command{
		Use:   "path",
		Short: "List the configuration files in the order in which they are read",
		Args:  cobra.NoArgs,
		RunE:  func(*cobra.Command, []string) error { return configPath(a, dir, out) },
	}
	addConfigDir(cmd, &dir)
	out = a.TextOutput(cmd, cli.FormText, cli.FormJSON)
	return cmd
}

func addConfigDir(cmd *cobra.Command, dir *string) {
	cmd.Flags().StringVar(dir, "config", config.Dir, "`DIR` of cronring.toml and conf.d")
}

func configShow(ctx context.Context, a *cli.App, out *cli.Output) error {
	c, err := a.Daemon().Config(ctx)
	if err != nil {
		return err
	}
	return cli.PrintList(a, out, c, c.Settings, settingTable("setting", c.Settings))
}

func configOfJob(ctx context.Context, a *cli.App, ref string, out *cli.Output) error {
	c, err := a.Daemon().JobConfig(ctx, ref)
	if err != nil {
		return err
	}
	return a.PrintAnswer(out, c, func() {
		a.PrintTable(settingTable("option", c.Options), out)
		for _, why := range []string{c.Held, c.Degraded} {
			if why != "" {
				a.Infof("%s", display.Text(why))
			}
		}
	})
}

// settingTable shows built-in values faint, so that configured ones stand out.
func settingTable(what string, settings []api.Setting) *cli.Table {
	t := &cli.Table{Header: []string{what, "value", "origin", "place"}}
	for _, s := range settings {
		place := ""
		if s.File != "" {
			place = fmt.Sprintf("%s:%d", s.File, s.Line)
		}
		t.Add(s.Key, s.Value, s.Origin, place)
		if s.Origin == option.BuiltIn.String() {
			for i := range t.Rows[len(t.Rows)-1] {
				t.Rows[len(t.Rows)-1][i].Tone = cli.Faint
			}
		}
	}
	return t
}

// configCheck reads the configuration and, where that is possible, the crontabs
// that it is for.
func configCheck(ctx context.Context, a *cli.App, dir string, out *cli.Output) error {
	source, err := analysis.CrontabsAt(a, "")
	if err != nil {
		return err
	}
	c := config.Read(dir)
	source.Settings, source.Host.Calendars = c.OfCrontabs(), c.Dates()
	diagnostics := append(c.Diagnostics, ring.Faults(ctx, &c, ring.Live(ctx, a))...)
	if c.Sidecar != nil {
		diagnostics = append(diagnostics, analysis.UnusedOf(c, spool.OpenSource(source).Scan(ctx))...)
	}
	return analysis.Conclude(a, diagnostics, analysis.ConfigTexts(dir), out, false)
}

func configPath(a *cli.App, dir string, out *cli.Output) error {
	files := config.Files(dir)
	return a.PrintAnswer(out, files, func() {
		for _, path := range files {
			a.Printf("%s\n", display.Text(path))
		}
	})
}
