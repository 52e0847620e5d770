package jobs

import (
	"fmt"
	"io"
	"os"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/cronring/cronring/cmd/cronring/cli"
	"github.com/cronring/cronring/daemon/api"
)

// maxState is larger than any value that the daemon accepts; longer input is cut to it.
const maxState = 128 << 10

// NewState returns the command state.
func NewState(a *cli.App) *cobra.Command {
	cmd := &cobra.Command{
		Hidden: true,
		Use:    "state get|set|list|delete",
		Short:  "A job's own memory: small values from run to run",
		Long: `A job's own memory: checkpoints and the like, kept from run to run. Within a run
the job is the run's own, by CRONRING_JOB; elsewhere --job names it. Users
reach the memory of their own jobs, and root that of all jobs.

A key is 1 to 128 letters, digits, dots, underscores and hyphens. A value has at most
64 KiB, and a job keeps at most 256 of them and 1 MiB.`,
		Example: "  last=$(cronring state get last-id) || last=0\n  cronring state set last-id 4711",
		Args:    cobra.NoArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newStateGet(a), newStateSet(a), newStateList(a), newStateDelete(a))
	return cmd
}

// jobFlag names the job whose memory is meant.
type jobFlag struct{ name string }

func addJob(cmd *cobra.Command) *jobFlag {
	f := &jobFlag{}
	cmd.Flags().StringVar(&f.name, "job", "", "the job `JOB`; within a run it is the run's own")
	return f
}

func (f *jobFlag) ref() (string, error) {
	if f.name != "" {
		return f.name, nil
	}
	if name := os.Getenv("CRONRING_JOB"); name != "" {
		return name, nil
	}
	return "", cli.Invalid("missing flag: --job JOB", "it is optional only within a run of cronring, where CRONRING_JOB is set", "add --job JOB")
}

// stateOf returns the value of a key, or all keys for "".
func stateOf(a *cli.App, cmd *cobra.Command, job *jobFlag, key string) (s api.State, err error) {
	ref, err := job.ref()
	if err != nil {
		return s, err
	}
	return a.Daemon().State(cmd.Context(), ref, key)
}

func setState(a *cli.App, cmd *cobra.Command, job *jobFlag, r api.StateRequest) (err error) {
	if r.Job, err = job.ref(); err != nil {
		return err
	}
	_, err = a.Daemon().SetState(cmd.Context(), r)
	return err
}

func newStateGet(a *cli.App) *cobra.Command {
	var job *jobFlag
	var out *cli.Output
	cmd := &cobra.Command{
		Use:   "get KEY [--job JOB]",
		Short: "Print what is kept under KEY, as it is",
		Args:  cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			s, err := stateOf(a, cmd, job, args[0])
			switch {
			case err != nil:
				return err
			case out.Value == cli.FormJSON:
				return a.PrintJSON(s)
			case a.Terminal:
				a.Printf("%s\n", cli.EscapeText(string(s.Entries[0].Value)))
				return nil
			}
			_, err = a.Out.Write(s.Entries[0].Value)
			return err
		},
	}
	job = addJob(cmd)
	out = a.TextOutput(cmd, cli.FormText, cli.FormJSON)
	return cmd
}

func newStateSet(a *cli.App) *cobra.Command {
	var job *jobFlag
	cmd := &cobra.Command{
		Use:   "set KEY VALUE|- [--job JOB]",
		Short: "Store VALUE, or for - the standard input, under KEY",
		Args:  cobra.ExactArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			value := []byte(args[1])
			if args[1] == "-" {
				var err error
				if value, err = io.ReadAll(io.LimitReader(a.In, maxState)); err != nil {
					return fmt.Errorf("read standard input: %w", err)
				}
			}
			return setState(a, cmd, job, api.StateRequest{Key: args[0], Value: value})
		},
	}
	job = addJob(cmd)
	return cmd
}

func newStateList(a *cli.App) *cobra.Command {
	var job *jobFlag
	var out *cli.Output
	cmd := &cobra.Command{
		Use:   "list [--job JOB]",
		Short: "List the keys",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			loc := a.Location()
			s, err := stateOf(a, cmd, job, "")
			if err != nil {
				return err
			}
			t := &cli.Table{Header: []string{"key", "bytes", "set"}}
			for _, e := range s.Entries {
				t.Add(e.Key, strconv.Itoa(e.Size), cli.FormatPlain(e.At, loc))
			}
			return cli.PrintList(a, out, s, s.Entries, t)
		},
	}
	job = addJob(cmd)
	out = a.ListOutput(cmd, cli.FormTable, cli.FormPlain, cli.FormJSON, cli.FormJSONL)
	a.AddZone(cmd, "of the times")
	a.AddColor(cmd)
	return cmd
}

func newStateDelete(a *cli.App) *cobra.Command {
	var job *jobFlag
	cmd := &cobra.Command{
		Use:   "delete KEY [--job JOB]",
		Short: "Forget what is kept under KEY",
		Args:  cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return setState(a, cmd, job, api.StateRequest{Key: args[0], Delete: true})
		},
	}
	job = addJob(cmd)
	return cmd
}
