package migration

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/cronring/cronring/cmd/cronring/analysis"
	"github.com/cronring/cronring/cmd/cronring/cli"
	"github.com/cronring/cronring/cmd/cronring/crontabs"
	"github.com/cronring/cronring/cmd/cronring/migration/manifest"
	"github.com/cronring/cronring/daemon/api"
	"github.com/cronring/cronring/daemon/display"
	"github.com/cronring/cronring/daemon/job"
)

// exportFlags are the flags of export.
type exportFlags struct {
	image  string
	dir    string
	length cli.Duration
}

// NewExport returns the command export.
func NewExport(a *cli.App) *cobra.Command {
	f := &exportFlags{length: cli.Duration(7 * 24 * time.Hour)}
	cmd := &cobra.Command{
		Use:   "export FORMAT [JOB...]",
		Short: "Print jobs for another program",
		Long: `Print jobs for another program. Everybody may export their own, root all.

crontab     the complete crontab files that contain them, unchanged
systemd     a .timer and a .service for each. --dir writes them as files.
kubernetes  a CronJob for each, as YAML
nomad       a periodic batch job for each, as HCL; --dir as for systemd
json        the jobs, as list -o json has them
ical        their coming runs as a calendar (RFC 5545): --for, else 7 days

Comments in the manifests of systemd, Kubernetes and Nomad list the options
that have no equivalent there. A job that would do what one of its guards
excludes does not start by itself. See cronring-beyond(7).`,
		Example: "  cronring export ical >runs.ics\n  cronring export systemd backup --dir units\n  cronring export kubernetes backup --image backup:2 >backup.yaml",
		Args:    cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if !slices.Contains(formats, args[0]) {
				return cli.UsageError("export for "+strconv.Quote(args[0]), "it is not a format", "the formats are "+strings.Join(formats, ", "))
			}
			return export(a, cmd, args[0], args[1:], f)
		},
		ValidArgsFunction: func(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
			if len(args) == 0 {
				return formats, cobra.ShellCompDirectiveNoFileComp
			}
			return a.CompleteJobs(cmd, args[1:], typed)
		},
	}
	cmd.Flags().StringVar(&f.dir, "dir", "", "systemd, nomad: write the files into `DIR`, without replacing any")
	cmd.Flags().StringVar(&f.image, "image", "IMAGE", "kubernetes: the `IMAGE` of the container")
	cmd.Flags().Var(&f.length, "for", "ical: runs of this time")
	a.AddQuiet(cmd)
	return cmd
}

// formats are the values of FORMAT.
var formats = []string{"crontab", "systemd", "kubernetes", "nomad", "json", "ical"}

func export(a *cli.App, cmd *cobra.Command, format string, refs []string, f *exportFlags) error {
	if f.dir != "" && format != "systemd" && format != "nomad" {
		return cli.UsageError("write "+format+" into a directory", "only systemd and nomad have a file for each job", "leave --dir out")
	}
	client, command := a.Daemon(), "export "+format+" JOB"
	if format == "json" {
		jobs, err := crontabs.ListFor(cmd, client, "export", command, refs)
		if err != nil {
			return err
		}
		return a.PrintJSON(api.Jobs{V: api.Version, Jobs: jobs})
	}
	crontabs, entries, err := crontabs.OpenJobs(cmd, client, "export", command, refs)
	if err != nil {
		return err
	}
	if format == "ical" {
		return exportCalendar(a, crontabs, entries, time.Duration(f.length))
	}
	for _, t := range crontabs {
		if format == "crontab" {
			exportCrontab(a, t)
			continue
		}
		for _, e := range entries[t] {
			switch format {
			case "kubernetes":
				printExport(a, manifest.Kubernetes(e.Id, e.Entry, f.image))
				continue
			case "nomad":
				err = exportFiles(a, []manifest.File{manifest.Nomad(e.Id, e.Entry)}, f.dir)
			default:
				err = exportFiles(a, manifest.Units(e.Id, e.Entry), f.dir)
			}
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// exportCrontab prints a crontab.
func exportCrontab(a *cli.App, t *crontabs.Change) {
	text := string(t.Old.Text)
	if text != "" && !strings.HasSuffix(text, "\n") {
		text += "\n"
	}
	printExport(a, fmt.Sprintf("# %s\n%s", display.Text(t.Old.File), text))
}

// printExport prints text as it is, but to a terminal without what could steer it: a user wrote the
// entries that root exports.
func printExport(a *cli.App, text string) {
	if a.Terminal {
		text = cli.EscapeText(text)
	}
	a.Printf("%s", text)
}

// exportFiles prints the files of an entry, or writes them.
func exportFiles(a *cli.App, files []manifest.File, dir string) error {
	if dir != "" {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return fmt.Errorf("write manifests: %w", err)
		}
	}
	for _, u := range files {
		if dir == "" {
			printExport(a, fmt.Sprintf("# %s\n%s\n", u.Name, u.Text))
			continue
		}
		path := filepath.Join(dir, u.Name)
		file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
		if err != nil {
			return &api.Error{What: fmt.Sprintf("cannot write %q", path), Why: err.Error(), Fix: "name a directory that has no such file: --dir DIR"}
		}
		_, err = file.WriteString(u.Text)
		if err := errors.Join(err, file.Close()); err != nil {
			return fmt.Errorf("write %s: %w", path, err)
		}
		a.Infof("%s", display.Text(path))
	}
	return nil
}

// The bounds of a calendar.
const (
	mostRuns   = 2_000 // of one job
	mostEvents = 100_000
)

// exportCalendar prints the coming runs of jobs.
func exportCalendar(a *cli.App, crontabs []*crontabs.Change, entries map[*crontabs.Change][]crontabs.FoundEntry, length time.Duration) error {
	now := a.Now()
	w := analysis.Window{From: now, Until: now.Add(length), Number: mostRuns}
	calendarLine(a, "BEGIN:VCALENDAR")
	calendarLine(a, "VERSION:2.0")
	calendarLine(a, "PRODID:-//cronring//cronring//EN")
	events := 0
	for _, t := range crontabs {
		for _, e := range entries[t] {
			for _, at := range w.Runs(e.Entry.Schedule, e.Entry.Zone().Location()) {
				if events++; events > mostEvents {
					return &api.Error{
						What: fmt.Sprintf("cannot export more than %d runs", mostEvents), Why: "no calendar would take them",
						Fix: "name fewer jobs, or a shorter time: --for 1d", Kind: api.Usage,
					}
				}
				calendarEvent(a, e.Id, e.Entry.Command(), at.UTC(), now.UTC())
			}
		}
	}
	calendarLine(a, "END:VCALENDAR")
	return nil
}

func calendarEvent(a *cli.App, id job.ID, command string, at, now time.Time) {
	const form = "20060102T150405Z"
	calendarLine(a, "BEGIN:VEVENT")
	calendarLine(a, "UID:"+job.Invocation(id, at, 0, 0)+"@cronring")
	calendarLine(a, "DTSTAMP:"+now.Format(form))
	calendarLine(a, "DTSTART:"+at.Format(form))
	calendarLine(a, "SUMMARY:"+calendarText(string(id)))
	calendarLine(a, "DESCRIPTION:"+calendarText(command))
	calendarLine(a, "TRANSP:TRANSPARENT")
	calendarLine(a, "END:VEVENT")
}

// calendarText is foreign text as the value of a property.
func calendarText(text string) string {
	return strings.NewReplacer(`\`, `\\`, ";", `\;`, ",", `\,`, "\n", `\n`).Replace(display.Text(text))
}

// calendarLine writes a line, folded so that none has more than 75 bytes, and
// not within a character.
func calendarLine(a *cli.App, line string) {
	for room := 75; len(line) > room; room = 74 {
		cut := room
		for line[cut]&0xc0 == 0x80 {
			cut--
		}
		a.Printf("%s\r\n ", line[:cut])
		line = line[cut:]
	}
	a.Printf("%s\r\n", line)
}
