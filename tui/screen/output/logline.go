package output

import (
	"strings"
	"time"

	"github.com/clipperhouse/displaywidth"

	"github.com/cronring/cronring/daemon/job"
	"github.com/cronring/cronring/tui/canvas"
)

// logLine is one line of output. Its text is clean: of what could move a cursor
// nothing is left but tabs and colours.
type logLine struct {
	text   string
	bare   string // text without colours and tabs, where it has some
	at     time.Time
	stream job.Stream
	style  canvas.Style // of the whole line, but for colours of its own
	begin  canvas.Style // that the line before has left
	near   uint32       // the search of which it is near a match; see logView.search
}

// paint is a style that holds from a byte of a text on.
type paint struct {
	from  int
	style canvas.Style
}

// wrappedLine is a line prepared for the screen: colours separate from the text, tabs
// expanded, and broken into rows.
type wrappedLine struct {
	text   string
	paints []paint
	rows   []int // where each row begins, in bytes; the first is 0
}

// row is the part of the text that a row shows.
func (l *wrappedLine) row(i int) (from, to int) {
	if i+1 < len(l.rows) {
		return l.rows[i], l.rows[i+1]
	}
	return l.rows[i], len(l.text)
}

// lay makes a line ready to be shown. With a width of 0 it takes one row, however
// long that is.
func (l *logLine) lay(width int) *wrappedLine {
	out := &wrappedLine{rows: []int{0}}
	out.text, out.paints, _ = expand(l.text, l.style, l.begin)
	if width > 0 {
		out.wrap(width)
	}
	return out
}

// wrap breaks the text behind a blank near the end of a row, or else anywhere.
func (l *wrappedLine) wrap(width int) {
	if canvas.IsASCII(l.text) {
		l.wrapPlain(width)
		return
	}
	begin, x, at := 0, 0, 0 // begin and at are in bytes, x in cells from begin on
	blank, blankX := -1, 0  // behind the last blank
	for g := displaywidth.StringGraphemes(l.text); g.Next(); {
		n := g.Width()
		if x+n > width && x > 0 {
			if blank > begin && blankX >= width-width/3 {
				begin, x = blank, x-blankX
			} else {
				begin, x = at, 0
			}
			l.rows = append(l.rows, begin)
		}
		x += n
		at += len(g.Value())
		if g.Value() == " " {
			blank, blankX = at, x
		}
	}
}

func (l *wrappedLine) wrapPlain(width int) {
	for at := 0; len(l.text)-at > width; {
		end := at + width
		if blank := strings.LastIndexByte(l.text[end-width/3:end], ' '); blank >= 0 && l.text[end] != ' ' {
			end += blank + 1 - width/3
		}
		l.rows = append(l.rows, end)
		at = end
	}
}

const tabStop = 8

// maxGrapheme bounds what is piled up in one cell, in bytes: text can have
// accents without end.
const maxGrapheme = 32

// expand separates colours from a clean line, and expands tabs. A reset returns to
// base; begin is the style at the end of the previous line, and end the style after
// this line.
func expand(text string, base, begin canvas.Style) (plain string, paints []paint, end canvas.Style) {
	paints = []paint{{0, begin}}
	if canvas.IsASCII(text) {
		return text, paints, begin
	}
	var b strings.Builder
	now, x := begin, 0
	for text != "" {
		stop := strings.IndexAny(text, "\t\x1b")
		if stop < 0 {
			stop = len(text)
		}
		x += appendText(&b, text[:stop])
		if text = text[stop:]; text == "" {
			break
		}
		if text[0] == '\t' {
			n := tabStop - x%tabStop
			b.WriteString("        "[:n])
			x, text = x+n, text[1:]
			continue
		}
		codes, rest, ok := strings.Cut(text, "m")
		text = rest
		if !ok {
			break // not a sequence: only those that set colours are left
		}
		now = painted(now, base, strings.TrimPrefix(codes, "\x1b["))
		paints = append(paints, paint{b.Len(), now})
	}
	plain = b.String()
	alignPaints(plain, paints)
	return plain, paints, now
}

// alignPaints moves styles that would begin inside of what a terminal shows as
// one character to its end.
func alignPaints(text string, paints []paint) {
	if len(paints) == 1 || canvas.IsASCII(text) {
		return
	}
	i, at := 0, 0
	for g := displaywidth.StringGraphemes(text); g.Next(); {
		at += len(g.Value())
		for ; i < len(paints) && paints[i].from <= at; i++ {
			if begin := at - len(g.Value()); paints[i].from != begin {
				paints[i].from = at
			}
		}
	}
}

// appendText appends clean text and returns its width.
func appendText(b *strings.Builder, text string) (width int) {
	if canvas.IsASCII(text) {
		b.WriteString(text)
		return len(text)
	}
	for g := displaywidth.StringGraphemes(text); g.Next(); {
		n := g.Width()
		if n == 0 {
			continue
		}
		value := g.Value()
		if len(value) > maxGrapheme {
			value = strings.ToValidUTF8(value[:maxGrapheme], "")
			n = displaywidth.String(value)
		}
		b.WriteString(value)
		width += n
	}
	return width
}

// newLogLine is a line of a clean text, after one of its stream that has left
// colours, and what it leaves itself.
func newLogLine(text string, at time.Time, stream job.Stream, begin canvas.Style) (line logLine, end canvas.Style) {
	line = logLine{text: text, at: at, stream: stream, begin: begin}
	if !strings.ContainsAny(text, "\t\x1b") {
		return line, begin
	}
	if line.bare, _, end = expand(text, line.style, begin); line.bare == "" {
		line.text = "" // nothing but colours
	}
	return line, end
}

// daemonLine is a line of the daemon's own words, which no job colours.
func daemonLine(text string, at time.Time) logLine {
	off := canvas.Style{Role: canvas.Off}
	line, _ := newLogLine(text, at, job.System, off)
	line.style = off
	return line
}

// styledLine is a line that is all in one style.
func styledLine(text string, r canvas.Role) logLine {
	style := canvas.Style{Role: r}
	return logLine{text: text, style: style, begin: style}
}

// plain is a line without colours, as a search looks at it.
func (l *logLine) plain() string {
	if l.bare != "" {
		return l.bare
	}
	return l.text
}

// size returns the memory of a line in bytes.
func (l *logLine) size() int { return len(l.text) + len(l.bare) }

// painted returns a style after the codes of one colour sequence. A reset returns to
// base.
func painted(s, base canvas.Style, codes string) canvas.Style {
	params := parameters(codes)
	for len(params) > 0 {
		code := params[0]
		params = params[1:]
		switch {
		case code == 0:
			s = base
		case code == 38 || code == 48:
			var c canvas.Color
			if c, params = extended(params); code == 38 {
				s.Foreground = c
			} else {
				s.Background = c
			}
		default:
			s = attribute(s, base, code)
		}
	}
	return s
}

// parameters reads the numbers of a sequence; what is left out is 0.
func parameters(codes string) []int {
	const most = 32
	numbers := make([]int, 1, 8)
	for i := range len(codes) {
		switch c := codes[i]; {
		case c == ';' || c == ':':
			if len(numbers) == most {
				return numbers
			}
			numbers = append(numbers, 0)
		case numbers[len(numbers)-1] < 1000:
			numbers[len(numbers)-1] = numbers[len(numbers)-1]*10 + int(c-'0')
		}
	}
	return numbers
}

// extended reads a colour of 256 or of all: 5;N or 2;R;G;B.
func extended(params []int) (canvas.Color, []int) {
	level := func(i int) uint8 { return uint8(min(params[i], 255)) }
	switch {
	case len(params) >= 2 && params[0] == 5:
		return canvas.Indexed(level(1)), params[2:]
	case len(params) >= 4 && params[0] == 2:
		return canvas.RGB(level(1), level(2), level(3)), params[4:]
	}
	return 0, nil
}

func attribute(s, base canvas.Style, code int) canvas.Style {
	switch code {
	case 1:
		s.Bold = true
	case 2:
		s.Faint = true
	case 3:
		s.Italic = true
	case 4:
		s.Underline = true
	case 7:
		s.Reverse = true
	case 22:
		s.Bold, s.Faint = base.Bold, base.Faint
	case 23:
		s.Italic = base.Italic
	case 24:
		s.Underline = base.Underline
	case 27:
		s.Reverse = base.Reverse
	case 39:
		s.Foreground = base.Foreground
	case 49:
		s.Background = base.Background
	}
	switch {
	case code >= 30 && code <= 37:
		s.Foreground = canvas.Indexed(uint8(code - 30))
	case code >= 90 && code <= 97:
		s.Foreground = canvas.Indexed(uint8(code - 90 + 8))
	case code >= 40 && code <= 47:
		s.Background = canvas.Indexed(uint8(code - 40))
	case code >= 100 && code <= 107:
		s.Background = canvas.Indexed(uint8(code - 100 + 8))
	}
	return s
}
