package screen

import (
	"context"
	"iter"
	"os"
	"time"
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

// YieldPrinted yields what comes through a pipe until the pipe or ctx ends. It returns false once
// yield has.
func YieldPrinted(ctx context.Context, in *os.File, yield func(Printed, error) bool) bool {
	stop := context.AfterFunc(ctx, func() { in.SetReadDeadline(time.Now()) })
	defer stop()
	buffer := make([]byte, 32<<10)
	for {
		n, err := in.Read(buffer)
		if n > 0 && !yield(Printed{Text: string(buffer[:n])}, nil) {
			return false
		}
		if err != nil {
			return true
		}
	}
}
