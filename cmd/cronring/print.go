package main

// The rules of speech.
//
//   - Results go to stdout, talk goes to stderr; -q silences the talk.
//   - Talk is lower case, without a full stop. An error has three parts: what
//     could not be done, why, and what to do next.
//   - Each way to fail has its exit code, and codes are never given another
//     meaning.
//   - Text that this program did not make (commands, names, output of jobs) is
//     never printed as it is: see clean.go.
//   - An escape sequence is written for colour only, and colour only to a
//     terminal, unless --color=always asks for it.

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"

	"github.com/cronring/cronring/daemon/api"
	"github.com/cronring/cronring/tui/safe"
)

// The exit codes that are not those of an api.Kind. 125 and 130 are those of
// container runtimes and shells.
const (
	exitDone        = 0
	exitFailed      = 1
	exitUsage       = 2
	exitProblems    = 8
	exitWaitTrouble = 125 // own trouble of run --wait, which passes the job's code on
	exitInterrupted = 130
)

// exit is an error that needs no words any more: only the exit code is left.
type exit int

func (e exit) Error() string { return fmt.Sprintf("exit %d", int(e)) }

// app is one call of the program: its streams and what the flags said.
type app struct {
	in  io.Reader
	out *bufio.Writer

	stdout *os.File // what out writes to at the end
	err    io.Writer
	now    func() time.Time

	tty    bool // stdout is a terminal
	width  int  // of that terminal, in cells
	height int  // likewise; 0: not known
	quiet  bool
	color  *choice
	zone   zoneFlags

	socket   string
	host     string
	timeout  durationFlag
	readOnly bool
	noInput  bool
	noPager  bool
	drawn    bool // the dashboard has the terminal that a.err leads to

	chosen chosen // what --json and --jq choose of the result
}

func newApp(in io.Reader, out, err *os.File) *app {
	a := &app{in: in, out: bufio.NewWriterSize(out, 1<<16), stdout: out, err: err, now: time.Now}
	a.color = oneOf("auto", "always", "never")
	_ = a.color.Set(cmp.Or(os.Getenv("CRONRING_COLOR"), "auto")) // another word is none
	if _, e := unix.IoctlGetTermios(int(out.Fd()), unix.TCGETS); e == nil {
		a.tty, a.width = true, 80
		a.measure()
	}
	return a
}

// run carries out one command line and gives the exit code.
func (a *app) run(args []string) int {
	root := newRoot(a)
	root.SetArgs(args)
	err := root.Execute()
	if e := a.out.Flush(); err == nil && e != nil {
		err = &api.Error{What: "cannot write the result", Why: e.Error(), Kind: api.Internal}
	}
	return a.report(err)
}

// report says what went wrong and gives its exit code.
func (a *app) report(err error) int {
	if err == nil {
		return exitDone
	}
	if code, ok := errors.AsType[exit](err); ok {
		return int(code)
	}
	e, ok := errors.AsType[*api.Error](err)
	if !ok {
		e = &api.Error{What: err.Error()}
	}
	a.out.Flush() // in the order in which it was said; trouble with it shows at the end
	fmt.Fprintf(a.err, "cronring: %s\n", safe.Text(e.What))
	for _, part := range []struct{ name, text string }{{"why", e.Why}, {"fix", e.Fix}} {
		if part.text != "" {
			fmt.Fprintf(a.err, "  %s   %s\n", part.name, safe.Text(part.text))
		}
	}
	return e.Kind.Exit()
}

// badUsage is an error in what the person typed.
func badUsage(what, why, fix string) error {
	return &api.Error{What: "cannot " + what, Why: why, Fix: fix, Kind: api.Usage}
}

// say talks to the person, unless -q.
func (a *app) say(format string, args ...any) {
	if !a.quiet {
		a.out.Flush() // in the order in which it was said; trouble with it shows at the end
		fmt.Fprintf(a.err, format+"\n", args...)
	}
}

// printf writes a part of the result. Trouble with stdout shows at the end,
// when the buffer is flushed.
func (a *app) printf(format string, args ...any) { fmt.Fprintf(a.out, format, args...) }

// tone is the meaning that a colour stands for. No meaning is told by colour
// alone: a word or sign always stands beside it.
type tone string

const (
	calm  tone = ""
	bad   tone = "31"
	doubt tone = "33"
	good  tone = "32"
	busy  tone = "36"
	faint tone = "2"
)

// colored reports whether colour may be written: https://no-color.org says
// that NO_COLOR rules unless the person asks on the command line.
func (a *app) colored() bool {
	switch a.color.String() {
	case "always":
		return true
	case "never":
		return false
	}
	force := os.Getenv("CLICOLOR_FORCE")
	if os.Getenv("NO_COLOR") != "" {
		return false
	}
	return force != "" && force != "0" || a.tty && os.Getenv("TERM") != "dumb"
}

// paint gives text the colour of a tone, where colour is wanted.
func (a *app) paint(t tone, text string) string {
	if t == calm || !a.colored() {
		return text
	}
	return "\x1b[" + string(t) + "m" + text + "\x1b[0m"
}

func (a *app) addColor(cmd *cobra.Command) {
	cmd.Flags().Var(a.color, "color", "when to use colour: auto, always, never")
}

func (a *app) addQuiet(cmd *cobra.Command) {
	cmd.Flags().BoolVarP(&a.quiet, "quiet", "q", false, "print results and errors only")
}
