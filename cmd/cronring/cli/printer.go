package cli

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"
)

// Infof talks to the person, unless -q.
func (p *Printer) Infof(format string, args ...any) {
	if !p.Quiet {
		p.Out.Flush() // to keep the order of output; a write error is reported at the end
		fmt.Fprintf(p.Err, format+"\n", args...)
	}
}

// Printf writes a part of the result. Trouble with stdout shows at the end,
// when the buffer is flushed.
func (p *Printer) Printf(format string, args ...any) { fmt.Fprintf(p.Out, format, args...) }

// Printer writes results to stdout and messages to stderr.
type Printer struct {
	Out    *bufio.Writer
	stdout *os.File // the destination of out
	Err    io.Writer

	Terminal bool // stdout is a terminal
	Width    int  // of that terminal, in cells; 0: no terminal
	height   int  // likewise; 0: unknown
	Drawing  bool // the dashboard is shown on the terminal of err

	Quiet   bool
	NoPager bool
	Color   *Choice
	chosen  chosen // by --json and --jq
}

func newPrinter(out *os.File, err io.Writer) Printer {
	p := Printer{Out: bufio.NewWriterSize(out, 1<<16), stdout: out, Err: err, Color: OneOf("auto", "always", "never")}
	_ = p.Color.Set(cmp.Or(os.Getenv("CRONRING_COLOR"), "auto")) // an unknown word has no effect
	if IsTerminal(out) {
		p.Terminal, p.Width = true, 80
		p.measure()
	}
	return p
}

// Tone is the meaning of a colour. Colour is never the only sign: a word or symbol always
// accompanies it.
type Tone string

// Colored reports whether to use colour. NO_COLOR (https://no-color.org) wins over the
// default, and --color over both.
func (p *Printer) Colored() bool {
	switch p.Color.String() {
	case "always":
		return true
	case "never":
		return false
	}
	force := os.Getenv("CLICOLOR_FORCE")
	if os.Getenv("NO_COLOR") != "" {
		return false
	}
	return force != "" && force != "0" || p.Terminal && os.Getenv("TERM") != "dumb"
}

// Paint adds the colour of a tone to text, if colour is enabled.
func (p *Printer) Paint(t Tone, text string) string {
	if t == Normal || !p.Colored() {
		return text
	}
	return "\x1b[" + string(t) + "m" + text + "\x1b[0m"
}

// AddColor adds the flag --color.
func (p *Printer) AddColor(cmd *cobra.Command) {
	cmd.Flags().Var(p.Color, "color", "when to use colour: auto, always, never")
}

// AddQuiet adds the flag --quiet.
func (p *Printer) AddQuiet(cmd *cobra.Command) {
	cmd.Flags().BoolVarP(&p.Quiet, "quiet", "q", false, "print results and errors only")
}

// measure reads the current size of the terminal.
func (p *Printer) measure() {
	if size, err := unix.IoctlGetWinsize(int(p.stdout.Fd()), unix.TIOCGWINSZ); err == nil && size.Col > 0 {
		p.Width, p.height = int(size.Col), int(size.Row)
	}
}

const (
	Normal Tone = ""
	Bad    Tone = "31"
	Warn   Tone = "33"
	Good   Tone = "32"
	Active Tone = "36"
	Faint  Tone = "2"
)
