package runs

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/cronring/cronring/cmd/cronring/cli"
	"github.com/cronring/cronring/daemon/api"
	"github.com/cronring/cronring/daemon/display"
	"github.com/cronring/cronring/daemon/job"
)

// askFrom is the number of occurrences above which a backfill asks for confirmation.
const askFrom = 10

// backfillFlags are the flags of backfill.
type backfillFlags struct {
	at        string
	overlap   string
	reprocess *cli.Choice
	maxActive int
	dryRun    bool
	wait      bool
	yes       bool
	out       *cli.Output
}

// NewBackfill returns the command backfill.
func NewBackfill(a *cli.App) *cobra.Command {
	f := &backfillFlags{reprocess: cli.OneOf("none", "failed", "all")}
	cmd := &cobra.Command{
		Use:   "backfill JOB FROM..TO|--at T",
		Short: "Run occurrences of a job's past",
		Long: `Run occurrences of a job's past, oldest first.

FROM and TO are dates, as 2026-03-01, or times, as 2026-03-01T02:30 in the
entry's zone or in RFC 3339, and both are included. --at takes these, and
"02:30" today, "yesterday 02:30" and "-2h", too. A time that clocks show twice
is the one at which the entry runs, or the first. Runs get the historic time in
CRONRING_DUE, and CRONRING_TRIGGER is backfill. A backfill continues after a
restart of the daemon, and after Ctrl-C of --wait.

With --overlap=queue-all, the default, one occurrence runs after the other. With
allow, the default if --max-active is above 1, up to --max-active run at the same
time. Unless overlap= of the entry itself is allow, none starts beside another run
of the job. While a job is paused, its backfill waits. A backfill does not wait
for after=; if=, pools, retries and limits apply. The results of its runs do not
affect scheduled runs.`,
		Example: "  cronring backfill report 2026-03-01..2026-03-31 --dry-run\n" +
			"  cronring backfill list\n  cronring backfill stop 3",
		Args: cobra.RangeArgs(1, 2),
		RunE: func(cmd *cobra.Command, args []string) error { return backfill(a, cmd, args, f) },
	}
	cmd.Flags().StringVar(&f.at, "at", "", "only the occurrence at or in the minute of `T`, in the place of FROM..TO")
	cmd.Flags().StringVar(&f.overlap, "overlap", "", "overlap of its runs: `W` is queue-all or allow")
	cmd.Flags().Var(f.reprocess, "reprocess", "which earlier runs to repeat: none, failed, all")
	cmd.Flags().IntVar(&f.maxActive, "max-active", 1, "at most `N` runs of it at once")
	cmd.Flags().BoolVar(&f.dryRun, "dry-run", false, "only show what would run")
	cmd.Flags().BoolVar(&f.wait, "wait", false, "wait for the end; the exit code is 1 if one failed")
	cmd.Flags().BoolVarP(&f.yes, "yes", "y", false, fmt.Sprintf("do not ask, also if there are more than %d", askFrom))
	f.out = a.TextOutput(cmd, cli.FormText, cli.FormJSON)
	a.AddZone(cmd, "of the times that are shown")
	a.AddColor(cmd)
	a.AddQuiet(cmd)
	cmd.AddCommand(newBackfillList(a), newBackfillStop(a))
	return cmd
}

func newBackfillList(a *cli.App) *cobra.Command {
	var out *cli.Output
	cmd := &cobra.Command{
		Use:   "list [JOB...]",
		Short: "List backfills, the newest first",
		Args:  cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			loc := a.Location()
			found, err := a.Daemon().Backfills(cmd.Context(), args)
			if err != nil {
				return err
			}
			return cli.PrintList(a, out, api.Backfills{V: api.Version, Backfills: found}, found, backfillTable(found, out, loc))
		},
	}
	out = a.ListOutput(cmd, cli.FormTable, cli.FormWide, cli.FormPlain, cli.FormJSON, cli.FormJSONL)
	a.AddZone(cmd, "of the times")
	a.AddColor(cmd)
	return cmd
}

func newBackfillStop(a *cli.App) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "stop ID",
		Short: "Stop a backfill; its active runs continue",
		Args:  cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			id, err := strconv.ParseInt(args[0], 10, 64)
			if err != nil || id < 1 {
				return cli.UsageError("stop backfill "+strconv.Quote(args[0]), "a backfill is a number", "cronring backfill list")
			}
			b, err := a.Daemon().StopBackfill(cmd.Context(), id)
			if err == nil {
				a.Printf("stopped %s\n", backfillLine(&b.Backfill))
			}
			return err
		},
	}
	return cmd
}

func backfill(a *cli.App, cmd *cobra.Command, args []string, f *backfillFlags) error {
	loc := a.Location()
	r, err := f.request(args, a.Now().In(loc))
	if err != nil {
		return err
	}
	client := a.Daemon()
	r.DryRun = true
	b, err := client.Backfill(cmd.Context(), r)
	if err != nil {
		return err
	}
	if f.dryRun {
		return printPlan(a, b, loc, f.out)
	}
	if err := mayBackfill(a, b, f.yes); err != nil {
		return err
	}
	r.DryRun, r.Wait = false, f.wait
	end := func() {}
	if f.wait {
		w := &backfillWait{client: client, job: b.Job, runs: b.Plan.Count - b.Plan.LeftOut}
		a.OnInterrupt(w.interrupted)
		if f.out.Value != cli.FormJSON {
			end = a.Progress(func(time.Duration) string { return w.text(cmd.Context()) })
		}
	}
	b, err = client.Backfill(cmd.Context(), r)
	if end(); err != nil {
		return err
	}
	if f.out.Value == cli.FormJSON {
		err = a.PrintJSON(b)
	} else {
		a.Printf("%s    cronring backfill list\n", backfillLine(&b.Backfill))
	}
	if err == nil && f.wait && (b.Failed > 0 || b.State != job.BackfillDone) {
		return cli.ExitCode(cli.ExitFailed)
	}
	return err
}

// backfillWait reports on a backfill that the user waits for.
type backfillWait struct {
	client *api.Client
	job    job.ID
	runs   int // of all of it
}

// state returns the newest backfill of the job, or nil.
func (w *backfillWait) state(ctx context.Context) *job.Backfill {
	found, err := w.client.Backfills(ctx, []string{string(w.job)})
	if err != nil || len(found) == 0 {
		return nil // the request that waits reports the error
	}
	return &found[0]
}

// text describes how far the backfill is.
func (w *backfillWait) text(ctx context.Context) string {
	b := w.state(ctx)
	if b == nil {
		return ""
	}
	return fmt.Sprintf("backfill %d of %s  %s  %d of %d started, %d failed", b.ID, display.Text(string(w.job)),
		bar(time.Duration(b.Started), time.Duration(max(w.runs, 1))), b.Started, w.runs, b.Failed)
}

// interrupted reports that the backfill continues after Ctrl-C.
func (w *backfillWait) interrupted(ctx context.Context) string {
	b := w.state(ctx)
	if b == nil {
		return "the backfill continues    see it: cronring backfill list"
	}
	return fmt.Sprintf("backfill %d of %s continues    see it: cronring backfill list    stop it: cronring backfill stop %d", b.ID, display.Text(string(w.job)), b.ID)
}

// request builds the request of a command line.
func (f *backfillFlags) request(args []string, now time.Time) (r api.BackfillRequest, err error) {
	r = api.BackfillRequest{
		Ref: args[0], Overlap: f.overlap, Reprocess: job.Reprocess(f.reprocess.Value), MaxActive: f.maxActive,
	}
	const fix = "cronring backfill JOB 2026-03-01..2026-03-31"
	switch {
	case f.at != "" && len(args) == 1:
		if r.From, r.To, err = cli.OccurrenceTime(f.at, now); err != nil {
			return r, cli.UsageError("read --at "+strconv.Quote(f.at), err.Error(), fix)
		}
	case f.at != "":
		return r, cli.UsageError("backfill "+strconv.Quote(args[0]), "--at and FROM..TO exclude each other", fix)
	case len(args) == 1:
		return r, cli.UsageError("backfill "+strconv.Quote(args[0]), "no time is named: expected FROM..TO, or --at T", fix)
	default:
		from, to, ok := strings.Cut(args[1], "..")
		if !ok {
			to = from
		}
		r.From, r.To = from, to
	}
	if f.maxActive < 1 {
		return r, cli.UsageError("backfill "+strconv.Quote(args[0]), "--max-active is at least 1", fix)
	}
	return r, nil
}

// mayBackfill asks for confirmation of many runs. If no user can be asked, --yes is
// required.
func mayBackfill(a *cli.App, b api.Backfill, yes bool) error {
	runs := b.Plan.Count - b.Plan.LeftOut
	if runs <= askFrom || yes {
		return nil
	}
	what := fmt.Sprintf("cannot backfill %q: it has %d runs", string(b.Job), runs)
	if !a.CanAsk() {
		return cli.Invalid(what, fmt.Sprintf("more than %d runs require confirmation, and there is no terminal", askFrom), "add --yes    or see the runs: --dry-run")
	}
	answer := a.Ask(fmt.Sprintf("%s will run %d times, from %s on. Type yes to begin: ",
		display.Text(string(b.Job)), runs, b.Plan.First[0].Format(time.RFC3339)))
	if answer != "yes" {
		a.Infof("nothing was begun")
		return cli.ExitCode(cli.ExitFailed)
	}
	return nil
}

func printPlan(a *cli.App, b api.Backfill, loc *time.Location, out *cli.Output) error {
	if out.Value == cli.FormJSON {
		return a.PrintJSON(b)
	}
	runs := b.Plan.Count - b.Plan.LeftOut
	a.Printf("%s: %s, %d would run, %d left out by --reprocess=%s\n",
		display.Text(string(b.Job)), display.Count(b.Plan.Count, "occurrence"), runs, b.Plan.LeftOut, display.Text(string(b.Reprocess)))
	for _, at := range b.Plan.First {
		a.Printf("  %s\n", at.In(loc).Format(cli.LongTime))
	}
	if more := runs - len(b.Plan.First); more > 0 {
		a.Printf("  and %d more\n", more)
	}
	return nil
}

func backfillLine(b *job.Backfill) string {
	return fmt.Sprintf("backfill %d  %s  %s: %d started, %d left out, %d failed",
		b.ID, display.Text(string(b.Job)), display.Text(string(b.State)), b.Started, b.Skipped, b.Failed)
}

func backfillTable(found []job.Backfill, out *cli.Output, loc *time.Location) *cli.Table {
	form := out.TimeForm("Mon 2006-01-02 15:04:05")
	t := &cli.Table{Header: []string{"id", "job", "state", "from", "to", "at", "started", "left-out", "failed", "overlap", "max-active", "by"}}
	for i := range found {
		b := &found[i]
		at := ""
		if !b.Cursor.Before(b.From) {
			at = b.Cursor.In(loc).Format(form)
		}
		t.Add(strconv.FormatInt(b.ID, 10), string(b.Job), string(b.State), b.From.In(loc).Format(form), b.To.In(loc).Format(form), at,
			strconv.Itoa(b.Started), strconv.Itoa(b.Skipped), strconv.Itoa(b.Failed), b.Overlap, strconv.Itoa(b.MaxActive), b.By)
	}
	return t
}
