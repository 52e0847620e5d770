package screen

import (
	"errors"
	"strings"

	"github.com/clipperhouse/displaywidth"

	"github.com/cronring/cronring/daemon/api"
	"github.com/cronring/cronring/tui/canvas"
	"github.com/cronring/cronring/tui/keys"
	"github.com/cronring/cronring/tui/safe"
)

// span is text in one style.
type span struct {
	text  string
	style canvas.Style
}

// paragraph is a line of a page before it is broken: its last span is wrapped
// between words, and goes on at hang. A rule is drawn across the page, with its
// text in front.
type paragraph struct {
	spans []span
	hang  int
	rule  bool
}

// page is text to read, longer than the screen perhaps.
type page struct {
	paragraphs []paragraph
	top        int // first row in view
	rows       int // as last drawn
	height     int // likewise
}

// set gives the page another text, and leaves it where it is scrolled to.
func (p *page) set(paragraphs []paragraph) { p.paragraphs = paragraphs }

// act scrolls; ok is false for an action that does not.
func (p *page) act(a keys.Action) (ok bool) {
	switch a {
	case keys.Down:
		p.top++
	case keys.Up:
		p.top--
	case keys.HalfDown:
		p.top += p.height / 2
	case keys.HalfUp:
		p.top -= p.height / 2
	case keys.PageDown:
		p.top += p.height - 1
	case keys.PageUp:
		p.top -= p.height - 1
	case keys.First:
		p.top = 0
	case keys.Last:
		p.top = p.rows
	default:
		return false
	}
	p.clamp()
	return true
}

func (p *page) clamp() { p.top = max(min(p.top, p.rows-p.height), 0) }

// draw draws the part that is in view.
func (p *page) draw(v canvas.View, g *canvas.Glyphs) {
	var rows []paragraph
	for _, q := range p.paragraphs {
		rows = q.wrapped(rows, v.Width())
	}
	p.rows, p.height = len(rows), v.Height()
	p.clamp()
	for y := range min(v.Height(), len(rows)-p.top) {
		rows[p.top+y].draw(v.Row(y), g)
	}
}

func (q paragraph) draw(v canvas.View, g *canvas.Glyphs) {
	if q.rule {
		drawRule(v, q.spans[0].text, g)
		return
	}
	x := 0
	for _, s := range q.spans {
		x = v.Put(x, 0, s.text, s.style)
	}
}

// wrapped appends the rows that a paragraph takes.
func (q paragraph) wrapped(rows []paragraph, width int) []paragraph {
	if q.rule || len(q.spans) == 0 {
		return append(rows, q)
	}
	head, last := q.spans[:len(q.spans)-1], q.spans[len(q.spans)-1]
	x := 0
	for _, s := range head {
		x += safe.Width(safe.Text(s.text))
	}
	for i, text := range wrapWords(safe.Text(last.text), width-x, width-q.hang) {
		if i > 0 {
			head = []span{{text: strings.Repeat(" ", q.hang)}}
		}
		rows = append(rows, paragraph{spans: append(head[:len(head):len(head)], span{text, last.style})})
	}
	return rows
}

// wrapWords breaks clean text between words, so that the first line takes no
// more than one number of cells and the others no more than another. A word that
// is too long is broken anywhere.
func wrapWords(text string, first, others int) []string {
	var lines []string
	room := max(first, 1)
	for safe.Width(text) > room {
		end := breakAt(text, room)
		lines = append(lines, strings.TrimRight(text[:end], " "))
		text = strings.TrimLeft(text[end:], " ")
		room = max(others, 1)
	}
	return append(lines, text)
}

// breakAt is where a text that is wider than room is broken, in bytes: behind
// the last blank that fits or else behind the last grapheme. It is never 0.
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

func said(text string, s canvas.Style) paragraph {
	return paragraph{spans: []span{{text: text, style: s}}, hang: 1}
}

func ruled(title string) paragraph { return paragraph{spans: []span{{text: title}}, rule: true} }

// errorParagraphs tells of an error in its three parts.
func errorParagraphs(w *World, err error) []paragraph {
	what, why, fix := err.Error(), "", ""
	if e, ok := errors.AsType[*api.Error](err); ok {
		what, why, fix = e.What, e.Why, e.Fix
	}
	text := []paragraph{{spans: []span{{" " + w.Glyphs.Failed + " ", canvas.Style{Role: canvas.Bad, Bold: true}}, {text: what}}, hang: 3}}
	for _, part := range []struct{ name, text string }{{"why", why}, {"fix", fix}} {
		if part.text != "" {
			text = append(text, paragraph{spans: []span{{"   " + part.name + "  ", canvas.Style{Role: canvas.Off}}, {text: part.text}}, hang: 8})
		}
	}
	return text
}

// drawRule draws a line across, with a name in it.
func drawRule(row canvas.View, name string, g *canvas.Glyphs) {
	row.Fill(g.Across, canvas.Style{Role: canvas.Rule})
	if name != "" {
		row.PutCut(1, 0, row.Width()-2, " "+name+" ", g.Ellipsis, canvas.Style{Role: canvas.Title})
	}
}

// selected is how the line of the cursor is drawn, beside the sign in front.
func selected(s canvas.Style) canvas.Style {
	s.Reverse = true
	return s
}

func drawEmpty(v canvas.View, lines []string) {
	y := max((v.Height()-len(lines))/3, 0)
	for i, line := range lines {
		for _, text := range wrapWords(line, v.Width()-4, v.Width()-4) {
			v.Put(2, y+i, text, canvas.Style{})
			y++
		}
		y--
	}
}

// drawWrapped draws text between words in the lines of a view, and gives how many
// it took.
func drawWrapped(v canvas.View, text string, w *World) int {
	lines := wrapWords(safe.Text(text), v.Width(), v.Width())
	for y := range min(len(lines), v.Height()) {
		if y == v.Height()-1 {
			v.PutCut(0, y, v.Width(), strings.Join(lines[y:], " "), w.Glyphs.Ellipsis, canvas.Style{})
			return y + 1
		}
		v.Put(0, y, lines[y], canvas.Style{})
	}
	return len(lines)
}

// drawTrouble says what went wrong, why, and what to do.
func drawTrouble(v canvas.View, err error, w *World) {
	var p page
	p.set(errorParagraphs(w, err))
	p.draw(v, w.Glyphs)
}
