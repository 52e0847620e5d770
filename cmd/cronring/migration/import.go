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
at, due, job, crontab, line, user, command. With --against it then compares these
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
	cmd.Flags().Lookup("for").DefValue = ""
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
		a.Infof("%s under cronring", strings.Replace(display.Count(n, "thing")+" different", "0 things", "nothing", 1))
	}
	if f.strict && n > 0 {
		return cli.ExitCode(cli.ExitProblems)
	}
	return nil
}

// report looks at all sources that are asked for.
func report(ctx context.Context, m *inventory.Machine, sources []string) imported {
	r := imported{V: api.Version, Family: api.FamilyOf(m.Host.Family), Zone: m.Host.Zone.String()}
	crontabs := m.Crontabs(ctx)
	if slices.Contains(sources, "cron") {
		r.Cron = &importedCron{Settings: append(m.Settings(), m.PAMSetting()...), Silent: m.SilentScripts(), Crontabs: []importedCrontab{}}
		again := findDuplicates(crontabs)
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
	text, err := m.Read(m.HostPath(filepath.Join(m.Paths().Stamps, filepath.Base(id))))
	if err != nil || len(text) < len(form) {
		return 0, false
	}
	t, err := time.Parse(form, text[:len(form)])
	return timetable.DayOf(t, time.UTC), err == nil
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
