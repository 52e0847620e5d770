package analysis

import (
	"strings"

	"github.com/cronring/cronring/cmd/cronring/cli"
	"github.com/cronring/cronring/crontab"
)

// FindOption returns the option with a name, which can have "=" and a value.
func FindOption(name string) (crontab.OptionSpec, bool) {
	key, _, _ := strings.Cut(name, "=")
	for _, o := range crontab.Vocabulary() {
		if o.Key == key && o.Built() {
			return o, true
		}
	}
	return crontab.OptionSpec{}, false
}

// PrintOption describes an option.
func PrintOption(a *cli.App, o *crontab.OptionSpec) {
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

// ListOptions prints a table of all options.
func ListOptions(a *cli.App) {
	end := a.Page()
	defer end()
	t := &cli.Table{Header: []string{"option", "default", "meaning"}}
	for _, o := range crontab.Vocabulary() {
		if o.Built() {
			t.Add(o.Key+"="+o.Form, o.Default, o.Meaning)
		}
	}
	form := cli.FormPlain
	if a.Terminal {
		form = cli.FormTable
	}
	a.PrintTable(t, &cli.Output{Choice: cli.Choice{Value: form}})
}
