package screen

import (
	"context"
	"iter"
)

// Commands are the commands of the command line.
type Commands interface {
	// All returns them as they are typed after "cronring", such as "report stats".
	All() []CommandHelp
	// Refuses returns why a command cannot run in the dashboard, or "".
	Refuses(words []string) string
	// Changes reports whether a command may change something.
	Changes(words []string) bool
	// Follows reports whether a command prints while it runs, such as one with --follow.
	Follows(words []string) bool
	// Run runs a command, and yields what it prints. Lines are as wide as width, if they can. The
	// last part reports how the command ended. A command that has a flag against questions gets it.
	Run(ctx context.Context, width int, words []string) iter.Seq2[Printed, error]
}

// CommandHelp describes a command.
type CommandHelp struct {
	Name, Short string
	Jobs        bool // it takes names of jobs
	Needs       bool // it takes at least one argument
}

// Printed is a part of the output and messages of a command.
type Printed struct {
	Text   string
	Ended  bool
	Failed bool
}
