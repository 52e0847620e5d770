// Package console owns the screen that shows what a command of the command line
// printed.
package console

import (
	"context"
	"strings"

	"github.com/cronring/cronring/tui/canvas"
	"github.com/cronring/cronring/tui/keys"
	"github.com/cronring/cronring/tui/page"
	"github.com/cronring/cronring/tui/screen"
)

// Console runs a command once, and shows its output.
type Console struct {
	words []string
	asked bool
	known bool
	out   screen.Printed
	err   error
	page  page.Page
}

// New makes the screen of a command: the words after "cronring".
func New(words []string) *Console { return &Console{words: words} }

// Scope is that of commands.
func (*Console) Scope() keys.Scope { return keys.Command }

// Heading is the command.
func (s *Console) Heading(*screen.World) string {
	return screen.ShellCommand(append([]string{"cronring"}, s.words...))
}

// Headed keeps the heading on narrow screens.
func (*Console) Headed() {}

// Open runs the command, the first time only.
func (s *Console) Open(w *screen.World) []screen.Effect {
	if s.asked {
		return nil
	}
	s.asked = true
	run, width, words := w.Commands.Run, w.Width-2, s.words
	return []screen.Effect{screen.Ask{Slot: "command", Call: func(ctx context.Context, _ screen.Daemon) (any, error) {
		return run(ctx, width, words)
	}}}
}

// Take receives the output.
func (s *Console) Take(_ *screen.World, a screen.Answer) []screen.Effect {
	s.known, s.err = true, a.Err
	if a.Err == nil {
		s.out = a.Value.(screen.Printed)
	}
	return nil
}

// Refresh does nothing: the command runs once.
func (*Console) Refresh(*screen.World) []screen.Effect { return nil }

// Act scrolls.
func (s *Console) Act(_ *screen.World, a keys.Action) ([]screen.Effect, bool) {
	return nil, s.page.Act(a)
}

// Subject is nothing.
func (*Console) Subject(*screen.World) screen.Subject { return screen.Subject{} }

// Refuses refuses nothing.
func (*Console) Refuses(*screen.World, keys.Action) string { return "" }

// Foot is the keys that work here.
func (*Console) Foot(*screen.World) []keys.Action {
	return []keys.Action{keys.Down, keys.Up, keys.PageDown, keys.PageUp, keys.Palette, keys.Back, keys.Help}
}

// Draw draws the output, and below it whether the command failed.
func (s *Console) Draw(v canvas.View, w *screen.World) {
	s.page.Set(s.paragraphs(w))
	s.page.Draw(v, w.Glyphs)
}

func (s *Console) paragraphs(w *screen.World) []page.Paragraph {
	switch {
	case !s.known:
		return []page.Paragraph{page.Line(" Running ...", screen.Dim)}
	case s.err != nil:
		return page.ErrorText(w, s.err)
	}
	var text []page.Paragraph
	for line := range strings.Lines(s.out.Text) {
		text = append(text, page.Paragraph{Spans: []page.Span{{Text: " "}, {Text: strings.TrimRight(line, "\r\n")}}, Hang: 3})
	}
	switch {
	case s.out.Cut:
		text = append(text, page.Line(" The rest of the output is left out: run the command in a shell.", canvas.Style{Role: canvas.Doubt}))
	case s.out.Failed:
		text = append(text, page.Line(" "+w.Glyphs.Failed+" It failed.", canvas.Style{Role: canvas.Bad}))
	case len(text) == 0:
		text = append(text, page.Line(" "+w.Glyphs.OK+" Done. It printed nothing.", canvas.Style{Role: canvas.Good}))
	}
	return text
}
