package tui

import (
	"errors"
	"fmt"
	"io"
	"os/exec"
	"sync"

	"github.com/charmbracelet/x/ansi"
	"github.com/charmbracelet/x/term"

	"github.com/cronring/cronring/daemon/display"
	"github.com/cronring/cronring/tui/screen"
)

// The sequences that take and release the terminal: alternate screen, no cursor,
// bracketed paste.
const (
	takeTerminal    = ansi.SetModeAltScreenSaveCursor + ansi.ResetModeTextCursorEnable + ansi.SetModeBracketedPaste
	releaseTerminal = mouseOff + ansi.ResetStyle + ansi.ResetModeBracketedPaste + ansi.SetModeTextCursorEnable + ansi.ResetModeAltScreenSaveCursor

	// XTWINOPS of xterm: the stack of titles.
	saveTitle, restoreTitle = "\x1b[22;2t", "\x1b[23;2t"

	mouseOn  = ansi.SetModeMouseButtonEvent + ansi.SetModeMouseExtSgr
	mouseOff = ansi.ResetModeMouseButtonEvent + ansi.ResetModeMouseExtSgr
)

// renderer writes to the terminal. Bubble Tea's own renderer wakes up for every frame,
// which would be most of the cost of an idle dashboard, and delays keys until its
// next frame.
type renderer struct {
	in uintptr // the terminal that keys come from

	mu    sync.Mutex
	to    io.Writer
	was   *term.State // how it was before
	holds bool        // the terminal is the dashboard's
	mouse bool
	named bool // the terminal has a title of the dashboard
	err   error
}

// take takes the terminal over: what is typed comes at once, and as it is.
func (p *renderer) take() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	was, err := term.MakeRaw(p.in)
	if err != nil {
		return fmt.Errorf("change the terminal's settings: %w", err)
	}
	p.was, p.holds = was, true
	p.send(takeTerminal)
	if p.mouse {
		p.send(mouseOn)
	}
	return nil
}

// release releases the terminal.
func (p *renderer) release() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.holds {
		return
	}
	p.name("")
	p.send(releaseTerminal)
	p.holds = false
	if err := term.Restore(p.in, p.was); err != nil && p.err == nil {
		p.err = fmt.Errorf("restore the terminal's settings: %w", err)
	}
}

// write writes to the terminal, if it is the dashboard's. ok is false once
// something could not be written.
func (p *renderer) write(text string) (ok bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.holds {
		p.send(text)
	}
	return p.err == nil
}

// announce sets the title of the terminal, whose own title comes back when it is released, shows a
// text on the desktop, and rings the bell.
func (p *renderer) announce(n screen.Notify) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.holds {
		return
	}
	p.name(n.Title)
	if n.Bell {
		p.send(display.Bell)
	}
	if n.Text != "" {
		p.send(display.Notification(n.Text))
	}
}

// name sets the title of the terminal; empty: its own.
func (p *renderer) name(title string) {
	switch {
	case title != "" && !p.named:
		p.send(saveTitle)
	case title == "" && p.named:
		p.send(restoreTitle)
	}
	p.named = title != ""
	if p.named {
		p.send(ansi.SetWindowTitle(display.Text(title)))
	}
}

// point turns mouse events on or off.
func (p *renderer) point(on bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.mouse = on
	if on {
		p.send(mouseOn)
	} else {
		p.send(mouseOff)
	}
}

func (p *renderer) send(text string) {
	if _, err := io.WriteString(p.to, text); err != nil && p.err == nil {
		p.err = fmt.Errorf("write to the terminal: %w", err)
	}
}

// foregroundProgram is a program that has the terminal while it runs.
type foregroundProgram struct {
	*exec.Cmd
	renderer *renderer
}

func (l foregroundProgram) Run() error {
	l.renderer.release()
	return errors.Join(l.Cmd.Run(), l.renderer.take())
}

// SetStdin and the others give the program the terminal, where it has nothing of
// its own.
func (l foregroundProgram) SetStdin(r io.Reader) {
	if l.Stdin == nil {
		l.Stdin = r
	}
}

func (l foregroundProgram) SetStdout(w io.Writer) {
	if l.Stdout == nil {
		l.Stdout = w
	}
}

func (l foregroundProgram) SetStderr(w io.Writer) {
	if l.Stderr == nil {
		l.Stderr = w
	}
}
