package finder

import (
	"fmt"
	"slices"
	"strings"

	"github.com/cronring/cronring/daemon/display"
	"github.com/cronring/cronring/daemon/job"
	"github.com/cronring/cronring/tui/custom"
	"github.com/cronring/cronring/tui/keys"
	"github.com/cronring/cronring/tui/screen"
)

// Kind is the kind of a candidate.
type Kind string

// The kinds. A verb is a command that the dashboard performs itself, a command is one of the
// command line, and a custom command is one of the user's settings.
const (
	KindVerb    Kind = "verb"
	KindCommand Kind = "command"
	KindJob     Kind = "job"
	KindScreen  Kind = "screen"
	KindFile    Kind = "file"
	KindHost    Kind = "host"
	KindView    Kind = "view"
	KindRecent  Kind = "recent"
	KindCustom  Kind = "custom"
)

// Candidate is something that the typed text may mean.
type Candidate struct {
	Kind    Kind
	Name    string // of a job, screen, file, host, view or custom command; the text of a recent command
	Help    string
	Letters []int  // bytes of Text that match what was typed
	Refusal string // why it cannot be done; empty: it can

	Verb   Verb
	Words  []string    // arguments of the verb, or the words of the command
	Jobs   []job.ID    // jobs that the words of a verb name
	Needs  bool        // the command is not complete without arguments
	Action keys.Action // that shows a screen
	File   string      // to edit; empty: none
	View   screen.View
	Custom *custom.Command
}

// Text returns the candidate as it is typed.
func (c *Candidate) Text() string {
	switch c.Kind {
	case KindVerb:
		return strings.Join(append([]string{c.Verb.Word}, c.Words...), " ")
	case KindCommand:
		return display.ShellLine(c.Words)
	case KindHost:
		return hostWord + " " + c.Name
	}
	return c.Name
}

// Subject returns the jobs or the file that the candidate is about.
func (c *Candidate) Subject() screen.Subject {
	return screen.Subject{Jobs: c.Jobs, Marked: len(c.Jobs) > 1, File: c.File}
}

// Incomplete reports that an argument is missing.
func (c *Candidate) Incomplete() bool {
	return c.Needs || c.Kind == KindVerb && c.Verb.About != NoJob && len(c.Words) == 0
}

// HelpText describes the candidate and its number of jobs.
func (c *Candidate) HelpText() string {
	switch {
	case c.Kind != KindVerb || c.File != "":
		return c.Help
	case c.Incomplete():
		return c.Verb.Help + ": type the name of a job"
	case len(c.Jobs) > 1:
		return fmt.Sprintf("%s: %d jobs", c.Verb.Help, len(c.Jobs))
	}
	return c.Verb.Help
}

// add adds the jobs that a word names.
func (c *Candidate) add(w *screen.World, word string) {
	before := len(c.Jobs)
	_, exact := w.Board.Job(job.ID(word))
	switch {
	case exact:
		c.Jobs = append(c.Jobs, job.ID(word))
	case isPattern(w, word):
		for id := range w.Board.Jobs() {
			if id.Matches(word) {
				c.Jobs = append(c.Jobs, id)
			}
		}
		slices.Sort(c.Jobs[before:])
	}
	if len(c.Jobs) == before && c.Refusal == "" {
		c.Refusal = "no job is called " + word
	}
}

// judge sets why a verb does not take that many jobs.
func (c *Candidate) judge() {
	slices.Sort(c.Jobs)
	c.Jobs = slices.Compact(c.Jobs)
	if c.Refusal == "" && c.Verb.About == OneJob && len(c.Jobs) > 1 {
		c.Refusal = "one job at a time"
	}
}

// isPattern reports whether a word is a pattern and not a job's name.
func isPattern(w *screen.World, word string) bool {
	_, exact := w.Board.Job(job.ID(word))
	return !exact && job.IsGlob(word)
}
