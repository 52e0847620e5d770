package cli

// Rules for messages.
//
//   - Results go to stdout, messages go to stderr; -q silences messages that are not errors.
//   - Messages are lower case, without a full stop. An error has three parts: what
//     failed, why, and what to do next.
//   - Each kind of failure has its exit code, and a code never changes its meaning.
//   - Text from elsewhere (commands, names, output of jobs) is never printed
//     unchanged: package display escapes it.
//   - An escape sequence is only written for colour, and colour only to a
//     terminal, unless --color=always is given.

import (
	"io"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/cronring/cronring/daemon/api"
)

// App is one call of the program: what its flags say, and where it reads and writes.
type App struct {
	Printer
	input
	connection
	interruption *interruption
	Zone         *time.Location // of --tz or --utc; nil: the host's
	Now          func() time.Time
}

// New returns an app that reads in and writes to out and err.
func New(in io.Reader, out, err *os.File) *App {
	return &App{Printer: newPrinter(out, err), input: input{In: in}, interruption: &interruption{}, Now: time.Now, connection: connection{cronHosts: &cronHosts{}}}
}

// Captured returns an app for a command whose output and messages go to a file, as to a terminal of
// this width without colours, and which cannot ask anything.
func (a *App) Captured(out *os.File, width int) *App {
	sub := New(strings.NewReader(""), out, out)
	sub.Terminal, sub.Width = true, width
	sub.Color = OneOf("never")
	sub.Now, sub.Beside, sub.Demo, sub.cronHosts = a.Now, a.Beside, a.Demo, a.cronHosts
	return sub
}

// Run executes a command line with the commands of root, and returns the exit code.
func (a *App) Run(root *cobra.Command, args []string) int {
	defer a.disconnect()
	root.SetOut(a.Out)
	root.SetErr(a.Err)
	root.SetArgs(args)
	err := root.Execute()
	if e := a.Out.Flush(); err == nil && e != nil {
		err = &api.Error{What: "cannot write the result", Why: e.Error(), Kind: api.Internal}
	}
	return a.Report(err)
}
