package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/cronring/cronring/crontab"
	"github.com/cronring/cronring/daemon/api"
	"github.com/cronring/cronring/daemon/config"
	"github.com/cronring/cronring/daemon/spool"
	"github.com/cronring/cronring/tui/safe"
)

// configDir is where the daemon looks without --config.
const configDir = "/etc/cronring"

func newConfig(a *app) *cobra.Command {
	var dir string
	var out *output
	cmd := &cobra.Command{
		Use:   "config show [JOB] | check | path",
		Short: "Tell what is configured, where, and whether it is right",
		Long: `Tell what is configured, where, and whether it is right.

config show asks the daemon for all that it goes by, with file and line, or
"built-in"; of JOB it tells each option that holds, and who said so: the
configuration, an assignment, a #@ line, or a person who paused it.

config check reads the files themselves, without a daemon. What does not count
makes the exit code 8. Root also learns which parts are for no entry, and whether
the key of the ring can be used.

config path lists the files in the order in which they are read.`,
		Example: "  cronring config show backup\n  cronring config check && systemctl reload cronring",
		Args:    configArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			switch {
			case args[0] == "check":
				return a.configCheck(cmd.Context(), dir, out)
			case args[0] == "path":
				return a.configPath(dir, out)
			case len(args) == 2:
				return a.configOfJob(cmd.Context(), args[1], out)
			}
			return a.configShow(cmd.Context(), out)
		},
	}
	cmd.Flags().StringVar(&dir, "config", configDir, "check, path: `DIR` of cronring.toml and conf.d")
	out = a.listOutput(cmd, formTable, formWide, formPlain, formJSON)
	a.addColor(cmd)
	a.addQuiet(cmd)
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

func (a *app) configShow(ctx context.Context, out *output) error {
	c, err := a.daemon().Config(ctx)
	if err != nil {
		return err
	}
	if out.word == formJSON {
		return a.printJSON(c)
	}
	a.printTable(settingTable("setting", c.Settings), out)
	return nil
}

func (a *app) configOfJob(ctx context.Context, ref string, out *output) error {
	c, err := a.daemon().JobConfig(ctx, ref)
	if err != nil {
		return err
	}
	if out.word == formJSON {
		return a.printJSON(c)
	}
	a.printTable(settingTable("option", c.Options), out)
	for _, why := range []string{c.Held, c.Degraded} {
		if why != "" {
			a.say("%s", safe.Text(why))
		}
	}
	return nil
}

// settingTable has what is built in faint: the rest is what somebody said.
func settingTable(what string, settings []api.Setting) *table {
	t := &table{header: []string{what, "value", "origin", "place"}}
	for _, s := range settings {
		place := ""
		if s.File != "" {
			place = fmt.Sprintf("%s:%d", s.File, s.Line)
		}
		t.add(s.Key, s.Value, s.Origin, place)
		if s.Origin == crontab.BuiltIn.String() {
			for i := range t.rows[len(t.rows)-1] {
				t.rows[len(t.rows)-1][i].tone = faint
			}
		}
	}
	return t
}

// configCheck reads the configuration and, where that is possible, the tables
// that it is for.
func (a *app) configCheck(ctx context.Context, dir string, out *output) error {
	source, err := a.tablesAt("")
	if err != nil {
		return err
	}
	c := config.Read(dir)
	source.Sidecar, source.Channels, source.RingUsers = c.Sidecar, c.ChannelUsers(), c.RingUsers()
	remarks := append(c.Remarks, c.CheckKeys()...)
	if c.Sidecar != nil {
		remarks = append(remarks, unusedOf(c, spool.OpenSource(source).Scan(ctx))...)
	}
	texts := configTexts(dir)
	form := &output{choice: choice{word: formText}}
	if out.word == formJSON {
		form.word = formJSON
	}
	if err := a.printLint(remarks, texts, form); err != nil {
		return err
	}
	a.say("%s, %s", plural(len(texts), "file"), counts(api.NewDiagnostics(remarks)))
	if fails(remarks, false) {
		return exit(exitProblems)
	}
	return nil
}

// unusedOf is what of a configuration is for no entry. Only root can tell, as
// others cannot see all tables.
func unusedOf(c config.Config, s spool.Snapshot) []crontab.Diagnostic {
	if c.Sidecar == nil || os.Geteuid() != 0 {
		return nil
	}
	return c.Sidecar.Unused(s.Tables)
}

// configTexts is the files that can be read, to show lines of them.
func configTexts(dir string) map[string]string {
	texts := map[string]string{}
	for _, path := range configFiles(dir) {
		if text, err := spool.Read(path); err == nil {
			texts[path] = text
		}
	}
	return texts
}

func (a *app) configPath(dir string, out *output) error {
	files := configFiles(dir)
	if out.word == formJSON {
		return a.printJSON(files)
	}
	for _, path := range files {
		a.printf("%s\n", safe.Text(path))
	}
	return nil
}

// configFiles is what is read, in order. The first is named even if it is
// missing: it is where to begin.
func configFiles(dir string) []string {
	more, _ := filepath.Glob(filepath.Join(dir, "conf.d", "*.toml"))
	return append([]string{filepath.Join(dir, "cronring.toml")}, more...)
}
