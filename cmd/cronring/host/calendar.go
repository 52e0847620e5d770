package host

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/cronring/cronring/cmd/cronring/cli"
	"github.com/cronring/cronring/crontab/timetable"
	"github.com/cronring/cronring/daemon/api"
	"github.com/cronring/cronring/daemon/config"
)

// calendarFlags are the flags of the commands about calendars.
type calendarFlags struct {
	dir    string
	number int
	out    *cli.Output
}

// calendarRow is a calendar as these commands print it.
type calendarRow struct {
	Name   string   `json:"name"`
	File   string   `json:"file"`
	Dates  int      `json:"dates"`            // number of dates
	Last   string   `json:"last,omitempty"`   // the last date
	Unread string   `json:"unread,omitempty"` // why the dates are not known
	Next   []string `json:"next,omitempty"`   // dates from today on
}

// NewCalendar returns the command calendar and its subcommands.
func NewCalendar(a *cli.App) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "calendar",
		Short: "List or check the calendars of the configuration, or show their next dates",
		Long: `List or check the calendars that calendar= and except= can name. These commands read
the files of [calendar.NAME] in the configuration, without a daemon.`,
		Example: "  cronring calendar list\n  cronring calendar check\n  cronring calendar next weekend",
	}
	cmd.AddCommand(newCalendarList(a), newCalendarCheck(a), newCalendarNext(a))
	return cmd
}

func newCalendarList(a *cli.App) *cobra.Command {
	f := &calendarFlags{}
	cmd := &cobra.Command{
		Use: "list", Short: "List the calendars: the number of their dates, the last one and the next one", Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			rows, err := f.rows(nil, 1, today(a))
			if err != nil {
				return err
			}
			return printCalendars(a, f, rows)
		},
	}
	return f.add(a, cmd)
}

func newCalendarCheck(a *cli.App) *cobra.Command {
	f := &calendarFlags{}
	cmd := &cobra.Command{
		Use:   "check [NAME...]",
		Short: "Check the files of calendars",
		Long: `Check the files of calendars, of all or of those named. The exit code is 8 if a file
cannot be read or has no date from today on. A job whose calendar cannot be read is
held.`,
		Args: cobra.ArbitraryArgs,
		RunE: func(_ *cobra.Command, args []string) error { return checkCalendars(a, f, args) },
	}
	return f.add(a, cmd)
}

func newCalendarNext(a *cli.App) *cobra.Command {
	f := &calendarFlags{}
	cmd := &cobra.Command{
		Use: "next NAME...", Short: "Show the next dates of calendars", Args: cobra.MinimumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			if f.number < 1 || f.number > 1000 {
				return cli.Invalid(fmt.Sprintf("-n %d", f.number), "expected 1 to 1000", "")
			}
			rows, err := f.rows(args, f.number, today(a))
			if err = cmp.Or(err, missingCalendar(rows)); err != nil {
				return err
			}
			return printCalendars(a, f, rows)
		},
	}
	cmd.Flags().IntVarP(&f.number, "number", "n", 10, "at most `N` dates of each")
	return f.add(a, cmd)
}

func (f *calendarFlags) add(a *cli.App, cmd *cobra.Command) *cobra.Command {
	addConfigDir(cmd, &f.dir)
	f.out = a.ListOutput(cmd, cli.FormTable, cli.FormPlain, cli.FormJSON)
	a.AddColor(cmd)
	a.AddQuiet(cmd)
	return cmd
}

func today(a *cli.App) timetable.Day { return timetable.DayOf(a.Now(), time.Local) }

// rows returns the named calendars, or all of the configuration, with at most n dates
// each from a day on.
func (f *calendarFlags) rows(names []string, n int, from timetable.Day) ([]calendarRow, error) {
	c := config.Read(f.dir)
	if why := c.Unread(); why != "" {
		return nil, &api.Error{Kind: api.Internal, What: "cannot read the configuration", Why: why, Fix: "cronring config check"}
	}
	if len(names) == 0 {
		names = c.CalendarNames()
	}
	rows := []calendarRow{}
	for _, name := range names {
		calendar, ok := c.Calendars[name]
		row := calendarRow{Name: name, File: calendar.File, Unread: calendar.Dates.Unread}
		switch {
		case name == timetable.WeekendCalendar:
			calendar.Dates.Dates = timetable.Weekends()
		case !ok:
			row.Unread = "the configuration has no [calendar." + name + "]"
		}
		if dates := calendar.Dates.Dates; dates != nil {
			row.fill(dates, n, from)
		}
		rows = append(rows, row)
	}
	return rows, nil
}

func (r *calendarRow) fill(dates *timetable.Dates, n int, from timetable.Day) {
	for _, dates := range dates.Ranges() {
		r.Dates += int(dates.Last-dates.First) + 1
		r.Last = dates.Last.String()
		for day := max(dates.First, from); day <= dates.Last && len(r.Next) < n; day++ {
			r.Next = append(r.Next, day.String())
		}
	}
}

// missingCalendar returns the error of the first calendar that cannot be read.
func missingCalendar(rows []calendarRow) error {
	for _, r := range rows {
		if r.Unread != "" {
			return &api.Error{Kind: api.NotFound, What: "cannot read the calendar " + r.Name, Why: r.Unread, Fix: "cronring calendar list"}
		}
	}
	return nil
}

func checkCalendars(a *cli.App, f *calendarFlags, names []string) error {
	rows, err := f.rows(names, 1, today(a))
	if err == nil {
		err = printCalendars(a, f, rows)
	}
	if err != nil {
		return err
	}
	for _, r := range rows {
		if r.Unread != "" || len(r.Next) == 0 {
			return cli.ExitCode(cli.ExitProblems)
		}
	}
	return nil
}

func printCalendars(a *cli.App, f *calendarFlags, rows []calendarRow) error {
	t := &cli.Table{Header: []string{"name", "dates", "last", "next", "file"}}
	for _, r := range rows {
		file := r.File
		if r.Unread != "" {
			file = r.Unread
		}
		t.Add(r.Name, fmt.Sprint(r.Dates), r.Last, strings.Join(r.Next, " "), file)
	}
	return cli.PrintList(a, f.out, struct {
		V         int           `json:"v"`
		Calendars []calendarRow `json:"calendars"`
	}{api.Version, rows}, rows, t)
}
