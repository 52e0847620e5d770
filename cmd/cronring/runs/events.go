package runs

import (
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/cronring/cronring/cmd/cronring/cli"
	"github.com/cronring/cronring/daemon/api"
	"github.com/cronring/cronring/daemon/display"
	"github.com/cronring/cronring/daemon/job"
)

// NewEvents returns the command events.
func NewEvents(a *cli.App) *cobra.Command {
	var out *cli.Output
	var notify bool
	cmd := &cobra.Command{
		Use:   "events [JOB...]",
		Short: "Print everything as it happens: decisions, starts, ends, output, notices",
		Args:  cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			loc := a.Location()
			messages, ok := a.Err.(*os.File)
			bell := notify && ok && cli.IsTerminal(messages)
			for e, err := range a.Daemon().Events(cmd.Context(), args...) {
				if err != nil {
					return err
				}
				if err := printEvent(a, e, out, loc); err != nil {
					return err
				}
				if r := e.Record; bell && r != nil && r.Kind == job.Ended && r.Run != nil && r.Run.Failed() {
					fmt.Fprint(a.Err, display.Bell+display.Notification(string(r.Job)+": "+r.Run.Ending()))
				}
				if err := a.Out.Flush(); err != nil {
					return err
				}
			}
			return nil
		},
	}
	out = a.TextOutput(cmd, cli.FormText, cli.FormJSONL)
	cmd.Flags().BoolVar(&notify, "notify", false, "when a run fails, ring the bell and notify through the terminal")
	a.AddZone(cmd, "of the times")
	return cmd
}

func printEvent(a *cli.App, e api.Event, out *cli.Output, loc *time.Location) error {
	if out.Value == cli.FormJSONL {
		return a.PrintLine(e)
	}
	switch {
	case e.Record != nil:
		a.Printf("%s %s\n", e.Record.At.In(loc).Format("15:04:05.000"), display.Text(recordText(e.Record)))
	case e.Chunk != nil:
		for line := range strings.Lines(string(e.Chunk.Data)) {
			a.Printf("%s %s  %s  run %d  %s\n", e.Chunk.At.In(loc).Format("15:04:05.000"), display.Text(string(e.Chunk.Stream)), display.Text(string(e.Chunk.Job)), e.Chunk.Run,
				display.AppendLine(nil, []byte(strings.TrimRight(line, "\r\n")), false))
		}
	case e.Notice != nil:
		a.Printf("%s notice  %s  %s  %s\n", e.Notice.At.In(loc).Format("15:04:05.000"), display.Text(string(e.Notice.On)),
			display.Text(string(e.Notice.Job)), display.Text(e.Notice.Text))
	case e.Gap != nil:
		a.Printf("[%s left out: this reader was too slow]\n", display.Count(e.Gap.Lost, "event"))
	}
	return nil
}

// recordText formats a record in one line.
func recordText(r *job.Record) string {
	parts := []string{string(r.Kind)}
	if r.Job != "" {
		parts = append(parts, string(r.Job))
	}
	if r.Run != nil {
		parts = append(parts, fmt.Sprintf("run %d", r.Run.ID))
	}
	if r.Kind == job.Decided {
		parts = append(parts, string(r.Decision))
	}
	if r.Kind == job.Ended && r.Run != nil {
		parts = append(parts, r.Run.Ending())
	}
	if r.Reason != "" {
		parts = append(parts, string(r.Reason))
	}
	if words := r.Words(); words != "" {
		parts = append(parts, words)
	}
	return strings.Join(parts, "  ")
}
