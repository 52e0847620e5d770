package cli

import (
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"
)

// Choice is a flag that takes one of a few words. The first is its default.
type Choice struct {
	Values []string
	Value  string
}

// OneOf returns a flag with these values; the first is its default.
func OneOf(words ...string) *Choice { return &Choice{Values: words, Value: words[0]} }

func (c *Choice) String() string { return c.Value }

func (c *Choice) Type() string { return "WORD" }

// Set rejects a word that is not on the list.
func (c *Choice) Set(word string) error {
	if !slices.Contains(c.Values, word) {
		return fmt.Errorf("it must be one of %s", strings.Join(c.Values, ", "))
	}
	c.Value = word
	return nil
}

// Output is the -o flag of one command.
type Output struct {
	Choice
	NoHeader bool
}

// ListOutput adds -o and --no-header to a command whose result is a list. The
// default is a table on a terminal, else plain.
func (p *Printer) ListOutput(cmd *cobra.Command, forms ...string) *Output {
	o := &Output{Choice: Choice{Values: forms, Value: FormPlain}}
	if p.Terminal {
		o.Value = FormTable
	}
	o.fromEnvironment()
	cmd.Flags().VarP(&o.Choice, "output", "o", "form of the result: "+strings.Join(forms, ", "))
	cmd.Flags().Lookup("output").DefValue = "table on a terminal, else plain"
	AddNoHeader(cmd, o)
	return o
}

// AddNoHeader adds the flag --no-header.
func AddNoHeader(cmd *cobra.Command, o *Output) {
	cmd.Flags().BoolVar(&o.NoHeader, "no-header", false, "leave out the line of column names")
}

// TextOutput adds -o to a command whose result is a page of text.
func (p *Printer) TextOutput(cmd *cobra.Command, forms ...string) *Output {
	o := &Output{Choice: Choice{Values: forms, Value: forms[0]}}
	o.fromEnvironment()
	cmd.Flags().VarP(&o.Choice, "output", "o", "form of the result: "+strings.Join(forms, ", "))
	return o
}

// fromEnvironment takes the form that CRONRING_OUTPUT names, if the result has
// it.
func (o *Output) fromEnvironment() {
	if word := os.Getenv("CRONRING_OUTPUT"); slices.Contains(o.Values, word) {
		o.Value = word
	}
}

// TimeForm returns the form of times in the result: that for people, or that for programs.
func (o *Output) TimeForm(people string) string {
	if o.ForPeople() {
		return people
	}
	return PlainTime
}

// ForPeople reports whether a person reads the result: relative times, cut
// columns and colours are for them.
func (o *Output) ForPeople() bool { return o.Value == FormTable || o.Value == FormWide }
