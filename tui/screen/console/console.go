// Package console owns the screen that shows what a command of the command line or of the user's
// settings printed.
package console

import (
	"context"
	"errors"
	"iter"
	"math"
	"os"
	"os/exec"
	"strings"

	"github.com/cronring/cronring/daemon/display"
	"github.com/cronring/cronring/tui/canvas"
	"github.com/cronring/cronring/tui/keys"
	"github.com/cronring/cronring/tui/page"
	"github.com/cronring/cronring/tui/screen"
)

// Console runs a command once, and shows its output. If the command keeps printing, the screen
// shows new output immediately and stays at its end.
type Console struct {
	words  []string
	line   string                              // of a shell, in place of words
	start  func(ctx context.Context) *exec.Cmd // makes the process of line
	asked  bool
	follow bool
	once   bool   // it may change something, so it is not run again
	text   string // the output, or its last part
	cut    bool   // the rest is not kept
	ended  bool
	failed bool
	err    error
	held   bool // the user has scrolled, so the screen does not stay at the end
	page   page.Page
}

// Limits of the output that is kept, in bytes: the first part of a command that ends, the last part
// of one that is followed.
const (
	mostPrinted  = 1 << 20
	mostFollowed = 256 << 10
)

// New makes the screen of a command: the words after "cronring".
func New(words []string) *Console { return &Console{words: words} }

// NewProcess makes the screen of a line for a shell, and of the process that carries it out.
func NewProcess(line string, start func(ctx context.Context) *exec.Cmd) *Console {
	return &Console{line: line, start: start}
}

// Scope returns the scope of commands.
func (*Console) Scope() keys.Scope { return keys.Command }

// Heading returns the command.
func (s *Console) Heading(*screen.World) string {
	if s.line != "" {
		return s.line
	}
	return display.ShellLine(append([]string{"cronring"}, s.words...))
}

// Headed keeps the heading on narrow screens.
func (*Console) Headed() {}

// slot is the slot of the command.
const slot = "command"

// Open runs the command at the first call. A command that keeps printing ends when another screen
// covers this one, and Open runs it again unless it changes something.
func (s *Console) Open(w *screen.World) []screen.Effect {
	run := s.kind(w)
	switch {
	case s.asked && s.follow && s.once && !s.ended:
		s.ended, s.err = true, errCovered
		return []screen.Effect{s.end()}
	case s.asked && (!s.follow || s.ended):
		return nil
	}
	s.asked, s.text, s.cut = true, "", false
	if s.follow {
		return []screen.Effect{screen.Follow{Slot: slot, Call: func(ctx context.Context, _ screen.Daemon) iter.Seq2[any, error] {
			return func(yield func(any, error) bool) {
				for p, err := range run(ctx) {
					if !yield(p, err) {
						return
					}
				}
			}
		}}}
	}
	return []screen.Effect{screen.Ask{Slot: slot, Call: func(ctx context.Context, _ screen.Daemon) (any, error) {
		var all screen.Printed
		for p, err := range run(ctx) {
			if err != nil {
				return all, err
			}
			all = screen.Printed{Text: all.Text + p.Text, Ended: p.Ended, Failed: p.Failed}
			if len(all.Text) > mostPrinted {
				break // the command ends when it writes to the closed pipe
			}
		}
		return all, nil
	}}}
}

// errCovered is the error of a command that was ended because the user left its screen.
var errCovered = errors.New("it was ended when another screen was shown")

// kind sets how the command is shown, and returns what runs it.
func (s *Console) kind(w *screen.World) func(ctx context.Context) iter.Seq2[screen.Printed, error] {
	if s.start != nil {
		s.follow, s.once = true, true
		return s.process
	}
	s.follow, s.once = w.Commands.Follows(s.words), w.Commands.Changes(s.words)
	run, width, words := w.Commands.Run, w.Width-2, s.words
	return func(ctx context.Context) iter.Seq2[screen.Printed, error] { return run(ctx, width, words) }
}

// process runs the process, and yields what it prints.
func (s *Console) process(ctx context.Context) iter.Seq2[screen.Printed, error] {
	return func(yield func(screen.Printed, error) bool) {
		in, out, err := os.Pipe()
		if err != nil {
			yield(screen.Printed{}, err)
			return
		}
		defer in.Close()
		p := s.start(ctx)
		p.Stdout, p.Stderr = out, out
		err = p.Start()
		out.Close()
		if err != nil {
			yield(screen.Printed{}, err)
			return
		}
		if !screen.YieldPrinted(ctx, in, yield) || ctx.Err() != nil {
			p.Cancel() // also kills processes that an ended shell left behind
			p.Wait()
			return
		}
		yield(screen.Printed{Ended: true}, p.Wait())
	}
}

// Take receives the output, or a part of it.
func (s *Console) Take(_ *screen.World, a screen.Answer) []screen.Effect {
	if s.ended {
		return nil
	}
	if p, ok := a.Value.(screen.Printed); ok {
		s.text += p.Text
		s.ended, s.failed = p.Ended, p.Failed
	}
	switch {
	case s.follow && len(s.text) > mostFollowed:
		s.text, s.cut = s.text[len(s.text)-mostFollowed:], true
		_, s.text, _ = strings.Cut(s.text, "\n")
	case !s.follow && len(s.text) > mostPrinted:
		s.text, s.cut = s.text[:mostPrinted], true
	}
	if a.Err != nil {
		s.err = a.Err
	}
	if s.ended = s.ended || a.Done || s.err != nil; !s.ended {
		return nil
	}
	return []screen.Effect{s.end()}
}

// end reports how the command ended.
func (s *Console) end() screen.Ended {
	lines := strings.Split(strings.TrimSpace(s.text), "\n")
	switch last := lines[len(lines)-1]; {
	case s.err != nil:
		return screen.Ended{Err: s.err}
	case s.failed:
		return screen.Ended{Err: errors.New(strings.TrimPrefix(lines[0], "cronring: "))}
	default:
		return screen.Ended{Message: last}
	}
}

// Refresh does nothing: new output arrives by itself.
func (*Console) Refresh(*screen.World) []screen.Effect { return nil }

// Act scrolls. G returns to the end and stays there.
func (s *Console) Act(_ *screen.World, a keys.Action) ([]screen.Effect, bool) {
	s.held = a != keys.Last
	return nil, s.page.Act(a)
}

// Subject returns an empty subject.
func (*Console) Subject(*screen.World) screen.Subject { return screen.Subject{} }

// Refuses returns "": every key works.
func (*Console) Refuses(*screen.World, keys.Action) string { return "" }

// Foot returns the keys that work here.
func (*Console) Foot(*screen.World) []keys.Action {
	return []keys.Action{keys.Down, keys.Up, keys.PageDown, keys.PageUp, keys.Palette, keys.Back, keys.Help}
}

// Draw draws the output, and below it whether the command failed.
func (s *Console) Draw(v canvas.View, w *screen.World) {
	s.page.Set(s.paragraphs(w))
	if s.follow && !s.held {
		s.page.Top = math.MaxInt / 2 // the page limits it to its end
	}
	s.page.Draw(v, w)
}

// short returns what the command does, or "" for a line for a shell.
func (s *Console) short(w *screen.World) string {
	words := strings.Join(s.words, " ") + " "
	for _, c := range w.Commands.All() {
		if strings.HasPrefix(words, c.Name+" ") {
			return "cronring " + c.Name + ": " + c.Short
		}
	}
	return ""
}

func (s *Console) paragraphs(w *screen.World) []page.Paragraph {
	var text []page.Paragraph
	note := func(words string, role canvas.Role) {
		text = append(text, page.Line(" "+words, canvas.Style{Role: role}))
	}
	if s.cut && s.follow {
		note("Earlier output is left out.", canvas.Doubt)
	}
	for line := range strings.Lines(s.text) {
		text = append(text, page.Paragraph{Spans: []page.Span{{Text: " "}, {Text: strings.TrimRight(line, "\r\n")}}, Hang: 3})
	}
	switch {
	case s.err != nil:
		return append(text, page.ErrorText(w, s.err)...)
	case !s.ended && s.follow && s.text == "":
		note("Nothing yet: new lines appear here.", canvas.Off)
		if short := s.short(w); short != "" {
			note(short, canvas.Off)
		}
	case !s.ended && s.follow:
		note("Waiting for more ...", canvas.Off)
	case !s.ended:
		text = append(text, page.Line(" Running ...", screen.Dim))
	case s.cut && !s.follow:
		note("The rest of the output is left out: run the command in a shell.", canvas.Doubt)
	case s.failed:
		note(w.Glyphs.Failed+" It failed.", canvas.Bad)
	case s.follow:
		note(w.Glyphs.OK+" It has ended.", canvas.Good)
	case len(text) == 0:
		note(w.Glyphs.OK+" Done. It printed nothing.", canvas.Good)
	}
	return text
}
