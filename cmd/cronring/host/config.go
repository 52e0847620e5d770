package host

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/cronring/cronring/cmd/cronring/analysis"
	"github.com/cronring/cronring/cmd/cronring/cli"
	"github.com/cronring/cronring/cmd/cronring/ring"
	"github.com/cronring/cronring/crontab"
	"github.com/cronring/cronring/daemon/api"
	"github.com/cronring/cronring/daemon/config"
	"github.com/cronring/cronring/daemon/display"
	"github.com/cronring/cronring/daemon/spool"
)

// NewConfig returns the command config.
func NewConfig(a *cli.App) *cobra.Command {
	var dir string
	var out *cli.Output
	cmd := &cobra.Command{
		Use:   "config show [JOB] | check | path",
		Short: "Tell what is configured, where, and whether it is right",
		Long: `Tell what is configured, where, and whether it is right.

config show asks the daemon for all that it goes by, with file and line, or
"built-in"; of JOB it tells each option that holds, and who said so: the
configuration, an assignment, a #@ line, or a person who paused it.

config check reads the files themselves, without a daemon. What does not count
makes the exit code 8. Root also learns which parts are for no entry, and whether
the key of the ring can be used. Of a ring it also checks whether its port is free
here, and whether the seeds and voters answer and have the same key.

config path lists the files in the order in which they are read.`,
		Example: "  cronring config show backup\n  cronring config check && systemctl reload cronring",
		Args:    configArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			switch {
			case args[0] == "check":
				return configCheck(cmd.Context(), a, dir, out)
			case args[0] == "path":
				return configPath(a, dir, out)
			case len(args) == 2:
				return configOfJob(cmd.Context(), a, args[1], out)
			}
			return configShow(cmd.Context(), a, out)
		},
	}
	cmd.Flags().StringVar(&dir, "config", analysis.ConfigDir, "check, path: `DIR` of cronring.toml and conf.d")
	out = a.ListOutput(cmd, cli.FormTable, cli.FormWide, cli.FormPlain, cli.FormJSON)
	a.AddColor(cmd)
	a.AddQuiet(cmd)
	return cmd
}

func configArgs(_ *cobra.Command, args []string) error {
	most := map[string]int{"show": 2, "check": 1, "path": 1}
	switch {
	case len(args) == 0:
		return errors.New("show, check or path is missing")
	case most[args[0]] == 0:
		return fmt.Errorf("%q is none of show, check, path", args[0])
	case len(args) > most[args[0]]:
		return fmt.Errorf("%s takes no %q", args[0], args[len(args)-1])
	}
	return nil
}

func configShow(ctx context.Context, a *cli.App, out *cli.Output) error {
	c, err := a.Daemon().Config(ctx)
	if err != nil {
		return err
	}
	if out.Value == cli.FormJSON {
		return a.PrintJSON(c)
	}
	a.PrintTable(settingTable("setting", c.Settings), out)
	return nil
}

func configOfJob(ctx context.Context, a *cli.App, ref string, out *cli.Output) error {
	c, err := a.Daemon().JobConfig(ctx, ref)
	if err != nil {
		return err
	}
	if out.Value == cli.FormJSON {
		return a.PrintJSON(c)
	}
	a.PrintTable(settingTable("option", c.Options), out)
	for _, why := range []string{c.Held, c.Degraded} {
		if why != "" {
			a.Infof("%s", display.Text(why))
		}
	}
	return nil
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
		if s.Origin == crontab.BuiltIn.String() {
			for i := range t.Rows[len(t.Rows)-1] {
				t.Rows[len(t.Rows)-1][i].Tone = cli.Faint
			}
		}
	}
	return t
}

// configCheck reads the configuration and, where that is possible, the tables
// that it is for.
func configCheck(ctx context.Context, a *cli.App, dir string, out *cli.Output) error {
	source, err := analysis.TablesAt(a, "")
	if err != nil {
		return err
	}
	c := config.Read(dir)
	source.Sidecar, source.Channels, source.RingUsers = c.Sidecar, c.ChannelUsers(), c.RingUsers()
	remarks := append(c.Remarks, ring.Faults(ctx, &c, ring.Live(ctx, a))...)
	if c.Sidecar != nil {
		remarks = append(remarks, analysis.UnusedOf(c, spool.OpenSource(source).Scan(ctx))...)
	}
	texts := analysis.ConfigTexts(dir)
	form := &cli.Output{Choice: cli.Choice{Value: cli.FormText}}
	if out.Value == cli.FormJSON {
		form.Value = cli.FormJSON
	}
	if err := analysis.PrintLint(a, remarks, texts, form); err != nil {
		return err
	}
	a.Infof("%s, %s", cli.Plural(len(texts), "file"), cli.CountDiagnostics(api.NewDiagnostics(remarks)))
	if analysis.Fails(remarks, false) {
		return cli.ExitCode(cli.ExitProblems)
	}
	return nil
}

func configPath(a *cli.App, dir string, out *cli.Output) error {
	files := analysis.ConfigFiles(dir)
	if out.Value == cli.FormJSON {
		return a.PrintJSON(files)
	}
	for _, path := range files {
		a.Printf("%s\n", display.Text(path))
	}
	return nil
}
