package main

import (
	"strconv"
	"time"

	"github.com/robfig/cron/v3"
	"github.com/spf13/cobra"

	"github.com/cronring/cronring/crontab"
	"github.com/cronring/cronring/daemon/api"
	"github.com/cronring/cronring/tui/when"
)

// explainFlags are the flags of explain.
type explainFlags struct {
	formatFlags
	from string
	out  *output
}

// explanation is the result of explain. The fields below Remarks are those of a
// whole line.
type explanation struct {
	V           int              `json:"v"`
	Schedule    string           `json:"schedule"`
	Meaning     string           `json:"meaning"`
	Zone        string           `json:"zone"`
	Year        int              `json:"year"`
	Runs        int              `json:"runs"` // in that year
	Next        []time.Time      `json:"next"`
	Changes     []zoneChange     `json:"zone_changes"`
	Diagnostics []api.Diagnostic `json:"diagnostics"`
	User        string           `json:"user,omitempty"`
	Command     string           `json:"command,omitempty"`
	Stdin       string           `json:"stdin,omitempty"`
	Options     []optionMeaning  `json:"options,omitempty"`
	Held        string           `json:"held,omitempty"`
	Degraded    string           `json:"degraded,omitempty"`
}

// optionMeaning is one option of a line in plain words.
type optionMeaning struct {
	Key       string `json:"key"`
	Value     string `json:"value"`
	Meaning   string `json:"meaning"`
	PlainCron string `json:"plain_cron"` // what the line does under a cron that takes options for comments
}

func newExplain(a *app) *cobra.Command {
	f := &explainFlags{}
	cmd := &cobra.Command{
		Use:   "explain 'EXPR'|'LINE'",
		Short: "Say in plain words what a schedule or a whole line means",
		Long: `Say in plain words what a schedule or a whole line means: when it runs, how
often a year, what the next two changes of the zone do to it, what the command
gets on its standard input (the text after %), and what lint has to say. Options
may stand above the line.`,
		Example: "  cronring explain '30 2 * * *' --tz America/New_York\n  cronring explain '0 9 * * mon mail -s report ann%Hello'",
		Args:    cobra.ExactArgs(1),
		RunE:    func(_ *cobra.Command, args []string) error { return a.explain(args[0], f) },
	}
	cmd.Flags().StringVar(&f.from, "from", "", "as seen at `T` instead of now: "+whenHelp)
	f.add(cmd)
	f.out = a.textOutput(cmd, formText, formJSON)
	a.addZone(cmd, "of the schedule")
	a.addColor(cmd)
	return cmd
}

func (a *app) explain(text string, f *explainFlags) error {
	loc, err := a.location()
	if err != nil {
		return err
	}
	from := a.now()
	if f.from != "" {
		if from, err = a.flagTime("from", f.from, loc); err != nil {
			return err
		}
	}
	x, err := explainText(text, f, loc, from.In(loc))
	if err != nil {
		return err
	}
	if f.out.word == formJSON {
		return a.printJSON(x)
	}
	a.printExplanation(x, from)
	return nil
}

// explainText takes text for a schedule, and if more follows the time, for a
// whole line.
func explainText(text string, f *explainFlags, loc *time.Location, from time.Time) (explanation, error) {
	zone := crontab.NewZone(loc)
	s, remarks := crontab.ParseSchedule(text, zone, 0)
	if s != nil {
		return newExplanation(text, s, zone, remarks, from), nil
	}
	table, lineRemarks := f.parse(source{"-", text + "\n"}, loc)
	if len(table.Entries) == 0 {
		if len(lineRemarks) > 0 {
			remarks = lineRemarks
		}
		return explanation{}, badSchedule(text, remarks)
	}
	e := &table.Entries[0]
	x := newExplanation(e.Spec(), e.Schedule, e.Zone(), lineRemarks, from)
	x.Command = e.Command()
	x.Stdin, _ = e.Stdin()
	if table.Format == crontab.System {
		x.User = e.User()
	}
	o := e.Options()
	x.Options, x.Held, x.Degraded = meanings(o), o.Held, o.Degraded
	return x, nil
}

func meanings(o *crontab.Options) []optionMeaning {
	var list []optionMeaning
	for _, spec := range crontab.Vocabulary() {
		for _, it := range o.Items {
			if it.Key == spec.Key {
				list = append(list, optionMeaning{it.Key, it.Value, spec.Meaning, spec.Loss})
			}
		}
	}
	return list
}

func newExplanation(spec string, s cron.Schedule, zone *crontab.Zone, remarks []crontab.Diagnostic, from time.Time) explanation {
	x := explanation{
		V: api.Version, Schedule: spec, Meaning: crontab.Describe(s), Zone: zone.String(),
		Year: from.Year(), Runs: crontab.PerYear(s, from.Year()),
		Next: window{from: from, number: 3}.runs(s), Diagnostics: api.NewDiagnostics(remarks),
		Changes: []zoneChange{},
	}
	if s != crontab.Reboot && s != crontab.Never {
		x.Changes = nextChanges(spec, s, zone, from)
	}
	return x
}

func (a *app) printExplanation(x explanation, from time.Time) {
	a.printField("schedule", x.Schedule)
	a.printField("meaning", x.Meaning)
	a.printField("zone", x.Zone)
	if x.User != "" {
		a.printField("user", x.User)
	}
	a.printField("command", x.Command)
	if x.Stdin != "" {
		a.printField("stdin", strconv.Quote(x.Stdin))
	}
	for i, o := range x.Options {
		a.printField(fieldOnce(i, "options"), o.Key+"="+o.Value+"  "+o.Meaning)
	}
	a.printField("held", x.Held)
	a.printField("degraded", x.Degraded)
	a.printField("a year", plural(x.Runs, "run")+" in "+strconv.Itoa(x.Year))
	for i, t := range x.Next {
		a.printField(fieldOnce(i, "next"), t.Format(stampEyes)+"  in "+when.Brief(t.Sub(from).Round(time.Second)))
	}
	for i, c := range x.Changes {
		a.printField(fieldOnce(i, "clock"), c.title())
		a.printField("", "  "+c.Effect)
	}
	a.printAdvice(x.Diagnostics)
}
