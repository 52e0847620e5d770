package shell

import (
	"errors"
	"time"

	"github.com/cronring/cronring/daemon/api"
	"github.com/cronring/cronring/daemon/display"
	"github.com/cronring/cronring/tui/canvas"
	"github.com/cronring/cronring/tui/page"
	"github.com/cronring/cronring/tui/screen"
)

// maxLog is the highest number of entries in the command log.
const maxLog = 500

// entry is one line of the command log: what was done, as a command.
type entry struct {
	number  int
	at      time.Time
	command string
	message string
	failed  bool
	ended   bool
}

// note adds a Do to the log.
func (s *Shell) note(d screen.Do) *entry {
	s.count++
	command := d.Shell
	if command == "" {
		command = s.w.InShell(display.ShellLine(d.Command))
	}
	e := &entry{number: s.count, at: s.w.Now, command: command}
	s.log = append(s.log[max(len(s.log)-maxLog+1, 0):], e)
	return e
}

func (e *entry) end(message string, err error) {
	e.message, e.ended = message, true
	if err != nil {
		e.message, e.failed = plainError(err), true
	}
}

// ended adds the result of a command that a screen ran.
func (s *Shell) ended(owner screen.Screen, e screen.Ended) {
	if entry, ok := s.commands[owner]; ok {
		entry.end(e.Message, e.Err)
		delete(s.commands, owner)
	}
}

// plainError returns the text of an error in one line.
func plainError(err error) string {
	if e, ok := errors.AsType[*api.Error](err); ok && e.Fix != "" {
		return e.Error() + "   " + e.Fix
	}
	return err.Error()
}

// commandLog shows what was done as commands, the newest first.
type commandLog struct{ top int }

func (l *commandLog) key(s *Shell, k screen.Key) {
	switch k.Name {
	case "esc", "q", "@", "enter":
		s.over = nil
	case "j", "down":
		l.top++
	case "k", "up":
		l.top--
	}
	l.top = min(max(l.top, 0), max(len(s.log)-1, 0))
}

func (l *commandLog) height(_ *Shell, _, room int) int { return room }

func (l *commandLog) draw(v canvas.View, s *Shell) {
	v.PutCut(1, 0, v.Width()-2, "What was done here, newest first", s.w.Glyphs.Ellipsis, canvas.Style{Role: canvas.Title})
	if len(s.log) == 0 {
		page.DrawWrapped(v.In(1, 2, v.Width()-2, 2), "Nothing yet. Each action is shown here as the command that does the same.", canvas.Style{}, s.w)
	}
	for i := range len(s.log) - l.top {
		if 2*i+3 >= v.Height() {
			break
		}
		s.log[len(s.log)-1-l.top-i].draw(v.In(0, 2*i+1, v.Width(), 2), s.w)
	}
	page.DrawHints(v, 1, v.Height()-1, s.w, canvas.Style{}, "esc", "close", "j", "", "k", "scroll")
}

func (e *entry) draw(v canvas.View, w *screen.World) {
	sign, style := w.Glyphs.OK, canvas.Style{Role: canvas.Good}
	message := e.message
	switch {
	case !e.ended:
		sign, style, message = w.Glyphs.Running, canvas.Style{Role: canvas.Busy}, "waiting for the daemon"
	case e.failed:
		sign, style = w.Glyphs.Failed, canvas.Style{Role: canvas.Bad, Bold: true}
	}
	x := v.Put(1, 0, e.at.In(w.OneZone()).Format(w.Clock.Layout("15:04:05"))+" ", canvas.Style{})
	x = v.Put(x, 0, sign+" ", style)
	v.PutCut(x, 0, v.Width()-x-1, e.command, w.Glyphs.Ellipsis, canvas.Style{Bold: true})
	v.PutCut(x, 1, v.Width()-x-1, message, w.Glyphs.Ellipsis, canvas.Style{Faint: !e.failed})
}
