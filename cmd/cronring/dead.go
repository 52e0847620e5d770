package main

import (
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/cronring/cronring/daemon/api"
	"github.com/cronring/cronring/daemon/job"
	"github.com/cronring/cronring/tui/safe"
)

func newDead(a *app) *cobra.Command {
	var q api.LetterQuery
	var out *output
	cmd := &cobra.Command{
		Use:   "dead [JOB...]",
		Short: "List the dead letters: runs that failed for good",
		Long: `List the dead letters, the newest first: runs that failed with all their
attempts, of jobs with on-exhausted=dead, which is the default beside retry=.
Each lies there until it is run again (redrive) or discarded (drop).`,
		Example: "  cronring dead\n  cronring logs 4213\n  cronring redrive 4213",
		RunE: func(cmd *cobra.Command, args []string) error {
			q.Refs = args
			return a.dead(cmd, q, out)
		},
	}
	cmd.Flags().IntVarP(&q.Limit, "number", "n", 0, "at most `N`; 100 if not given")
	cmd.Flags().Lookup("number").DefValue = ""
	out = a.listOutput(cmd, formTable, formWide, formPlain, formJSON, formJSONL, formName)
	a.addSelection(cmd, out, api.Letters{})
	a.addZone(cmd, "of the times")
	a.addColor(cmd)
	return cmd
}

func (a *app) dead(cmd *cobra.Command, q api.LetterQuery, out *output) error {
	loc, err := a.location()
	if err != nil {
		return err
	}
	letters, err := a.daemon().Dead(cmd.Context(), q)
	if err != nil {
		return err
	}
	return a.printLetters(letters, out, loc)
}

func (a *app) printLetters(letters []api.Letter, out *output, loc *time.Location) error {
	switch out.word {
	case formJSON:
		return a.printJSON(api.Letters{V: api.Version, Letters: letters})
	case formJSONL:
		return printLines(a, letters)
	case formName:
		for _, l := range letters {
			a.printf("%d\n", l.Run.ID)
		}
		return nil
	}
	t := &table{header: []string{"run", "job", "since", "due", "attempts", "end"}}
	for i := range letters {
		l := &letters[i]
		since, due := stamp(l.Since, loc), stamp(l.Run.Due, loc)
		if out.forEyes() {
			since, due = l.Since.In(loc).Format(stampEyes), l.Run.Due.In(loc).Format(stampEyes)
		}
		t.add(l.Run.ID.String(), string(l.Run.Job), since, due, strconv.Itoa(l.Run.Attempt), l.Run.Standing())
	}
	a.printTable(t, out)
	return nil
}

func newRedrive(a *app) *cobra.Command {
	var r api.LetterRequest
	var out *output
	cmd := &cobra.Command{
		Use:   "redrive RUN|JOB...|--all",
		Short: "Run dead letters again",
		Long: `Run dead letters again: RUN, or all of JOB. The new run is of the same
occurrence, with the same CRONRING_DUE and CRONRING_INVOCATION_ID, and begins
anew with the first attempt. The letter is gone as soon as the run is decided.`,
		Example: "  cronring redrive 4213",
		RunE: func(cmd *cobra.Command, args []string) error {
			r.Refs = args
			if err := letterArgs("redrive", r); err != nil {
				return err
			}
			runs, err := a.daemon().Redrive(cmd.Context(), r)
			if err != nil {
				return err
			}
			return a.printRuns(runs, out, func(r *job.Run) string { return string(r.State) })
		},
	}
	cmd.Flags().BoolVar(&r.All, "all", false, "all dead letters")
	out = a.textOutput(cmd, formText, formJSON, formJSONL, formName)
	a.addColor(cmd)
	return cmd
}

func newDrop(a *app) *cobra.Command {
	var r api.LetterRequest
	var out *output
	cmd := &cobra.Command{
		Use:     "drop RUN|JOB...|--all",
		Short:   "Discard dead letters",
		Long:    "Discard dead letters: RUN, or all of JOB. Their runs and what these printed stay\nin the history as long as others do.",
		Example: "  cronring drop 4213",
		RunE: func(cmd *cobra.Command, args []string) error {
			r.Refs = args
			if err := letterArgs("drop", r); err != nil {
				return err
			}
			letters, err := a.daemon().Drop(cmd.Context(), r)
			switch {
			case err != nil:
				return err
			case out.word == formJSON:
				return a.printJSON(api.Letters{V: api.Version, Letters: letters})
			case out.word == formJSONL:
				return printLines(a, letters)
			}
			for _, l := range letters {
				a.printf("discarded run %d of %s\n", l.Run.ID, safe.Text(string(l.Run.Job)))
			}
			return nil
		},
	}
	cmd.Flags().BoolVar(&r.All, "all", false, "all dead letters")
	out = a.textOutput(cmd, formText, formJSON, formJSONL)
	return cmd
}

// letterArgs holds that either letters are named or all are meant.
func letterArgs(verb string, r api.LetterRequest) error {
	switch {
	case len(r.Refs) == 0 && !r.All:
		return badUsage(verb, "no run and no job is named", "cronring dead")
	case len(r.Refs) > 0 && r.All:
		return badUsage(verb, "--all is for all dead letters, and some are named", "leave one of them out")
	}
	return nil
}
