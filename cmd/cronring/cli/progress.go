package cli

import (
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/cronring/cronring/daemon/display"
)

// ProgressPace is the time between two states of a progress line.
const ProgressPace = time.Second

// ProgressLine is a line of the terminal that each new state overwrites.
type ProgressLine struct {
	*Printer
	Shown bool // messages go to a terminal, and --quiet is not given
	width int  // of the current text
}

// NewProgressLine returns an empty line.
func (p *Printer) NewProgressLine() *ProgressLine {
	messages, ok := p.Err.(*os.File)
	return &ProgressLine{Printer: p, Shown: ok && IsTerminal(messages) && !p.Quiet}
}

// Put replaces the previous text. "" leaves nothing of it.
func (l *ProgressLine) Put(text string) {
	if !l.Shown || text == "" && l.width == 0 {
		return
	}
	if l.Width > 0 {
		text = display.Cut(text, l.Width-1)
	}
	width := display.Width(text)
	fmt.Fprint(l.Err, "\r"+text+strings.Repeat(" ", max(l.width-width, 0)))
	if l.width = width; text == "" {
		fmt.Fprint(l.Err, "\r")
	}
}

// Progress shows what text returns in a line of the terminal, again each second until
// the caller calls end. text gets the time since the start.
func (p *Printer) Progress(text func(time.Duration) string) (end func()) {
	line := p.NewProgressLine()
	if !line.Shown {
		return func() {}
	}
	stop := Repeat(ProgressPace, func(d time.Duration) { line.Put(text(d)) })
	return func() {
		stop()
		line.Put("")
	}
}

// Repeat calls do after each pace until the caller calls end, which waits for a call that is
// active. do gets the time since the start.
func Repeat(pace time.Duration, do func(time.Duration)) (end func()) {
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		ticker := time.NewTicker(pace)
		defer ticker.Stop()
		for begun := time.Now(); ; {
			select {
			case <-stop:
				return
			case now := <-ticker.C:
				do(now.Sub(begun))
			}
		}
	}()
	return func() {
		close(stop)
		<-stopped
	}
}

// Elapsed is a text of Progress for a command that cannot know how far it is.
func Elapsed(what string) func(time.Duration) string {
	return func(d time.Duration) string { return what + ": " + display.Brief(d.Round(time.Second)) }
}
