package main

import (
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"
)

// choice is a flag that takes one of a few words. The first is its default.
type choice struct {
	words []string
	word  string
}

func oneOf(words ...string) *choice { return &choice{words: words, word: words[0]} }

func (c *choice) String() string { return c.word }

func (c *choice) Type() string { return "WORD" }

// Set refuses a word that is not on the list.
func (c *choice) Set(word string) error {
	if !slices.Contains(c.words, word) {
		return fmt.Errorf("it must be one of %s", strings.Join(c.words, ", "))
	}
	c.word = word
	return nil
}

// output is the -o flag of one command.
type output struct {
	choice
	noHeader bool
}

// listOutput adds -o and --no-header to a command whose result is a list. The
// default is a table on a terminal, else plain.
func (p *printer) listOutput(cmd *cobra.Command, forms ...string) *output {
	o := &output{choice: choice{words: forms, word: formPlain}}
	if p.tty {
		o.word = formTable
	}
	o.fromEnvironment()
	cmd.Flags().VarP(&o.choice, "output", "o", "form of the result: "+strings.Join(forms, ", "))
	cmd.Flags().Lookup("output").DefValue = "table on a terminal, else plain"
	addNoHeader(cmd, o)
	return o
}

func addNoHeader(cmd *cobra.Command, o *output) {
	cmd.Flags().BoolVar(&o.noHeader, "no-header", false, "leave out the line of column names")
}

// textOutput adds -o to a command whose result is a page of text.
func (p *printer) textOutput(cmd *cobra.Command, forms ...string) *output {
	o := &output{choice: choice{words: forms, word: forms[0]}}
	o.fromEnvironment()
	cmd.Flags().VarP(&o.choice, "output", "o", "form of the result: "+strings.Join(forms, ", "))
	return o
}

// fromEnvironment takes the form that CRONRING_OUTPUT names, if the result has
// it.
func (o *output) fromEnvironment() {
	if word := os.Getenv("CRONRING_OUTPUT"); slices.Contains(o.words, word) {
		o.word = word
	}
}

// forEyes reports whether a person reads the result: relative times, cut
// columns and colours are for them.
func (o *output) forEyes() bool { return o.word == formTable || o.word == formWide }
