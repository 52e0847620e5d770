package analysis

import (
	"strings"

	"github.com/spf13/cobra"

	"github.com/cronring/cronring/cmd/cronring/cli"
	"github.com/cronring/cronring/crontab/option"
	"github.com/cronring/cronring/daemon/api"
)

// NewOptions returns the command options.
func NewOptions(a *cli.App) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "options [NAME...]",
		Short: "Describe the options of crontab entries",
		Long: `Describe the options of crontab entries: values, default, meaning, and what an entry
does under plain cron, which ignores the option. Without NAME list all options.

This needs no daemon. cronringd and this command read the same table.`,
		Example: "  cronring options\n  cronring options retry backoff",
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			return optionNames(), cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				listOptions(a)
			}
			for i, name := range args {
				o := FindOption(name)
				if o == nil {
					return unknownOption(name)
				}
				if i > 0 {
					a.Printf("\n")
				}
				PrintOption(a, o)
			}
			return nil
		},
	}
	a.AddPager(cmd)
	return cmd
}

func optionNames() (names []string) {
	for _, o := range option.Vocabulary() {
		names = append(names, o.Key)
	}
	return names
}

func unknownOption(name string) error {
	key, _, _ := strings.Cut(name, "=")
	fix := "cronring options"
	if near := option.NearestKey(key); near != "" {
		fix = "cronring options " + near + "    or see: " + fix
	}
	return &api.Error{Kind: api.NotFound, What: "cannot describe the option " + key, Why: "there is no such option", Fix: fix}
}

// FindOption returns the option with a name, which can have "=" and a value; or nil.
func FindOption(name string) *option.Spec {
	key, _, _ := strings.Cut(name, "=")
	return option.Find(key)
}

// PrintOption describes an option.
func PrintOption(a *cli.App, o *option.Spec) {
	a.Printf("%s=%s: %s\n\n", o.Key, o.Form, o.Meaning)
	guard := ""
	if o.Guard {
		guard = "if the value is invalid, the job is held and does not run without the option"
	}
	a.PrintField("values", o.Values)
	a.PrintField("default", o.Default)
	a.PrintField("guard", guard)
	a.PrintField("in cron", o.Loss)
	a.PrintField("manual", "cronring man options")
}

// listOptions prints a table of all options.
func listOptions(a *cli.App) {
	end := a.Page()
	defer end()
	t := &cli.Table{Header: []string{"option", "default", "meaning"}}
	for _, o := range option.Vocabulary() {
		t.Add(o.Key+"="+o.Form, o.Default, o.Meaning)
	}
	form := cli.FormPlain
	if a.Terminal {
		form = cli.FormTable
	}
	a.PrintTable(t, &cli.Output{Choice: cli.Choice{Value: form}})
}
