package output

import (
	"fmt"
	"strings"
	"time"

	"github.com/cronring/cronring/daemon/display"
	"github.com/cronring/cronring/tui/canvas"
	"github.com/cronring/cronring/tui/jobinfo"
	"github.com/cronring/cronring/tui/keys"
	"github.com/cronring/cronring/tui/page"
	"github.com/cronring/cronring/tui/screen"
)

// Draw draws a line about the run, and the log.
func (s *Output) Draw(v canvas.View, w *screen.World) {
	if s.against != nil {
		s.against.fit(v.Width(), w.Glyphs.Down)
	}
	log := s.shown()
	if log.raw {
		log.draw(v, w, s.zone(w))
		return
	}
	defer func() { s.drawStatus(v.Row(0), w, log) }() // it shows the lines in view
	body := v.Below(1)
	if log.typing || log.needle != "" {
		s.drawSearch(body.Row(body.Height()-1), w, log)
		body = body.Above(body.Height() - 1)
	}
	if text := s.instead(w, log); text != nil {
		p := page.Page{Paragraphs: text}
		p.Draw(body, w)
		return
	}
	log.draw(body, w, s.zone(w))
}

func (s *Output) zone(w *screen.World) *time.Location {
	row, _ := w.Row(s.subject)
	return w.In(row.Zone)
}

// instead returns the text that replaces an empty log.
func (s *Output) instead(w *screen.World, log *logView) []page.Paragraph {
	off := canvas.Style{Role: canvas.Off}
	_, some := log.next(log.dropped)
	switch {
	case some:
		return nil
	case s.err != nil:
		return page.ErrorText(w, s.err)
	case s.against != nil:
		return []page.Paragraph{page.Line(" The output is the same, but for times and numbers.", off)}
	case !s.known:
		return page.Unknown(w, nil)
	case log.only != "" && len(log.lines) > 0:
		return []page.Paragraph{page.Line(" Nothing on this stream; f shows others.", off)}
	case s.run.State.Live():
		return []page.Paragraph{page.Line(" Waiting for output ...", off)}
	case !s.done:
		return []page.Paragraph{page.Line(" Reading ...", off)}
	}
	return []page.Paragraph{page.Line(" It wrote nothing.", off)}
}

// drawStatus draws the state of the run, and how the log is shown.
func (s *Output) drawStatus(v canvas.View, w *screen.World, log *logView) {
	width, end := v.Width(), v.Width()
	if words := s.modes(log); words != "" {
		end = v.PutRight(0, words+" ", canvas.Style{Role: canvas.Off})
	}
	v = v.In(0, 0, end, 1)
	if !s.known {
		return
	}
	x := 1
	for i, p := range s.status(w, width) {
		if n := display.Width(display.Text(p.Text)); i > 0 && x+2+n > v.Width() {
			return
		}
		x = v.Put(x, 0, p.Text, p.Style) + 2
	}
}

// status returns the state of the run, the most important first.
func (s *Output) status(w *screen.World, width int) []page.Span {
	r := &s.run
	sign, style := screen.RunSign(w, r)
	words := []page.Span{{Text: sign + " " + r.ResultOrState(), Style: style}}
	if width < screen.FullWidth { // where the first line has no room for it
		words = append(words, page.Span{Text: fmt.Sprintf("%s %s", r.Job, r.ID)})
	}
	if !r.Started.IsZero() {
		end := r.Ended
		if end.IsZero() {
			end = w.Now
		}
		row, _ := w.Row(s.subject)
		took := "took " + display.Brief(end.Sub(r.Started))
		switch {
		case r.OnlyStarted():
			took = "end not known"
		case r.Ended.IsZero():
			took = "for " + display.Brief(end.Sub(r.Started).Truncate(time.Second))
		}
		words = append(words, page.Span{Text: took}, page.Span{Text: "began " + w.Stamp(r.Started, row.Zone)})
	}
	if text := jobinfo.UsageText(r.Usage); text != "" {
		words = append(words, page.Span{Text: text, Style: canvas.Style{Role: canvas.Off}})
	}
	return words
}

// modes returns how the log is shown, and the position in it.
func (s *Output) modes(log *logView) string {
	var words []string
	if s.against == nil && !s.done && s.known {
		words = append(words, "live")
		if log.follow {
			words[0] = "follow"
		}
	}
	if log.only != "" {
		words = append(words, "only "+string(log.only))
	}
	if log.lone && log.needle != "" {
		words = append(words, "matching")
	}
	if log.cut {
		words = append(words, "cut")
	}
	if n := log.last() - log.dropped; n > 0 {
		words = append(words, fmt.Sprintf("%d-%d/%d", log.top.line-log.dropped+1, log.foot-log.dropped+1, n))
	}
	return strings.Join(words, " ")
}

func (s *Output) drawSearch(v canvas.View, w *screen.World, log *logView) {
	x := v.Put(0, 0, " /", canvas.Style{Role: canvas.Match})
	if log.typing {
		x = page.DrawInput(v, x, 0, v.Width()/2, &log.input, w)
	} else {
		w.ClickActs(v, keys.Search)
		x = v.Put(x, 0, log.needle, canvas.Style{Role: canvas.Match})
	}
	if log.needle != "" {
		text := "in " + display.Count(log.count(), "line")
		if log.literal() {
			text += "; not a regular expression, so this text"
		}
		v.Put(x+2, 0, text, canvas.Style{Role: canvas.Off})
	}
}
