// Package page owns the layout of text on screens, such as paragraphs that wrap and scroll,
// headings, input lines, key hints and numbers.
package page

import (
	"errors"
	"strings"

	"github.com/clipperhouse/displaywidth"

	"github.com/cronring/cronring/daemon/api"
	"github.com/cronring/cronring/daemon/display"
	"github.com/cronring/cronring/tui/canvas"
	"github.com/cronring/cronring/tui/keys"
	"github.com/cronring/cronring/tui/screen"
)

// Span is text in one style.
type Span struct {
	Text  string
	Style canvas.Style
}

// Paragraph is one logical line of a page. Its last span is wrapped between words,
// and further rows begin at Hang. A rule is a heading across the page.
type Paragraph struct {
	Spans []Span
	Hang  int
	Does  keys.Action // a click performs it; empty: none
	rule  bool
}

// Page is text to read, longer than the screen perhaps.
type Page struct {
	Paragraphs []Paragraph
	Top        int // first row in view
	rows       int // as last drawn
	height     int // likewise
}

// Set replaces the text, and keeps the scroll position.
func (p *Page) Set(paragraphs []Paragraph) { p.Paragraphs = paragraphs }

// Scroll scrolls by some lines.
func (p *Page) Scroll(lines int) []screen.Effect {
	p.Top += lines
	p.clamp()
	return nil
}

// Act scrolls; ok is false for an action that does not.
func (p *Page) Act(a keys.Action) (ok bool) {
	switch a {
	case keys.Down:
		p.Top++
	case keys.Up:
		p.Top--
	case keys.HalfDown:
		p.Top += p.height / 2
	case keys.HalfUp:
		p.Top -= p.height / 2
	case keys.PageDown:
		p.Top += p.height - 1
	case keys.PageUp:
		p.Top -= p.height - 1
	case keys.First:
		p.Top = 0
	case keys.Last:
		p.Top = p.rows
	default:
		return false
	}
	p.clamp()
	return true
}

func (p *Page) clamp() { p.Top = max(min(p.Top, p.rows-p.height), 0) }

// Draw draws the part that is in view.
func (p *Page) Draw(v canvas.View, w *screen.World) {
	var rows []Paragraph
	for _, q := range p.Paragraphs {
		rows = q.Wrapped(rows, v.Width()-1)
	}
	p.rows, p.height = len(rows), v.Height()
	p.clamp()
	for y := range min(v.Height(), len(rows)-p.Top) {
		row := rows[p.Top+y]
		row.draw(v.Row(y), w.Glyphs)
		if row.Does != "" {
			w.ClickActs(v.Row(y), row.Does)
		}
	}
}

func (q Paragraph) draw(v canvas.View, g *canvas.Glyphs) {
	if q.rule {
		DrawRule(v, q.Spans[0].Text, g)
		return
	}
	x := 0
	for _, s := range q.Spans {
		x = v.Put(x, 0, s.Text, s.Style)
	}
}

// Wrapped appends the rows that a paragraph takes.
func (q Paragraph) Wrapped(rows []Paragraph, width int) []Paragraph {
	if q.rule || len(q.Spans) == 0 {
		return append(rows, q)
	}
	head, last := q.Spans[:len(q.Spans)-1], q.Spans[len(q.Spans)-1]
	x := 0
	for _, s := range head {
		x += display.Width(display.Text(s.Text))
	}
	for i, text := range Wrap(display.Text(last.Text), width-x, width-q.Hang) {
		if i > 0 {
			head = []Span{{Text: strings.Repeat(" ", q.Hang)}}
		}
		rows = append(rows, Paragraph{Spans: append(head[:len(head):len(head)], Span{text, last.Style}), Does: q.Does})
	}
	return rows
}

// Wrap breaks clean text between words: the first line is at most first cells wide,
// the others at most others. A longer word is broken anywhere.
func Wrap(text string, first, others int) []string {
	var lines []string
	room := max(first, 1)
	for display.Width(text) > room {
		end := breakAt(text, room)
		lines = append(lines, strings.TrimRight(text[:end], " "))
		text = strings.TrimLeft(text[end:], " ")
		room = max(others, 1)
	}
	return append(lines, text)
}

// breakAt returns the byte at which text that is wider than room is broken: after the
// last blank that fits, or else after the last grapheme. It is never 0.
func breakAt(text string, room int) int {
	end, blank, x := 0, 0, 0
	for g := displaywidth.StringGraphemes(text); g.Next(); {
		if x += g.Width(); x > room && g.Value() != " " {
			break
		}
		end += len(g.Value())
		if g.Value() == " " {
			blank = end
		}
		if x > room {
			break
		}
	}
	switch {
	case blank > 0:
		return blank
	case end == 0:
		g := displaywidth.StringGraphemes(text)
		g.Next()
		return len(g.Value())
	}
	return end
}

func Line(text string, s canvas.Style) Paragraph {
	return Paragraph{Spans: []Span{{Text: text, Style: s}}, Hang: 1}
}

func Heading(title string) Paragraph { return Paragraph{Spans: []Span{{Text: title}}, rule: true} }

// ErrorText shows what failed, why, and what to do.
func ErrorText(w *screen.World, err error) []Paragraph {
	what, why, fix := err.Error(), "", ""
	if e, ok := errors.AsType[*api.Error](err); ok {
		what, why, fix = e.What, e.Why, e.Fix
	}
	text := []Paragraph{{Spans: []Span{{" " + w.Glyphs.Failed + " ", canvas.Style{Role: canvas.Bad, Bold: true}}, {Text: what}}, Hang: 3}}
	for _, part := range []struct{ name, text string }{{"why", why}, {"fix", fix}} {
		if part.text != "" {
			text = append(text, Paragraph{Spans: []Span{{"   " + part.name + "  ", canvas.Style{Role: canvas.Off}}, {Text: part.text}}, Hang: 8})
		}
	}
	return text
}

// DrawRule draws a line across, with a name in it.
func DrawRule(row canvas.View, name string, g *canvas.Glyphs) {
	row.Fill(g.Across, canvas.Style{Role: canvas.Rule})
	if name != "" {
		row.PutCut(1, 0, row.Width()-2, " "+name+" ", g.Ellipsis, canvas.Style{Role: canvas.Title})
	}
}

// Selected returns the style of the line under the cursor. The line has one background, except below what
// has a meaning: dim text is not dim there.
func Selected(s canvas.Style) canvas.Style {
	if s.Role == canvas.Off || s.Role == canvas.Fresh {
		s.Role = canvas.Plain
	}
	s.Reverse = true
	return s
}

func DrawNotice(v canvas.View, lines []string) {
	y := max((v.Height()-len(lines))/3, 0)
	for i, line := range lines {
		for _, text := range Wrap(line, v.Width()-4, v.Width()-4) {
			v.Put(2, y+i, text, canvas.Style{})
			y++
		}
		y--
	}
}

// DrawWrapped draws wrapped text, and returns the number of lines.
func DrawWrapped(v canvas.View, text string, style canvas.Style, w *screen.World) int {
	lines := Wrap(display.Text(text), v.Width(), v.Width())
	for y := range min(len(lines), v.Height()) {
		if y == v.Height()-1 {
			v.PutCut(0, y, v.Width(), strings.Join(lines[y:], " "), w.Glyphs.Ellipsis, style)
			return y + 1
		}
		v.Put(0, y, lines[y], style)
	}
	return len(lines)
}

// Unknown returns the text that replaces missing data: that the daemon was asked, or why it did not
// answer.
func Unknown(w *screen.World, err error) []Paragraph {
	if err != nil {
		return ErrorText(w, err)
	}
	return []Paragraph{Line(" Asking cronringd ...", canvas.Style{Role: canvas.Off})}
}

// DrawUnknown draws Unknown.
func DrawUnknown(v canvas.View, err error, w *screen.World) {
	p := Page{Paragraphs: Unknown(w, err)}
	p.Draw(v, w)
}
