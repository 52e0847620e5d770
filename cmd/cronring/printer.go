package main

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"
)

// say talks to the person, unless -q.
func (p *printer) say(format string, args ...any) {
	if !p.quiet {
		p.out.Flush() // in the order in which it was said; trouble with it shows at the end
		fmt.Fprintf(p.err, format+"\n", args...)
	}
}

// printf writes a part of the result. Trouble with stdout shows at the end,
// when the buffer is flushed.
func (p *printer) printf(format string, args ...any) { fmt.Fprintf(p.out, format, args...) }

// printer writes results to stdout and messages to stderr.
type printer struct {
	out    *bufio.Writer
	stdout *os.File // the destination of out
	err    io.Writer

	tty    bool // stdout is a terminal
	width  int  // of that terminal, in cells; 0: no terminal
	height int  // likewise; 0: unknown
	drawn  bool // the dashboard is shown on the terminal of err

	quiet   bool
	noPager bool
	color   *choice
	chosen  chosen // by --json and --jq
}

func newPrinter(out *os.File, err io.Writer) printer {
	p := printer{out: bufio.NewWriterSize(out, 1<<16), stdout: out, err: err, color: oneOf("auto", "always", "never")}
	_ = p.color.Set(cmp.Or(os.Getenv("CRONRING_COLOR"), "auto")) // an unknown word has no effect
	if isTerminal(out) {
		p.tty, p.width = true, 80
		p.measure()
	}
	return p
}

// tone is the meaning that a colour stands for. No meaning is told by colour
// alone: a word or sign always stands beside it.
type tone string

// colored reports whether colour may be written: https://no-color.org says
// that NO_COLOR rules unless the person asks on the command line.
func (p *printer) colored() bool {
	switch p.color.String() {
	case "always":
		return true
	case "never":
		return false
	}
	force := os.Getenv("CLICOLOR_FORCE")
	if os.Getenv("NO_COLOR") != "" {
		return false
	}
	return force != "" && force != "0" || p.tty && os.Getenv("TERM") != "dumb"
}

// paint gives text the colour of a tone, where colour is wanted.
func (p *printer) paint(t tone, text string) string {
	if t == calm || !p.colored() {
		return text
	}
	return "\x1b[" + string(t) + "m" + text + "\x1b[0m"
}

func (p *printer) addColor(cmd *cobra.Command) {
	cmd.Flags().Var(p.color, "color", "when to use colour: auto, always, never")
}

func (p *printer) addQuiet(cmd *cobra.Command) {
	cmd.Flags().BoolVarP(&p.quiet, "quiet", "q", false, "print results and errors only")
}

// measure asks how large the terminal is now.
func (p *printer) measure() {
	if size, err := unix.IoctlGetWinsize(int(p.stdout.Fd()), unix.TIOCGWINSZ); err == nil && size.Col > 0 {
		p.width, p.height = int(size.Col), int(size.Row)
	}
}

const (
	calm  tone = ""
	bad   tone = "31"
	doubt tone = "33"
	good  tone = "32"
	busy  tone = "36"
	faint tone = "2"
)
