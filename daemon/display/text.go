package display

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// MaxLine limits how many bytes of a line of a job's output are shown.
const MaxLine = 8192

// Text makes foreign text (a command, a name, a path) fit for one field of
// one line. Control characters are shown as escapes, and so are the invisible
// ones that reorder text on a screen.
func Text(s string) string {
	if isClean(s) {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == utf8.RuneError && n == 1:
			fmt.Fprintf(&b, `\x%02x`, s[i])
		case r < 0x20 || r == 0x7f:
			fmt.Fprintf(&b, `\x%02x`, r)
		case hidden(r):
			fmt.Fprintf(&b, `\u%04x`, r)
		default:
			b.WriteString(s[i : i+n])
		}
		i += n
	}
	return b.String()
}

// JSON passes JSON on with the characters escaped that Text escapes and that
// encoding/json lets through, so that the document stays the same. Each Write
// must have whole runes, as those of a json.Encoder do.
type JSON struct{ W io.Writer }

func (j JSON) Write(p []byte) (int, error) {
	if bytes.IndexFunc(p, escapes) < 0 {
		return j.W.Write(p)
	}
	var b []byte
	for _, r := range string(p) {
		if !escapes(r) {
			b = utf8.AppendRune(b, r)
			continue
		}
		for _, unit := range utf16.AppendRune(nil, r) {
			b = fmt.Appendf(b, `\u%04x`, unit)
		}
	}
	if _, err := j.W.Write(b); err != nil {
		return 0, err
	}
	return len(p), nil
}

// escapes reports the runes that JSON escapes: in its own syntax, only line ends
// and blanks are control characters.
func escapes(r rune) bool { return r >= 0x7f && hidden(r) }

// Paragraphs is Text of several lines, whose ends stay: what is copied is pasted
// somewhere else, where a control character could end the paste or a line of it.
func Paragraphs(s string) string {
	lines := strings.Split(s, "\n")
	for i := range lines {
		lines[i] = Text(lines[i])
	}
	return strings.Join(lines, "\n")
}

// isClean reports whether text can be shown unchanged. Nearly all text can, without
// allocating.
func isClean(s string) bool {
	for i := 0; i < len(s); {
		if c := s[i]; c < utf8.RuneSelf {
			if c < 0x20 || c == 0x7f {
				return false
			}
			i++
			continue
		}
		r, n := utf8.DecodeRuneInString(s[i:])
		if r == utf8.RuneError && n == 1 || hidden(r) {
			return false
		}
		i += n
	}
	return true
}

// hidden reports runes that change how their neighbours are shown: the C1
// controls, the separators of lines, and the format characters that set the
// direction of text.
func hidden(r rune) bool {
	return unicode.IsControl(r) || unicode.Is(unicode.Cf, r) || r == 0x2028 || r == 0x2029
}

// Lines passes the output of one stream of one run on, line by line, without
// what could take over a terminal. Newlines and tabs stay, and so do colours
// where they are wanted; of a line redrawn with carriage returns the last state
// stays; a line is cut at MaxLine bytes.
type Lines struct {
	W      io.Writer
	Prefix func() string // written before each line; nil for none
	Color  bool          // colours stay
	Flow   bool          // and stay on after the end of a line: the writer of W resets them
	line   []byte        // since the last newline
	cut    bool          // the line is longer than MaxLine; the rest is left out
}

func (c *Lines) Write(p []byte) (int, error) {
	n := len(p)
	for len(p) > 0 {
		i := bytes.IndexByte(p, '\n')
		if i < 0 {
			c.keep(p)
			break
		}
		c.keep(p[:i])
		p = p[i+1:]
		if err := c.endLine(); err != nil {
			return n, err
		}
	}
	return n, nil
}

// Unfinished is the line since the last newline, as it would be passed on now;
// nil where there is none. W gets each finished line in one Write.
func (c *Lines) Unfinished() []byte {
	if len(c.line) == 0 {
		return nil
	}
	return c.clean(nil)
}

// Close ends an unfinished line.
func (c *Lines) Close() error {
	if len(c.line) == 0 {
		return nil
	}
	return c.endLine()
}

// keep buffers a part of a line. Text that was overwritten is dropped, so that the end of
// a progress bar of any length is shown.
func (c *Lines) keep(p []byte) {
	if i := bytes.LastIndexByte(bytes.TrimRight(p, "\r"), '\r'); i >= 0 {
		c.line, c.cut, p = c.line[:0], false, p[i+1:]
	}
	if len(c.line) > 0 && len(p) > 0 && c.line[len(c.line)-1] == '\r' && p[0] != '\r' {
		c.line, c.cut = c.line[:0], false
	}
	if room := MaxLine - len(c.line); len(p) > room {
		p, c.cut = p[:room], true
	}
	c.line = append(c.line, p...)
}

func (c *Lines) endLine() error {
	var b []byte
	if c.Prefix != nil {
		b = append(b, c.Prefix()...)
	}
	b = c.clean(b)
	c.line, c.cut = c.line[:0], false
	_, err := c.W.Write(append(b, '\n'))
	return err
}

func (c *Lines) clean(b []byte) []byte {
	b, painted := appendClean(b, c.line, c.Color)
	if painted && (!c.Flow || c.cut) { // what undoes colours may be among what is cut off
		b = append(b, "\x1b[0m"...)
	}
	if c.cut {
		b = append(b, " [line cut]"...)
	}
	return b
}

// AppendLine appends line without control characters and escape sequences.
// With color, sequences that set colours (SGR) stay, and are undone at the end.
func AppendLine(b, line []byte, color bool) []byte {
	b, painted := appendClean(b, line, color)
	if painted {
		b = append(b, "\x1b[0m"...)
	}
	return b
}

// appendClean is AppendLine without the reset of colours. It reports whether some were
// set.
func appendClean(b, line []byte, color bool) (text []byte, painted bool) {
	for {
		n := plainLen(line)
		b, line = append(b, line[:n]...), line[n:]
		if len(line) == 0 {
			return b, painted
		}
		if line[0] == 0x1b {
			n, sgr := escapeLen(line)
			if sgr && color {
				b, painted = append(b, line[:n]...), true
			}
			line = line[n:]
			continue
		}
		r, n := utf8.DecodeRune(line)
		switch {
		case r == utf8.RuneError && n == 1:
			b = utf8.AppendRune(b, utf8.RuneError)
		case !hidden(r):
			b = append(b, line[:n]...)
		}
		line = line[n:]
	}
}

// plainLen returns the number of bytes at the start of p that are printable ASCII or tabs.
func plainLen(p []byte) int {
	for i, c := range p {
		if (c < 0x20 || c > 0x7e) && c != '\t' {
			return i
		}
	}
	return len(p)
}

// escapeLen returns the length of the escape sequence at the start of p, and whether it
// only sets colours. The forms are those of ECMA-48: CSI with parameters and a final byte,
// strings up to their terminator, and short sequences.
func escapeLen(p []byte) (n int, sgr bool) {
	if len(p) == 1 {
		return 1, false
	}
	switch p[1] {
	case '[':
		return csiLen(p)
	case ']', 'P', 'X', '^', '_':
		return stringLen(p), false
	}
	for i := 1; i < len(p); i++ {
		if p[i] < 0x20 || p[i] > 0x2f { // not an intermediate byte: the final one, or no part of it
			if p[i] >= 0x30 && p[i] <= 0x7e {
				i++
			}
			return i, false
		}
	}
	return len(p), false
}

func csiLen(p []byte) (n int, sgr bool) {
	digits := true
	for i := 2; i < len(p); i++ {
		switch c := p[i]; {
		case c >= '0' && c <= '9' || c == ';' || c == ':':
		case c >= 0x20 && c <= 0x3f:
			digits = false
		case c >= 0x40 && c <= 0x7e:
			return i + 1, c == 'm' && digits
		default:
			return i, false
		}
	}
	return len(p), false
}

// stringLen ends a device string at BEL or ST; without either, the rest of the
// line is part of it.
func stringLen(p []byte) int {
	for i := 2; i < len(p); i++ {
		switch {
		case p[i] == 0x07:
			return i + 1
		case p[i] == 0x1b && i+1 < len(p) && p[i+1] == '\\':
			return i + 2
		}
	}
	return len(p)
}
