package shell

import (
	"cmp"
	"context"
	"os/exec"
	"slices"
	"strings"

	"github.com/cronring/cronring/daemon/api"
	"github.com/cronring/cronring/daemon/display"
	"github.com/cronring/cronring/tui/canvas"
	"github.com/cronring/cronring/tui/edit"
	"github.com/cronring/cronring/tui/finder"
	"github.com/cronring/cronring/tui/keys"
	"github.com/cronring/cronring/tui/page"
	"github.com/cronring/cronring/tui/screen"
)

// palette is the finder: an input line and its candidates.
type palette struct {
	line   edit.Line
	cursor int
	finder finder.Finder
	found  []finder.Candidate
}

// openPalette opens the finder. It requests files and hosts, which are added when they arrive.
func (s *Shell) openPalette() {
	about := s.front().Subject(s.w)
	if about.Elsewhere {
		about = screen.Subject{} // the finder is about the host that is shown
	}
	p := &palette{finder: finder.Finder{
		World: s.w, About: about, Views: s.views, Recent: s.recent, Commands: s.w.Commands.All(), Custom: s.custom,
	}}
	for _, r := range s.screens.Roots {
		p.finder.Screens = append(p.finder.Screens, finder.Screen{Action: r.Action, Name: r.Name})
	}
	if s.w.Hosts != nil {
		p.finder.Hosts = s.w.Hosts.Named()
	}
	s.over = p
	p.find()
	if s.w.Link.Live {
		s.order(nil, screen.Ask{Slot: foundSlot, Call: func(ctx context.Context, d screen.Daemon) (any, error) {
			files, _ := d.CrontabFiles(ctx) // their screen reports the error
			return named{p, files, s.w.KnownHosts(ctx, d)}, nil
		}})
	}
}

// foundSlot is the slot of files and hosts for the finder.
const foundSlot = "found"

// named contains the candidates that the daemon adds to a finder.
type named struct {
	to    *palette
	files []api.CrontabFile
	hosts []string
}

// tookNamed adds the candidates if the finder is still open.
func (s *Shell) tookNamed(a screen.Answer) {
	n, ok := a.Value.(named)
	if !ok || a.Err != nil || s.over != n.to {
		return
	}
	p := n.to
	p.finder.Files, p.finder.Hosts = n.files, n.hosts
	at := p.cursor
	p.find()
	p.cursor = min(at, max(len(p.found)-1, 0))
}

func (p *palette) find() { p.cursor, p.found = 0, p.finder.Find(p.line.Text()) }

// set puts a text into the line.
func (p *palette) set(text string) {
	p.line.Set(text)
	p.find()
}

func (p *palette) key(s *Shell, k screen.Key) {
	switch k.Name {
	case "esc":
		s.over = nil
	case "down", "ctrl+n":
		p.cursor = min(p.cursor+1, max(len(p.found)-1, 0))
	case "up", "ctrl+p":
		p.cursor = max(p.cursor-1, 0)
	case "tab":
		if p.cursor < len(p.found) {
			p.set(p.found[p.cursor].Text() + " ")
		}
	case "ctrl+y":
		if p.cursor < len(p.found) {
			s.over = nil
			s.perform(nil, []screen.Effect{screen.Clip{Text: s.lineOf(&p.found[p.cursor]), What: "the command"}})
		}
	case "enter":
		if p.cursor < len(p.found) {
			p.enter(s, p.found[p.cursor])
		}
	default:
		if page.TypeInto(&p.line, k) {
			p.find()
		}
	}
}

// enter performs a candidate, or lets the user type its missing arguments.
func (p *palette) enter(s *Shell, c finder.Candidate) {
	if c.Kind == finder.KindRecent {
		p.set(c.Name)
		again := slices.IndexFunc(p.found, func(x finder.Candidate) bool { return x.Kind != finder.KindRecent && x.Text() == c.Name })
		if again < 0 {
			return
		}
		c = p.found[again]
	}
	if c.Incomplete() && c.File == "" {
		p.set(c.Text() + " ")
		return
	}
	s.over, s.trigger = nil, "enter"
	if c.Refusal != "" {
		word, _, _ := strings.Cut(c.Text(), " ")
		s.warn(word + ": " + c.Refusal)
		return
	}
	s.remember(c.Text())
	s.choose(&c)
}

// choose performs a candidate.
func (s *Shell) choose(c *finder.Candidate) {
	switch c.Kind {
	case finder.KindVerb:
		if c.Verb.About == finder.NoJob {
			s.act(c.Verb.Action)
		} else {
			s.actOn(c.Verb.Action, c.Subject())
		}
	case finder.KindCommand:
		s.command(c.Words)
	case finder.KindCustom:
		s.runCustom(c.Custom)
	case finder.KindJob:
		s.actOn(keys.Open, c.Subject())
	case finder.KindScreen:
		s.act(c.Action)
	case finder.KindFile:
		s.actOn(keys.Edit, c.Subject())
	case finder.KindHost:
		s.openHost(c.Name)
	case finder.KindView:
		if _, ok := s.front().(screen.Viewer); !ok {
			s.act(keys.ShowJobs)
		}
		if viewer, ok := s.front().(screen.Viewer); ok {
			s.perform(s.front(), viewer.SetView(s.w, c.View))
		}
	}
}

// hostSlot is the slot of the dashboard of another host.
const hostSlot = "host"

// openHost shows the dashboard of another host, until the user leaves it.
func (s *Shell) openHost(name string) {
	other := s.w.Hosts
	s.order(nil, screen.Execute{Slot: hostSlot, Program: func() *exec.Cmd { return other.Dashboard(name, "") }})
}

// command runs a command of the command line, and shows its output. If it may change something, it
// is confirmed, and listed in the log.
func (s *Shell) command(words []string) {
	show := s.screens.Command(words)
	if !s.w.Commands.Changes(words) {
		s.push(show)
		return
	}
	d := screen.Do{Class: screen.Effects, Command: append([]string{"cronring"}, words...), Show: show}
	d.Question = "Run this command?  " + display.ShellLine(d.Command)
	for id := range s.w.Board.Jobs() {
		if row, _ := s.w.Board.Job(id); row.Protected && slices.ContainsFunc(words, id.Matches) {
			d.Class, d.Name = screen.Protected, string(id)
			d.Detail = []string{d.Name + " is protected."}
			break
		}
	}
	s.confirm(s.front(), d)
}

// maxRecent is the highest number of recent commands.
const maxRecent = 50

// longestRecent is the length of a command from which it is not remembered, because it is about many jobs.
const longestRecent = 500

// remember moves a command to the front of the recent commands.
func (s *Shell) remember(text string) {
	if len(text) >= longestRecent {
		return
	}
	recent := slices.DeleteFunc(slices.Clone(s.recent), func(old string) bool { return old == text })
	s.recent = slices.Insert(recent[:min(len(recent), maxRecent-1)], 0, text)
	s.order(nil, screen.Remember{Commands: s.recent})
}

// refusal returns why a candidate cannot be used now, or "".
func (s *Shell) refusal(c *finder.Candidate) string {
	switch {
	case c.Kind == finder.KindCustom:
		return s.refusesCustom(c.Custom)
	case c.Refusal != "" || c.Kind != finder.KindVerb && c.Kind != finder.KindFile:
		return c.Refusal
	case c.Kind == finder.KindFile:
		return s.refusesFor(keys.Edit, c.Subject())
	case c.Verb.About == finder.NoJob:
		return s.refuses(c.Verb.Action)
	case c.Incomplete():
		return ""
	}
	return s.refusesFor(c.Verb.Action, c.Subject())
}

// lineOf returns the equivalent line for a shell.
func (s *Shell) lineOf(c *finder.Candidate) string {
	switch c.Kind {
	case finder.KindCustom:
		return c.Custom.Text(s.values())
	case finder.KindHost:
		return display.ShellLine(append([]string{"cronring"}, s.w.Hosts.Dashboard(c.Name, "").Args[1:]...))
	}
	return s.w.InShell(display.ShellLine(s.commandOf(c)))
}

// commandOf returns the equivalent shell command.
func (s *Shell) commandOf(c *finder.Candidate) []string {
	switch c.Kind {
	case finder.KindCommand:
		return append([]string{"cronring"}, c.Words...)
	case finder.KindVerb:
		if c.Verb.About != finder.NoJob {
			return append([]string{"cronring", c.Verb.Word}, c.Words...)
		}
	case finder.KindJob:
		return []string{"cronring", "show", c.Name}
	case finder.KindFile:
		return []string{"cronring", "edit", c.File}
	case finder.KindRecent:
		return append([]string{"cronring"}, strings.Fields(c.Name)...)
	}
	if b, _ := s.w.Keys.Binding(actionOf(c)); b.Command != "" {
		return strings.Fields(b.Command)
	}
	return []string{"cronring"}
}

// actionOf returns the action of a verb or a screen.
func actionOf(c *finder.Candidate) keys.Action {
	if c.Kind == finder.KindVerb {
		return c.Verb.Action
	}
	return c.Action
}

func (p *palette) height(_ *Shell, _, room int) int {
	return min(max(len(p.found), 1)+2, room, max(12, room/2))
}

func (p *palette) draw(v canvas.View, s *Shell) {
	x := v.Put(1, 0, ": ", canvas.Style{Bold: true})
	end := page.DrawInput(v, x, 0, v.Width()-x-1, &p.line, s.w)
	if p.line.Text() == "" {
		v.PutCut(end+1, 0, v.Width()-end-2, "a command, job, screen, file, host or view", s.w.Glyphs.Ellipsis, canvas.Style{Role: canvas.Off})
	}
	rows := v.Height() - 2
	top := max(p.cursor-rows+1, 0)
	for y := range min(rows, len(p.found)-top) {
		p.drawCandidate(v.Row(y+1), s, top+y)
		s.onClick(v.Row(y+1), func() {
			p.cursor = top + y
			p.key(s, screen.Key{Name: "enter"})
		})
	}
	if len(p.found) == 0 {
		v.PutCut(1, 1, v.Width()-2, "Nothing matches. Delete letters with backspace, or close with esc.", s.w.Glyphs.Ellipsis, canvas.Style{})
	}
	page.DrawHints(v, 1, v.Height()-1, s.w, canvas.Style{}, "tab", "complete", "enter", "go", "ctrl+y", "copy as shell command", "esc", "close")
}

// column returns the column of the help texts: behind the longest candidate, but at
// most in the middle.
func (p *palette) column(width int) int {
	longest := 22
	for i := range p.found {
		longest = max(longest, display.Width(display.Text(p.found[i].Text())))
	}
	return min(longest+6, width/2)
}

func (p *palette) drawCandidate(row canvas.View, s *Shell, i int) {
	c := &p.found[i]
	style := canvas.Style{}
	help := c.HelpText()
	if why := s.refusal(c); why != "" {
		help, style = help+" ("+why+")", canvas.Style{Role: canvas.Off}
	}
	name := style
	if i == p.cursor {
		row.Put(1, 0, s.w.Glyphs.Cursor, canvas.Style{})
		name.Bold = true
	}
	wide := p.column(row.Width())
	drawLetters(row.In(3, 0, wide-4, 1), c.Text(), c.Letters, name, s.w.Glyphs.Ellipsis)
	room := row.Width() - wide - 2
	right := cmp.Or(s.w.Keys.Key(actionOf(c)), string(c.Kind))
	if c.Kind == finder.KindCustom && c.Custom.Key != "" && s.customOn(c.Custom.Key) == c.Custom {
		right = c.Custom.Key
	}
	if room > len(right)+3 {
		row.PutRight(0, right+"  ", rightStyle(c, right))
		room -= len(right) + 3
	}
	row.PutCut(wide, 0, room, help, s.w.Glyphs.Ellipsis, style)
}

// rightStyle returns the style of the text on the right: the key of a verb or custom command, or the
// kind of another candidate.
func rightStyle(c *finder.Candidate, right string) canvas.Style {
	if c.Kind == finder.KindVerb || c.Custom != nil && right == c.Custom.Key {
		return canvas.Style{Bold: true}
	}
	return canvas.Style{Role: canvas.Off}
}

// drawLetters draws a text with the bytes that match marked. A text that is not plain ASCII is
// drawn without marks, because it may be shown differently.
func drawLetters(field canvas.View, text string, letters []int, style canvas.Style, ellipsis string) {
	field.PutCut(0, 0, field.Width(), text, ellipsis, style)
	if !canvas.IsASCII(text) {
		return
	}
	for _, x := range letters {
		if x < field.Width()-1 || len(text) <= field.Width() {
			field.In(x, 0, 1, 1).Restyle(func(canvas.Style) canvas.Style {
				return canvas.Style{Role: canvas.Match, Bold: true, Underline: true}
			})
		}
	}
}
