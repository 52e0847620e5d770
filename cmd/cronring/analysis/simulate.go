package analysis

import (
	"cmp"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/cronring/cronring/cmd/cronring/cli"
	"github.com/cronring/cronring/crontab"
	"github.com/cronring/cronring/daemon/config"
	"github.com/cronring/cronring/daemon/engine/effect"
	"github.com/cronring/cronring/daemon/job"
	"github.com/cronring/cronring/daemon/timeinput"
)

// simulateFlags are the flags of simulate.
type simulateFlags struct {
	cli.FormatFlags
	from, until time.Time
	takes       cli.Duration
	out         *cli.Output
}

// simulated is one start that would happen.
type simulated struct {
	Due      time.Time   `json:"due"`   // the occurrence, UTC
	At       time.Time   `json:"at"`    // the start: later than due after a queue or a retry
	Local    time.Time   `json:"local"` // due in the zone of --tz
	Crontab  string      `json:"crontab"`
	Line     int         `json:"line"`
	Command  string      `json:"command"`
	User     string      `json:"user"`
	Job      job.ID      `json:"job"`
	Schedule string      `json:"schedule"`
	Trigger  job.Trigger `json:"trigger"`
	Attempt  int         `json:"attempt"`
}

// NewSimulate returns the command simulate.
func NewSimulate(a *cli.App) *cobra.Command {
	f := &simulateFlags{}
	cmd := &cobra.Command{
		Use:   "simulate FILE...|- [--from T] [--until T]",
		Short: "Simulate which jobs run when, with a virtual clock",
		Long: `Simulate which jobs run when, with a virtual clock and the daemon's own engine, as
if the daemon had always been running; - is standard input.

--from is inclusive, --until is exclusive. What is chosen at random (~, jitter=,
spread=) is not what the daemon of a host has chosen. Runs succeed, and the
commands of if= allow them. Calendars and blackouts are those of this host's
configuration. Lines that lint reports as ignored are left out.

-o json and jsonl give one object for each start: due (UTC), at, local, crontab,
line, command, user, job, schedule, trigger, attempt.`,
		Example: "  cronring simulate my.crontab --from 2027-03-28 --tz Europe/Berlin\n" +
			"  cronring simulate --system /etc/crontab --durations 10m -o jsonl",
		Args: cobra.MinimumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error { return simulate(a, args, f) },
	}
	flags := cmd.Flags()
	a.AddFuture(cmd, &f.from, "from", "begin at `T` (default: now), inclusive: "+timeinput.Help)
	a.AddFuture(cmd, &f.until, "until", "end at `T` (default: a day after --from), exclusive")
	flags.Var(&f.takes, "durations", "let each run take `D`: 90s, 5m, 1h30m")
	f.Add(cmd)
	f.out = a.TextOutput(cmd, cli.FormText, cli.FormTable, cli.FormPlain, cli.FormJSON, cli.FormJSONL)
	cli.AddNoHeader(cmd, f.out)
	a.AddZone(cmd, "of the host that is simulated")
	a.AddColor(cmd)
	a.AddQuiet(cmd)
	return cmd
}

func simulate(a *cli.App, names []string, f *simulateFlags) error {
	loc := a.Location()
	from, to, err := span(a, f, loc)
	if err != nil {
		return err
	}
	crontabs, err := readCrontabs(a, names, f.FormatFlags, loc)
	if err != nil {
		return err
	}
	list, sum := []simulated{}, newOutlook(from, to, loc)
	configuration := config.Read(config.Dir)
	view, err := rehearse(crontabs, configuration.HostBlackouts(loc), from, to, time.Duration(f.takes), func(at time.Time, e effect.Effect) error {
		start, ok := e.(effect.Start)
		switch {
		case f.out.Value == cli.FormText:
			sum.see(e)
		case ok && f.out.Value == cli.FormJSONL:
			return a.PrintLine(newSimulated(at, start, loc))
		case ok:
			list = append(list, newSimulated(at, start, loc))
		}
		return nil
	})
	if err != nil {
		return err
	}
	switch f.out.Value {
	case cli.FormText:
		printOutlook(a, sum, view, time.Duration(f.takes))
	case cli.FormJSON:
		return a.PrintJSON(list)
	case cli.FormTable, cli.FormPlain:
		a.PrintTable(simulatedTable(list, f.out), f.out)
	}
	return nil
}

// span reads --from and --to.
func span(a *cli.App, f *simulateFlags, loc *time.Location) (from, to time.Time, err error) {
	from = cmp.Or(f.from, a.Now().Truncate(time.Second))
	to = cmp.Or(f.until, from.In(loc).AddDate(0, 0, 1))
	if !from.Before(to) {
		return from, to, cli.UsageError("simulate that", "--until is not after --from", "")
	}
	return from.UTC(), to.UTC(), nil
}

func readCrontabs(a *cli.App, names []string, f cli.FormatFlags, loc *time.Location) ([]*crontab.File, error) {
	crontabs := make([]*crontab.File, len(names))
	for i, name := range names {
		s, err := a.ReadSource(name)
		if err != nil {
			return nil, err
		}
		file, diagnostics := f.Parse(s, loc)
		cli.WarnBroken(a, name, diagnostics)
		crontabs[i] = file
	}
	return crontabs, nil
}

func newSimulated(at time.Time, s effect.Start, loc *time.Location) simulated {
	return simulated{
		Due: s.Run.Due.UTC(), At: at.UTC(), Local: s.Run.Due.In(loc), Crontab: s.Job.Crontab, Line: s.Job.Line, Command: s.Job.Command,
		User: s.Job.User, Job: s.Job.ID, Schedule: s.Job.StartsOn(), Trigger: s.Run.Trigger, Attempt: s.Run.Attempt,
	}
}

func simulatedTable(list []simulated, out *cli.Output) *cli.Table {
	t := &cli.Table{Header: []string{"due", "job", "source", "schedule", "trigger", "command"}}
	form := out.TimeForm(cli.LongTime)
	for _, s := range list {
		t.Add(s.Local.Format(form), string(s.Job), s.Crontab+":"+strconv.Itoa(s.Line), s.Schedule, string(s.Trigger), s.Command)
	}
	return t
}
