package migration

import (
	"strings"

	"github.com/cronring/cronring/cmd/cronring/cli"
	"github.com/cronring/cronring/daemon/display"
)

// changes counts what is different.
func (r *imported) changes() int {
	if r.Cron == nil {
		return 0
	}
	n := 0
	for _, t := range r.Cron.Crontabs {
		n += len(t.Changes) + len(t.NotRun)
		for _, e := range t.Entries {
			n += len(e.Changes)
		}
	}
	for _, s := range r.Cron.Settings {
		if s.Differs {
			n++
		}
	}
	return n
}

func printImported(a *cli.App, r *imported) {
	if r.Cron != nil {
		printImportedCron(a, r.Cron)
	}
	if r.Anacron != nil {
		printAnacron(a, r.Anacron)
	}
	if r.Timers != nil {
		printTimers(a, r.Timers)
	}
}

func printImportedCron(a *cli.App, c *importedCron) {
	n, read := 0, 0
	for _, t := range c.Crontabs {
		n += len(t.Entries)
		if t.readable {
			read++
		}
	}
	a.Printf("%s in %s\n", cli.Entries(n), display.Count(read, "crontab"))
	for i := range c.Crontabs {
		printImportedCrontab(a, &c.Crontabs[i])
	}
	for _, s := range c.Silent {
		a.Printf("%s  never runs: %s\n", display.Text(s.Path), s.Why)
	}
	file := ""
	for _, s := range c.Settings {
		if s.File != file {
			file = s.File
			a.Printf("%s  settings\n", file)
		}
		mark := " "
		if s.Differs {
			mark = a.Paint(cli.Warn, "~")
		}
		a.Printf("   %s %s\n", mark, display.Text(s.Text()))
	}
}

func printImportedCrontab(a *cli.App, t *importedCrontab) {
	path := display.Text(t.Path)
	switch {
	case t.Ignored != "":
		a.Printf("%s  %s\n", path, display.Text(t.Ignored))
		return
	case !t.readable:
		a.Printf("%s  refused, %s: %s\n", path, t.Refused, display.Text(t.Why))
		return
	}
	a.Printf("%s  %s", path, cli.Entries(len(t.Entries)))
	if t.Errors > 0 {
		a.Printf(", %s    cronring lint %s", display.Count(t.Errors, "error"), display.Text(display.Quote(t.Path)))
	}
	a.Printf("\n")
	printChanges(a, "  ", t.Changes)
	for _, c := range t.NotRun {
		a.Printf("  %s %s, and does not run\n", a.Paint(cli.Bad, "-"), display.Text(c.Text))
	}
	for _, e := range t.Entries {
		a.Printf("%5d  %s  %s  %s\n", e.Line, display.Text(strings.Join(strings.Fields(e.Schedule), " ")), display.Text(e.User), display.Text(e.Command))
		printChanges(a, "       ", e.Changes)
		for _, note := range e.Notes {
			a.Printf("         %s\n", display.Text(note))
		}
	}
}

func printChanges(a *cli.App, indent string, changes []change) {
	for _, c := range changes {
		a.Printf("%s%s %s\n", indent, a.Paint(cli.Warn, "~"), display.Text(c.Text))
	}
}

func printAnacron(a *cli.App, r *importedAnacron) {
	switch {
	case r.Crontab == "" && !r.Installed:
		return
	case r.Crontab == "":
		a.Printf("anacron is installed, without an anacrontab\n")
		return
	case r.Refused != "":
		a.Printf("%s  refused, %s\n", r.Crontab, display.Text(r.Refused))
		return
	case r.Installed:
		a.Printf("%s  %s of anacron, which is installed and keeps running them\n", r.Crontab, display.Count(len(r.Jobs), "job"))
	default:
		a.Printf("%s  %s of anacron, which is not installed: cronring does them, and keeps its stamps\n", r.Crontab, display.Count(len(r.Jobs), "job"))
	}
	for _, j := range r.Jobs {
		last := "never ran"
		if j.Stamp != "" {
			last = "last ran on " + j.Stamp
		}
		if j.Due {
			last += ", due"
		}
		a.Printf("%5d  %s  %s after %s, %s  %s\n", j.Line, display.Text(j.ID), j.Period, j.Delay, last, display.Text(j.Command))
	}
}

func printTimers(a *cli.App, timers []timer) {
	enabled := 0
	for i := range timers {
		if timers[i].Enabled {
			enabled++
		}
	}
	a.Printf("%s of systemd, %d enabled: they stay active\n", display.Count(len(timers), "timer"), enabled)
	for i := range timers {
		printTimer(a, &timers[i])
	}
}

func printTimer(a *cli.App, t *timer) {
	a.Printf("%s", display.Text(t.Unit))
	for _, c := range t.Calendar {
		a.Printf("  %s", display.Text(c))
	}
	for _, o := range t.Other {
		a.Printf("  %s", display.Text(o))
	}
	if !t.Enabled {
		a.Printf("  (not enabled)")
	}
	if !t.Next.IsZero() {
		a.Printf("  next %s", a.FromNow(t.Next))
	}
	a.Printf("\n")
	if t.Problem != "" {
		a.Printf("       %s cannot be read: %s\n", a.Paint(cli.Bad, "-"), display.Text(t.Problem))
	}
	for _, line := range t.Lines {
		a.Printf("       %s\n", display.Text(line))
	}
	for _, why := range t.WhyNot {
		a.Printf("       %s no line does the same: %s\n", a.Paint(cli.Faint, "-"), display.Text(why))
	}
	for _, loss := range t.Loses {
		a.Printf("       %s %s\n", a.Paint(cli.Warn, "~"), display.Text(loss))
	}
}

// printCandidates writes the lines for the timers as a file for /etc/cron.d.
func printCandidates(a *cli.App, timers []timer) {
	for i := range timers {
		t := &timers[i]
		if len(t.Lines) == 0 {
			why := strings.Join(t.WhyNot, "; ")
			if t.Problem != "" {
				why = t.Problem
			}
			a.Printf("# %s: no line does the same: %s\n", display.Text(t.Unit), display.Text(why))
			continue
		}
		state := "with it: systemctl disable --now " + t.Unit
		if !t.Enabled {
			state = "the timer is not enabled"
		}
		a.Printf("# %s; %s\n", display.Text(t.Unit), display.Text(state))
		for _, line := range t.Lines {
			if !t.Enabled {
				line = "# " + line
			}
			a.Printf("%s\n", display.Text(line))
		}
	}
}
