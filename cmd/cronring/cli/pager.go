package cli

import (
	"bufio"
	"bytes"
	"cmp"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"strings"

	"github.com/spf13/cobra"
)

// AddPager adds the flag of commands whose result can be long.
func (p *Printer) AddPager(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&p.NoPager, "no-pager", false, "never page the result")
}

// Page starts paging the result, if that goes to a terminal and is longer than it.
// The caller calls end after the last write.
func (p *Printer) Page() (end func()) {
	program := cmp.Or(os.Getenv("CRONRING_PAGER"), os.Getenv("PAGER"), "less")
	if p.NoPager || !p.Terminal || p.height == 0 || program == "cat" {
		return func() {}
	}
	result := p.Out
	through := &pager{program: program, to: result, lines: p.height - 1, terminal: os.Stdout, messages: p.Err}
	p.Out = bufio.NewWriterSize(through, 1<<12)
	return func() {
		_ = p.Out.Flush() // an error only means that the user has left the pager
		p.Out = result
		through.close()
	}
}

// pager buffers text until it is longer than the terminal, and then starts a program to
// page it.
type pager struct {
	program  string
	to       io.Writer // what is short goes there
	lines    int       // how many lines fit
	terminal *os.File
	messages io.Writer
	held     []byte
	cmd      *exec.Cmd
	pipe     io.WriteCloser
}

func (p *pager) Write(text []byte) (int, error) {
	if p.pipe != nil {
		return p.pipe.Write(text)
	}
	p.held = append(p.held, text...)
	if bytes.Count(p.held, []byte("\n")) <= p.lines || !p.begin() {
		return len(text), nil
	}
	held := p.held
	p.held = nil
	if _, err := p.pipe.Write(held); err != nil {
		return 0, err
	}
	return len(text), nil
}

// begin starts the program through a shell, because PAGER often contains arguments. Unless
// LESS is set, less leaves short text on the screen and shows colours.
func (p *pager) begin() bool {
	p.cmd = exec.Command("/bin/sh", "-c", p.program)
	p.cmd.Stdout, p.cmd.Stderr = p.terminal, p.messages
	p.cmd.Env = os.Environ()
	if os.Getenv("LESS") == "" {
		p.cmd.Env = append(p.cmd.Env, "LESS=FRX")
	}
	pipe, err := p.cmd.StdinPipe()
	if err != nil || p.cmd.Start() != nil {
		p.lines = 1 << 30 // none: all goes to the terminal
		return false
	}
	signal.Ignore(os.Interrupt) // it is the pager's from here on
	p.pipe = pipe
	return true
}

// close shows what was held back, or waits for the person.
func (p *pager) close() {
	if p.pipe == nil {
		_, _ = p.to.Write(p.held) // trouble with it shows when that is flushed
		return
	}
	_ = p.pipe.Close()
	_ = p.cmd.Wait() // how a pager ends means nothing
}

// PageHelp has help paged.
func (p *Printer) PageHelp(root *cobra.Command) {
	show := root.HelpFunc()
	root.SetHelpFunc(func(cmd *cobra.Command, args []string) {
		end := p.Page()
		defer end()
		var text strings.Builder
		cmd.SetOut(&text)
		show(cmd, args)
		p.Printf("%s", text.String())
	})
}
