package shell

import (
	"slices"
	"strings"

	"github.com/cronring/cronring/daemon/display"
	"github.com/cronring/cronring/tui/canvas"
	"github.com/cronring/cronring/tui/custom"
	"github.com/cronring/cronring/tui/edit"
	"github.com/cronring/cronring/tui/keys"
	"github.com/cronring/cronring/tui/page"
	"github.com/cronring/cronring/tui/screen"
)

// help shows every key of the front screen, its own first. Typing searches.
type help struct {
	scopes []keys.Scope
	search edit.Line
	top    int
}

func (h *help) key(s *Shell, k screen.Key) {
	switch k.Name {
	case "esc", "enter":
		s.over = nil
	case "?":
		s.over = nil
	case "down":
		h.top++
	case "up":
		h.top--
	case "pgdown":
		h.top += 10
	case "pgup":
		h.top -= 10
	default:
		if page.TypeInto(&h.search, k) {
			h.top = 0
		}
	}
	h.top = max(h.top, 0)
}

func (h *help) height(_ *Shell, _, room int) int { return room }

// helpLine is a heading of a scope, or one of its keys.
type helpLine struct {
	heading string
	binding keys.Binding
	custom  *custom.Command // that the key runs; nil: the key is of the dashboard
	refused string

	text string // the text that is drawn; see wrapped
	more bool   // text continues the line above
}

// wrapped returns the lines of the overlay: a text that does not fit continues on the next line.
func wrapped(all []helpLine, width int) (lines []helpLine) {
	for _, l := range all {
		if l.heading != "" {
			lines = append(lines, l)
			continue
		}
		text := l.binding.Long
		if l.refused != "" {
			text += " (" + l.refused + ")"
		}
		room := width - helpKeys - 3
		for i, part := range page.Wrap(text, room, room) {
			l.text, l.more = part, i > 0
			lines = append(lines, l)
		}
	}
	return lines
}

// act performs the action of the key.
func (l *helpLine) act(s *Shell) {
	s.over = nil
	switch {
	case l.custom == nil:
		s.act(l.binding.Action)
	case l.refused != "":
		s.warn(l.custom.Name + ": " + l.refused)
	default:
		s.runCustom(l.custom)
	}
}

// lines returns the keys that match the search.
func (h *help) lines(s *Shell) []helpLine {
	text := strings.ToLower(h.search.Text())
	contains := func(b keys.Binding) bool {
		words := []string{string(b.Action), strings.Join(b.Keys, " "), b.Short, b.Long, b.Command}
		return strings.Contains(strings.ToLower(strings.Join(words, " ")), text)
	}
	var all []helpLine
	for i, scope := range h.scopes {
		if i == 1 { // after the keys of the screen
			all = append(all, s.customHelp(contains)...)
		}
		named := false
		for _, b := range s.w.Keys.Of(scope) {
			if !contains(b) {
				continue
			}
			if !named {
				all, named = append(all, helpLine{heading: string(scope)}), true
			}
			all = append(all, helpLine{binding: b, refused: s.refuses(b.Action)})
		}
	}
	return all
}

func (h *help) draw(v canvas.View, s *Shell) {
	x := v.Put(1, 0, "Keys", canvas.Style{Role: canvas.Title, Bold: true})
	x = v.Put(x, 0, "   search: ", canvas.Style{})
	page.DrawInput(v, x, 0, v.Width()-x-1, &h.search, s.w)
	rows, columns := v.Height()-2, max(v.Width()/helpWidth, 1)
	room, width := rows*columns, v.Width()/columns
	lines := wrapped(h.lines(s), width)
	h.top = min(h.top, max(len(lines)-room, 0))
	if len(lines) == 0 {
		v.PutCut(1, 1, v.Width()-2, "No key does that. Backspace, or esc.", s.w.Glyphs.Ellipsis, canvas.Style{})
	}
	for y := range min(room, len(lines)-h.top) {
		line, row := &lines[h.top+y], v.In(y/rows*width, 1+y%rows, width, 1)
		line.draw(row, s.w.Glyphs)
		if len(line.binding.Keys) > 0 {
			s.onClick(row, func() { line.act(s) })
		}
	}
	more := "type to search"
	if len(lines) > room {
		more += "   up down scroll"
	}
	if s.mouse {
		more += "   mouse on: shift selects text"
	}
	x = page.DrawHints(v, 1, v.Height()-1, s.w, canvas.Style{}, "esc", "close")
	v.PutCut(x, v.Height()-1, v.Width()-x-1, more, s.w.Glyphs.Ellipsis, canvas.Style{})
}

// helpWidth is the least width of a column of keys with their texts, helpKeys that of the keys alone.
const (
	helpWidth = 78
	helpKeys  = 14
)

// customHelp returns the commands whose keys work on the front screen and that contain a text.
func (s *Shell) customHelp(contains func(b keys.Binding) bool) (lines []helpLine) {
	for i := range s.custom {
		c := &s.custom[i]
		b := keys.Binding{Keys: []string{c.Key}, Long: c.Name, Command: c.Run}
		if c.Key == "" || s.customOn(c.Key) != c || !contains(b) {
			continue
		}
		refused := s.refusesCustom(c)
		if a, taken := s.w.Keys.Find(c.Key, s.scopes()...); taken {
			refused = "the key is " + string(a) + " already"
		}
		lines = append(lines, helpLine{binding: b, custom: c, refused: refused})
	}
	if len(lines) > 0 {
		lines = slices.Insert(lines, 0, helpLine{heading: "custom commands"})
	}
	return lines
}

func (l helpLine) draw(row canvas.View, g *canvas.Glyphs) {
	if l.heading != "" {
		page.DrawRule(row, l.heading, g)
		return
	}
	style := canvas.Style{}
	if l.refused != "" {
		style.Role = canvas.Off
	}
	room := row.Width() - helpKeys - 3
	row.PutCut(helpKeys+2, 0, room, l.text, g.Ellipsis, style)
	if l.more {
		return
	}
	if command := l.binding.Command; command != "" && room-display.Width(l.text)-2 >= len(command) {
		row.PutRight(0, command+" ", canvas.Style{Faint: true})
	}
	style.Bold = l.refused == ""
	row.PutCut(1, 0, helpKeys, strings.Join(l.binding.Keys, " "), g.Ellipsis, style)
}
