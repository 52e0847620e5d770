package migration

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/cronring/cronring/cmd/cronring/cli"
	"github.com/cronring/cronring/cmd/cronring/inventory"
	"github.com/cronring/cronring/crontab"
	"github.com/cronring/cronring/crontab/timetable"
	"github.com/cronring/cronring/daemon/api"
	"github.com/cronring/cronring/daemon/display"
	"github.com/cronring/cronring/daemon/job"
)

// formCrontab is the lines that would do the same, ready for a file in
// /etc/cron.d.
const formCrontab = "crontab"

// importFlags are the flags of import.
type importFlags struct {
	strict  bool
	shadow  bool
	length  cli.Duration
	against string
	root    string
	out     *cli.Output
}

// importSources are the sources that import reads.
var importSources = []string{"cron", "anacron", "systemd"}

// NewImport returns the command import.
func NewImport(a *cli.App) *cobra.Command {
	f := &importFlags{}
	cmd := &cobra.Command{
		Use:   "import [cron|anacron|systemd]...",
		Short: "Report what the host has scheduled, and what changes under cronring",
		Long: `Report what the host has scheduled, and what changes under cronring: the crontabs
of the system and of users, the settings of the old cron, anacron's jobs, and the
timers of systemd with the lines of a crontab that would do the same. Nothing is
written or changed; cronringd reads the crontabs in place.

A line that begins with ~ shows what differs under cronring, a line that begins
with - what has no equivalent. With --strict the exit code is 8 if anything
differs.

-o crontab prints the lines for the timers, in the format of /etc/cron.d.

--shadow computes and logs, and runs nothing: it stays in the foreground and
prints each start that cronring would make, until it is interrupted or the time of
--for is over, as if each job ended immediately; -o json prints one object a line:
at, due, job, table, line, user, command. With --against it then compares these
starts with the CMD lines that the host's cron logged in the meantime; the exit
code is 1 if they differ.`,
		Example: "  cronring import\n  cronring import systemd -o crontab\n  cronring import --shadow --for 1h --against journal",
		Args: func(_ *cobra.Command, args []string) error {
			for _, arg := range args {
				if !slices.Contains(importSources, arg) {
					return fmt.Errorf("%q is none of %s", arg, strings.Join(importSources, ", "))
				}
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if info, err := os.Stat(f.root); f.root != "" && (err != nil || !info.IsDir()) {
				return &api.Error{What: fmt.Sprintf("cannot look at the host in %q", f.root), Why: "the directory does not exist", Kind: api.NotFound}
			}
			if f.shadow && f.root != "" {
				return cli.Invalid("--shadow and --root cannot be combined", "the host in --root does not run", "cronring import --shadow")
			}
			if f.shadow {
				return runShadow(cmd.Context(), a, f)
			}
			if f.against != "" || f.length != 0 {
				return cli.UsageError("compare or wait", "--for and --against go with --shadow", "cronring import --shadow --for 1h --against journal")
			}
			m := inventory.This(a.Now)
			if f.root != "" {
				m = inventory.At(filepath.Clean(f.root), a.Now)
			}
			return importHost(cmd.Context(), a, m, args, f)
		},
	}
	cmd.Flags().BoolVar(&f.strict, "strict", false, "exit 8 if anything would behave differently")
	cmd.Flags().BoolVar(&f.shadow, "shadow", false, "print each start at its time, and run nothing")
	cmd.Flags().Var(&f.length, "for", "with --shadow: end after `D`")
	cmd.Flags().StringVar(&f.against, "against", "", "with --shadow: compare with the log of the running cron, `journal|FILE`")
	cmd.Flags().StringVar(&f.root, "root", "", "look at a host whose files are in `DIR`, as a mounted disk or a container's")
	f.out = a.TextOutput(cmd, cli.FormText, cli.FormJSON, formCrontab)
	a.AddColor(cmd)
	a.AddQuiet(cmd)
	return cmd
}

// imported is the report about a host.
type imported struct {
	V       int              `json:"v"`
	Family  string           `json:"family"`
	Zone    string           `json:"zone"`
	Cron    *importedCron    `json:"cron,omitempty"`
	Anacron *importedAnacron `json:"anacron,omitempty"`
	Timers  []timer          `json:"timers,omitempty"`
}

type importedCron struct {
	Crontabs []importedCrontab        `json:"crontabs"`
	Settings []inventory.Setting      `json:"settings,omitempty"`
	Silent   []inventory.SilentScript `json:"silent_scripts,omitempty"` // that run-parts leaves out
}

type importedCrontab struct {
	Path     string          `json:"path"`
	Ignored  string          `json:"ignored,omitempty"` // why its name is passed over
	Refused  string          `json:"refused,omitempty"` // cron's word
	Why      string          `json:"why,omitempty"`
	Errors   int             `json:"errors,omitempty"` // lines that do not count, or count only in part
	Changes  []change        `json:"changes,omitempty"`
	NotRun   []change        `json:"not_run,omitempty"` // lines that the old cron ran
	Entries  []importedEntry `json:"entries,omitempty"`
	readable bool
}

type importedEntry struct {
	Line     int      `json:"line"`
	Schedule string   `json:"schedule"`
	User     string   `json:"user"`
	Command  string   `json:"command"`
	Changes  []change `json:"changes,omitempty"`
	Notes    []string `json:"notes,omitempty"`
}

type importedAnacron struct {
	Installed bool            `json:"installed"` // then it keeps running its jobs
	Crontab   string          `json:"crontab,omitempty"`
	Refused   string          `json:"refused,omitempty"`
	Jobs      []importedPhase `json:"jobs,omitempty"`
}

// importedPhase is one job of anacron.
type importedPhase struct {
	ID      string `json:"id"`
	Line    int    `json:"line"`
	Period  string `json:"period"`
	Delay   string `json:"delay"`
	Command string `json:"command"`
	Stamp   string `json:"stamp,omitempty"` // the day on which it ran last
	Due     bool   `json:"due"`             // today
}

func importHost(ctx context.Context, a *cli.App, m *inventory.Machine, sources []string, f *importFlags) error {
	if len(sources) == 0 {
		sources = importSources
	}
	if f.out.Value == formCrontab {
		sources = []string{"systemd"}
	}
	end := func() {}
	if f.out.Value != cli.FormJSON {
		end = a.Progress(cli.Elapsed("reading what the host has scheduled"))
	}
	r := report(ctx, m, sources)
	end()
	switch f.out.Value {
	case cli.FormJSON:
		if err := a.PrintJSON(r); err != nil {
			return err
		}
	case formCrontab:
		printCandidates(a, r.Timers)
	default:
		printImported(a, &r)
	}
	n := r.changes()
	if r.Cron != nil {
		a.Infof("%s under cronring", strings.Replace(cli.Plural(n, "thing")+" different", "0 things", "nothing", 1))
	}
	if f.strict && n > 0 {
		return cli.ExitCode(cli.ExitProblems)
	}
	return nil
}

// report looks at all sources that are asked for.
func report(ctx context.Context, m *inventory.Machine, sources []string) imported {
	r := imported{V: api.Version, Family: familyName(m.Host.Family), Zone: m.Host.Zone.String()}
	crontabs := m.Crontabs(ctx)
	if slices.Contains(sources, "cron") {
		r.Cron = &importedCron{Settings: append(m.Settings(), m.PAMSetting()...), Silent: m.SilentScripts(), Crontabs: []importedCrontab{}}
		again := twins(crontabs)
		for i := range crontabs {
			if !crontabs[i].Anacron() && crontabs[i].Path != "/etc/anacrontab" {
				r.Cron.Crontabs = append(r.Cron.Crontabs, importCrontab(ctx, m, &crontabs[i], again))
			}
		}
	}
	if slices.Contains(sources, "anacron") {
		r.Anacron = importAnacron(m, crontabs)
	}
	if slices.Contains(sources, "systemd") {
		r.Timers = timers(ctx, m)
	}
	return r
}

func familyName(f crontab.Family) string {
	if f == crontab.RHEL {
		return "rhel"
	}
	return "debian"
}

func importCrontab(ctx context.Context, m *inventory.Machine, t *inventory.Crontab, again map[*crontab.Entry]string) importedCrontab {
	r := importedCrontab{Path: t.Path, Refused: t.Refused, Why: t.Why}
	if t.Ignored {
		r.Ignored, r.Why = t.Why, ""
	}
	if !t.Counts() {
		return r
	}
	r.readable, r.Errors = true, cli.ErrorsIn(t.Diagnostics)
	c := compareOld(t, m.Host.Family, m.Now())
	r.Changes, r.NotRun = c.file, c.dead
	reasons, whys := map[string]job.Reason{}, map[string]string{}
	for _, name := range t.Accounts() {
		reasons[name], whys[name] = m.Barred(ctx, name)
	}
	refused := false
	for i := range t.File.Entries {
		e := &t.File.Entries[i]
		entry := importedEntry{Line: e.Line(), Schedule: e.Spec(), User: e.User(), Command: e.Command(), Changes: c.entries[e.Line()], Notes: notes(t, e)}
		if place, ok := again[e]; ok {
			entry.Notes = append(entry.Notes, "the same command at the same times as "+place)
		}
		if reason := reasons[e.User()]; reason != "" {
			entry.Notes = append(entry.Notes, "does not run: "+whys[e.User()])
			refused = refused || reason == job.NoUser && m.Host.Family == crontab.Debian && t.File.Format == crontab.System
		}
		r.Entries = append(r.Entries, entry)
	}
	if refused {
		r.Changes = append(r.Changes, change{Text: "the old cron ignored the whole crontab for an unknown user; now the other lines run"})
	}
	return r
}

func importAnacron(m *inventory.Machine, crontabs []inventory.Crontab) *importedAnacron {
	r := &importedAnacron{Installed: m.AnacronInstalled()}
	for i := range crontabs {
		if crontabs[i].Path == "/etc/anacrontab" && !crontabs[i].Counts() {
			r.Crontab, r.Refused = crontabs[i].Path, crontabs[i].Refused+": "+crontabs[i].Why
		}
	}
	t := inventory.Anacrontab(crontabs)
	if t == nil {
		return r
	}
	r.Crontab = t.Path
	for i := range t.File.Entries {
		e := &t.File.Entries[i]
		p := e.Options().Period
		if p == nil {
			continue
		}
		today := timetable.DayOf(m.Now(), m.Host.Zone)
		phase := importedPhase{ID: p.ID, Line: e.Line(), Period: periodText(p), Delay: delayText(m, e, p), Command: e.Command(), Due: true}
		if stamp, ok := stamp(m, p.ID); ok {
			phase.Stamp, phase.Due = stamp.String(), p.Due(stamp, today)
		}
		r.Jobs = append(r.Jobs, phase)
	}
	return r
}

func periodText(p *timetable.Period) string {
	switch {
	case p.Month:
		return "monthly"
	case p.Year:
		return "yearly"
	case p.Days == 1:
		return "daily"
	}
	return fmt.Sprintf("every %d days", p.Days)
}

// delayText is a delay as written. The part of it that is drawn at random is
// not what the daemon draws.
func delayText(m *inventory.Machine, e *crontab.Entry, p *timetable.Period) string {
	text := display.Brief(p.Delay)
	random, _ := e.Lookup("RANDOM_DELAY")
	if columns := strings.Fields(e.Raw()); random != "" && len(columns) > 1 && m.Host.Family == crontab.RHEL {
		text = fmt.Sprintf("%sm and up to %sm at random", columns[1], random)
	}
	if p.Until > 0 {
		text += fmt.Sprintf(" from %d to %d o'clock", p.From, p.Until)
	}
	return text
}

// stamp reads the day on which a job of anacron ran last.
func stamp(m *inventory.Machine, id string) (timetable.Day, bool) {
	const form = "20060102"
	text, err := m.Read(m.HostPath(filepath.Join(m.Places().Stamps, filepath.Base(id))))
	if err != nil || len(text) < len(form) {
		return 0, false
	}
	t, err := time.Parse(form, text[:len(form)])
	return timetable.DayOf(t, time.UTC), err == nil
}

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
	a.Printf("%s in %s\n", cli.Entries(n), cli.Plural(read, "crontab"))
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
		a.Printf(", %s    cronring lint %s", cli.Plural(t.Errors, "error"), display.Text(display.Quote(t.Path)))
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
		a.Printf("%s  %s of anacron, which is installed and keeps running them\n", r.Crontab, cli.Plural(len(r.Jobs), "job"))
	default:
		a.Printf("%s  %s of anacron, which is not installed: cronring does them, and keeps its stamps\n", r.Crontab, cli.Plural(len(r.Jobs), "job"))
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
	a.Printf("%s of systemd, %d enabled: they stay active\n", cli.Plural(len(timers), "timer"), enabled)
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

// cronLogs are the log files of cron on hosts without a journal.
var cronLogs = []string{"/var/log/syslog", "/var/log/cron", "/var/log/cron.log", "/var/log/messages"}

// likelyLog is the first of them that exists.
func likelyLog() string {
	for _, path := range cronLogs {
		if _, err := os.Stat(path); err == nil {
			return path
		}
	}
	return cronLogs[0]
}
