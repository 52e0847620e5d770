package crontabs

import (
	"fmt"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/cronring/cronring/cmd/cronring/cli"
	"github.com/cronring/cronring/crontab/draft"
	"github.com/cronring/cronring/daemon/display"
	"github.com/cronring/cronring/daemon/job"
)

// NewRm returns the command rm.
func NewRm(a *cli.App) *cobra.Command {
	f := &changeFlags{}
	var comment bool
	cmd := &cobra.Command{
		Use:   "rm JOB... [--comment-out]",
		Short: "Remove entries from crontabs",
		Long: `Remove the entries of jobs, and the options above them, from their crontabs.
Comments stay. Active runs continue.

To confirm, type the number of entries if there are several, and the name of a
protected one; -y skips the question. The old version is kept as a revision.`,
		Example: "  cronring rm tmp-clean\n  cronring rm 'etl*' --comment-out",
		Args:    cobra.MinimumNArgs(1),
		RunE:    func(cmd *cobra.Command, args []string) error { return rm(a, cmd, args, comment, f) },
	}
	cmd.Flags().BoolVar(&comment, "comment-out", false, "make comments of them instead")
	f.add(a, cmd)
	a.AddZone(cmd, "of the times")
	return cmd
}

func rm(a *cli.App, cmd *cobra.Command, refs []string, comment bool, f *changeFlags) error {
	by, err := openCrontabs(cmd.Context(), a, f)
	if err != nil {
		return err
	}
	changes, entries, err := OpenJobs(cmd, by, "remove", "rm JOB", refs)
	if err != nil {
		return err
	}
	total := 0
	var protected []job.ID
	for _, c := range changes {
		for _, e := range entries[c] {
			total++
			if e.Entry.Options().Protect {
				protected = append(protected, e.Id)
			}
			a.Printf("%s %s  %s:%d  %s\n", a.Paint(cli.Bad, "-"), display.Text(string(e.Id)), display.Text(c.Old.File), e.Entry.Line()+c.Old.Above(), display.Text(e.Entry.Raw()))
		}
		if err := c.drop(entries[c], comment); err != nil {
			return err
		}
	}
	if err := confirmRemoval(a, total, protected, f); err != nil {
		return err
	}
	for _, c := range changes {
		c.verb = "rm"
		if _, err := c.review(a.Now()); err != nil {
			return err
		}
		if err := install(cmd.Context(), a, by, c.request(), f); err != nil {
			return err
		}
	}
	return nil
}

func (c *Change) drop(entries []FoundEntry, comment bool) error {
	lines := make([]int, len(entries))
	for i, e := range entries {
		lines[i] = e.Entry.Line()
	}
	do := (*draft.Draft).Remove
	if comment {
		do = (*draft.Draft).CommentOut
	}
	if err := do(c.draft, lines...); err != nil {
		return fmt.Errorf("change %s: %w", c.Old.File, err)
	}
	return nil
}

// confirmRemoval requires the user to type the names of protected jobs, or the number of
// entries if there are several.
func confirmRemoval(a *cli.App, total int, protected []job.ID, f *changeFlags) error {
	for _, id := range protected {
		if err := confirm(a, "remove it, as it is protected", string(id), f); err != nil {
			return err
		}
	}
	if total > 1 {
		return confirm(a, "remove them", strconv.Itoa(total), f)
	}
	return nil
}
