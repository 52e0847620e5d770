package crontab

import (
	"sort"
	"strings"
)

// joined is a line after joining continuation lines.
type joined struct {
	text   string
	places []place
}

// place is the position in the file of a piece of a joined line, which begins at
// byte at.
type place struct{ at, line, column int }

// joinLines splits the text into lines. A backslash at the end of a line joins it
// with the next one, with a blank between them.
func (p *parser) joinLines() []joined {
	var lines []joined
	var text strings.Builder
	var places []place
	rest := p.file.text
	for number := 1; rest != "" || text.Len() > 0 || len(places) > 0; number++ {
		line, after, ended := strings.Cut(rest, "\n")
		rest = after
		p.number, p.line = number, line
		line = p.trimReturn(line)
		more := ended && strings.HasSuffix(line, `\`)
		if more {
			line = line[:len(line)-1]
		}
		places = p.addPieces(&text, places, line)
		if more {
			text.WriteByte(' ')
			continue
		}
		lines = append(lines, joined{text.String(), places})
		text.Reset()
		places = nil
	}
	return lines
}

// addPieces adds a line of the file to a joined one, without the backslashes
// that Debian's anacron drops.
func (p *parser) addPieces(text *strings.Builder, places []place, line string) []place {
	drop := p.config.Family == Debian
	for column := 1; ; {
		places = append(places, place{text.Len(), p.number, column})
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

// spot returns the position in the file of byte at of the current line, and how
// many of length bytes follow there without interruption.
func (p *parser) spot(at, length int) (line, column, in int) {
	if p.places == nil {
		return p.number, at + 1, length
	}
	i := sort.Search(len(p.places), func(i int) bool { return p.places[i].at > at }) - 1
	s := p.places[i]
	if i+1 < len(p.places) {
		length = max(1, min(length, p.places[i+1].at-at))
	}
	return s.line, s.column + at - s.at, length
}
