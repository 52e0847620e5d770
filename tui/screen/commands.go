package screen

import "context"

// Commands are the commands of the command line.
type Commands interface {
	// All returns them as they are typed after "cronring", such as "report stats".
	All() []CommandHelp
	// Refuses returns why a command cannot run in the dashboard, or "".
	Refuses(words []string) string
	// Run runs a command, and returns what it printed. Lines are as wide as width, if they can.
	Run(ctx context.Context, width int, words []string) (Printed, error)
}

// CommandHelp is a command and its short description.
type CommandHelp struct{ Name, Short string }

// Printed is the output and messages of a command.
type Printed struct {
	Text   string
	Cut    bool // there was more
	Failed bool
}
