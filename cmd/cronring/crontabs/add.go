package crontabs

import (
	"cmp"
	"strings"

	"github.com/spf13/cobra"

	"github.com/cronring/cronring/cmd/cronring/analysis"
	"github.com/cronring/cronring/cmd/cronring/cli"
	"github.com/cronring/cronring/crontab"
	"github.com/cronring/cronring/crontab/timetable"
	"github.com/cronring/cronring/daemon/api"
)

// addFlags are the flags of add.
type addFlags struct {
	changeFlags
	name, zone string
	user, file string
}

// NewAdd returns the command add.
func NewAdd(a *cli.App) *cobra.Command {
	f := &addFlags{}
	cmd := &cobra.Command{
		Use:   "add 'EXPR' [--name N] [--tz Z] [--user U|--file F] -- COMMAND...",
		Short: "Append an entry to a crontab",
		Long: `Append an entry to a crontab: your own, that of --user, or --file.

A single argument is a whole command line for the shell; several are quoted, so
that the command gets them unchanged. A % is written as \%, because cron ends the
command at an unescaped one. The rest of the file does not change.

In /etc/crontab and /etc/cron.d --user is the user that the command runs as, by
default root. A missing file is created.`,
		Example: "  cronring add '30 2 * * *' --name pg-backup -- pg_dump -f all.sql\n  cronring add @hourly --file /etc/cron.d/etl -u etl -- /opt/etl/run orders",
		Args:    cobra.MinimumNArgs(2),
		RunE:    func(cmd *cobra.Command, args []string) error { return add(a, cmd, args[0], joinWords(args[1:]), f) },
	}
	cmd.Flags().StringVar(&f.name, "name", "", "call the job `NAME`, for history and commands")
	cmd.Flags().StringVar(&f.zone, "tz", "", "read the time fields in `ZONE`, as Europe/Paris")
	cmd.Flags().StringVarP(&f.user, "user", "u", "", "the crontab of the user `NAME`; in a system crontab, who runs the command")
	cmd.Flags().StringVar(&f.file, "file", "", "the crontab at `FILE`")
	f.changeFlags.add(a, cmd)
	return cmd
}

func add(a *cli.App, cmd *cobra.Command, expr, command string, f *addFlags) error {
	if s, diagnostics := timetable.ParseSchedule(expr, timetable.NewZone(nil), 0); s == nil && strings.TrimSpace(expr) != "@reboot" {
		return analysis.BadSchedule(expr, diagnostics)
	}
	if err := oneOfFileAndUser(f.file, f.user); err != nil {
		return err
	}
	by, err := openCrontabs(cmd.Context(), a, &f.changeFlags)
	if err != nil {
		return err
	}
	user := f.user
	if f.file != "" {
		user = ""
	}
	c, err := openChange(cmd.Context(), by, f.file, user)
	if err != nil {
		return err
	}
	c.verb = "add"
	if err := c.append(expr, escapePercent(command), f); err != nil {
		return err
	}
	return carryOut(cmd.Context(), a, c, &f.changeFlags)
}

// append adds the entry, and makes sure that it is read as it was meant.
func (c *Change) append(expr, command string, f *addFlags) error {
	columns := []string{expr}
	if c.config.Format == crontab.System {
		columns = append(columns, cmp.Or(f.user, "root"))
	}
	if c.config.Format == crontab.Anacron {
		return cli.UsageError("add to "+c.Old.File, "its lines have no time fields, but a period and a delay", "cronring edit "+c.Old.File)
	}
	line := strings.Join(append(columns, command), " ")
	first, err := c.draft.Append(line)
	at := first
	for _, o := range []struct{ key, value string }{{"name", f.name}, {"tz", f.zone}} {
		if err == nil && o.value != "" {
			at, err = c.draft.Set(at, o.key, o.value)
		}
	}
	if err != nil {
		return &api.Error{Kind: api.Conflict, What: "cannot add to " + c.Old.File, Why: err.Error(), Fix: "cronring edit " + c.Old.File}
	}
	above := strings.Repeat("\n", c.Old.Above()) // so that messages have the lines of the file
	file, diagnostics := crontab.Parse(c.Old.File, above+c.draft.Text(), c.config)
	for i := range file.Entries {
		e := &file.Entries[i]
		if e.Line() == at+c.Old.Above() && e.Schedule != nil && strings.HasSuffix(e.Raw(), command) && (c.config.Format != crontab.System || e.User() == columns[1]) {
			return c.rejectHeld(e)
		}
	}
	for _, d := range diagnostics {
		if d.Line >= first+c.Old.Above() && d.Severity == crontab.Error {
			return cli.UsageError("add to "+c.Old.File, d.Message+" ("+string(d.Code)+")", d.Fix)
		}
	}
	return cli.UsageError("add to "+c.Old.File, "cron would not read the line as an entry: "+line, "cronring explain 'LINE'")
}

// rejectHeld rejects an entry that would be held, because that is never the purpose.
func (c *Change) rejectHeld(e *crontab.Entry) error {
	if held := e.Options().Held; held != "" {
		return cli.UsageError("add to "+c.Old.File, held, "cronring add --help")
	}
	return nil
}
