package source

import "strings"

// Joined is a line after joining continuation lines.
type Joined struct {
	Text      string
	Positions []Position
}

// Join splits a text into lines. A backslash at the end of a line joins it with the
// next one, with a blank between them. If drop is set, all other backslashes are
// dropped, as Debian's anacron does.
func (s *Source) Join(rest string, drop bool) []Joined {
	var lines []Joined
	var text strings.Builder
	var places []Position
	for number := 1; rest != "" || text.Len() > 0 || len(places) > 0; number++ {
		line, after, ended := strings.Cut(rest, "\n")
		rest = after
		s.Number, s.Text = number, line
		line = s.TrimReturn(line)
		more := ended && strings.HasSuffix(line, `\`)
		if more {
			line = line[:len(line)-1]
		}
		places = addPieces(&text, places, number, line, drop)
		if more {
			text.WriteByte(' ')
			continue
		}
		lines = append(lines, Joined{text.String(), places})
		text.Reset()
		places = nil
	}
	return lines
}

// addPieces adds a line of the file to a joined one.
func addPieces(text *strings.Builder, places []Position, number int, line string, drop bool) []Position {
	for column := 1; ; {
		places = append(places, Position{text.Len(), number, column})
		slash := strings.IndexByte(line, '\\')
		if slash < 0 || !drop {
			text.WriteString(line)
			return places
		}
		text.WriteString(line[:slash])
		line = line[slash+1:]
		column += slash + 1
	}
}
