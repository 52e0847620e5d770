package main

import (
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/cronring/cronring/daemon/api"
	"github.com/cronring/cronring/daemon/job"
	"github.com/cronring/cronring/tui/safe"
)

func newEvents(a *app) *cobra.Command {
	var out *output
	cmd := &cobra.Command{
		Use:   "events [JOB...]",
		Short: "Print everything as it happens: decisions, starts, ends, output, notices",
		Args:  cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			loc, err := a.location()
			if err != nil {
				return err
			}
			for e, err := range a.daemon().Events(cmd.Context(), args...) {
				if err != nil {
					return err
				}
				if err := a.printEvent(e, out, loc); err != nil {
					return err
				}
				if err := a.out.Flush(); err != nil {
					return err
				}
			}
			return nil
		},
	}
	out = a.textOutput(cmd, formText, formJSONL)
	a.addZone(cmd, "of the times")
	return cmd
}

func (a *app) printEvent(e api.Event, out *output, loc *time.Location) error {
	if out.word == formJSONL {
		return a.printLine(e)
	}
	switch {
	case e.Record != nil:
		a.printf("%s %s\n", e.Record.At.In(loc).Format("15:04:05.000"), safe.Text(recordText(e.Record)))
	case e.Chunk != nil:
		for line := range strings.Lines(string(e.Chunk.Data)) {
			a.printf("%s run %d %s  %s\n", e.Chunk.At.In(loc).Format("15:04:05.000"), e.Chunk.Run, e.Chunk.Stream,
				safe.AppendLine(nil, []byte(strings.TrimRight(line, "\r\n")), false))
		}
	case e.Notice != nil:
		a.printf("%s notice  %s  %s  %s\n", e.Notice.At.In(loc).Format("15:04:05.000"), e.Notice.On,
			safe.Text(string(e.Notice.Job)), safe.Text(e.Notice.Text))
	case e.Gap != nil:
		a.printf("[%s left out: this reader was too slow]\n", plural(e.Gap.Lost, "event"))
	}
	return nil
}

// recordText says a fact in one line.
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
	if r.Detail != "" {
		parts = append(parts, r.Detail)
	}
	return strings.Join(parts, "  ")
}
