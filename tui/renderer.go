package tui

import (
	"errors"
	"fmt"
	"io"
	"os/exec"
	"sync"

	"github.com/charmbracelet/x/ansi"
	"golang.org/x/sys/unix"
)

// The sequences that take and release the terminal: alternate screen, no cursor,
// bracketed paste.
const (
	takeTerminal    = ansi.SetModeAltScreenSaveCursor + ansi.ResetModeTextCursorEnable + ansi.SetModeBracketedPaste
	releaseTerminal = mouseOff + ansi.ResetStyle + ansi.ResetModeBracketedPaste + ansi.SetModeTextCursorEnable + ansi.ResetModeAltScreenSaveCursor

	mouseOn  = ansi.SetModeMouseNormal + ansi.SetModeMouseExtSgr
	mouseOff = ansi.ResetModeMouseNormal + ansi.ResetModeMouseExtSgr
)

// renderer writes to the terminal. Bubble Tea's own renderer wakes up for every frame,
// which would be most of the cost of an idle dashboard, and delays keys until its
// next frame.
type renderer struct {
	in int // the terminal that keys come from

	mu    sync.Mutex
	to    io.Writer
	was   *unix.Termios // how it was before
	holds bool          // the terminal is the dashboard's
	mouse bool
	err   error
}

// take takes the terminal over: what is typed comes at once, and as it is.
func (p *renderer) take() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	was, err := unix.IoctlGetTermios(p.in, unix.TCGETS)
	if err != nil {
		return fmt.Errorf("read the terminal's settings: %w", err)
	}
	raw := *was
	raw.Iflag &^= unix.IGNBRK | unix.BRKINT | unix.PARMRK | unix.ISTRIP | unix.INLCR | unix.IGNCR | unix.ICRNL | unix.IXON
	raw.Oflag &^= unix.OPOST
	raw.Lflag &^= unix.ECHO | unix.ECHONL | unix.ICANON | unix.ISIG | unix.IEXTEN
	raw.Cflag = raw.Cflag&^(unix.CSIZE|unix.PARENB) | unix.CS8
	raw.Cc[unix.VMIN], raw.Cc[unix.VTIME] = 1, 0
	if err := unix.IoctlSetTermios(p.in, unix.TCSETS, &raw); err != nil {
		return fmt.Errorf("change the terminal's settings: %w", err)
	}
	p.was, p.holds = was, true
	p.send(takeTerminal)
	if p.mouse {
		p.send(mouseOn)
	}
	return nil
}

// give releases the terminal.
func (p *renderer) give() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.holds {
		return
	}
	p.send(releaseTerminal)
	p.holds = false
	if err := unix.IoctlSetTermios(p.in, unix.TCSETS, p.was); err != nil && p.err == nil {
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
	l.renderer.give()
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
