package config

import (
	"strconv"
	"strings"

	"github.com/BurntSushi/toml"
)

// key is a key or table of a file, with its line, which the decoder does not report. Elements of an
// array of tables have their numbers in the path.
type key struct {
	path []string
	line int
}

// scan finds the keys of a text that the decoder has accepted: it only reports positions, and does
// not validate.
func scan(text string) []key {
	s := scanner{text: text, line: 1, arrays: map[string]int{}}
	var table []string
	for s.skipSpace(); s.at < len(s.text); s.skipSpace() {
		if s.text[s.at] != '[' {
			s.pair(table)
			continue
		}
		s.at++
		array := s.peek() == '['
		if array {
			s.at++
		}
		table = s.table(s.key(), array)
		s.found = append(s.found, key{table, s.line})
		for s.peek() == ']' {
			s.at++
		}
	}
	return s.found
}

type scanner struct {
	text   string
	at     int
	line   int
	arrays map[string]int // number of elements of arrays of tables until here, by path
	found  []key
}

// peek returns the next byte, or 0 at the end.
func (s *scanner) peek() byte {
	if s.at < len(s.text) {
		return s.text[s.at]
	}
	return 0
}

// skipSpace skips blanks, line ends and comments.
func (s *scanner) skipSpace() {
	for s.at < len(s.text) {
		switch s.text[s.at] {
		case '\n':
			s.line++
		case ' ', '\t', '\r', ',': // a comma occurs only between values
		case '#':
			s.at += strings.IndexByte(s.text[s.at:]+"\n", '\n')
			continue
		default:
			return
		}
		s.at++
	}
}

// table returns the path of a header, with the numbers of the elements that contain it.
func (s *scanner) table(name []string, array bool) []string {
	var path []string
	for i, part := range name {
		path = append(path, part)
		id := dotted(path)
		if array && i == len(name)-1 {
			s.arrays[id]++
		}
		if n := s.arrays[id]; n > 0 {
			path = append(path, strconv.Itoa(n-1))
		}
	}
	return path
}

// pair scans a key and its value.
func (s *scanner) pair(table []string) {
	before := s.at
	path := append(append([]string(nil), table...), s.key()...)
	s.found = append(s.found, key{path, s.line})
	if s.peek() == '=' {
		s.at++
	}
	s.value(path)
	if s.at == before {
		s.at++ // what no decoder would have taken
	}
}

// key scans a key with its dots and the blanks around it.
func (s *scanner) key() (path []string) {
	for {
		s.skipBlanks()
		start := s.at
		if c := s.peek(); c == '"' || c == '\'' {
			s.str()
			path = append(path, unquote(s.text[start:s.at]))
		} else {
			for s.at < len(s.text) && !strings.ContainsRune(" \t\r\n=.]", rune(s.text[s.at])) {
				s.at++
			}
			path = append(path, s.text[start:s.at])
		}
		s.skipBlanks()
		if s.peek() != '.' {
			return path
		}
		s.at++
	}
}

func (s *scanner) skipBlanks() {
	for c := s.peek(); c == ' ' || c == '\t'; c = s.peek() {
		s.at++
	}
}

// unquote returns a quoted key without quotes, by the decoder's own rules.
func unquote(text string) string {
	var d struct{ K string }
	if _, err := toml.Decode("K = "+text, &d); err != nil {
		return text
	}
	return d.K
}

// value scans the value of a path, and the keys within it.
func (s *scanner) value(path []string) {
	s.skipBlanks()
	switch s.peek() {
	case '"', '\'':
		s.str()
	case '[':
		s.at++
		for i := 0; s.more(']'); i++ {
			before, element := s.at, append(append([]string(nil), path...), strconv.Itoa(i))
			if s.peek() == '{' {
				s.found = append(s.found, key{element, s.line})
			}
			s.value(element)
			if s.at == before {
				s.at++ // what no decoder would have taken
			}
		}
	case '{':
		s.at++
		for s.more('}') {
			s.pair(path)
		}
	default:
		for s.at < len(s.text) && !strings.ContainsRune(",]}\r\n#", rune(s.text[s.at])) {
			s.at++
		}
	}
}

// more skips space, and the end of a list if it is there.
func (s *scanner) more(end byte) bool {
	s.skipSpace()
	if s.at == len(s.text) {
		return false
	}
	if s.text[s.at] == end {
		s.at++
		return false
	}
	return true
}

// str skips a string of any of the four kinds.
func (s *scanner) str() {
	quote := s.text[s.at : s.at+1]
	if long := strings.Repeat(quote, 3); strings.HasPrefix(s.text[s.at:], long) {
		quote = long
	}
	for s.at += len(quote); s.at < len(s.text); s.at++ {
		switch {
		case s.text[s.at] == '\\' && quote[0] == '"':
			s.at++
			if s.peek() != '\n' {
				continue
			}
			s.line++
		case s.text[s.at] == '\n':
			s.line++
		case strings.HasPrefix(s.text[s.at:], quote):
			s.at += len(quote)
			for len(quote) == 3 && s.peek() == quote[0] { // it may end in further quotes
				s.at++
			}
			return
		}
	}
	s.at = len(s.text) // not closed, or closed by nothing but a backslash
}

// find returns the value of a path, or nil.
func find(document any, path []string) any {
	for _, part := range path {
		switch in := document.(type) {
		case map[string]any:
			document = in[part]
		case []map[string]any:
			document = item(in, part)
		case []any:
			document = item(in, part)
		default:
			return nil
		}
	}
	return document
}

func item[T any](list []T, number string) any {
	if i, err := strconv.Atoi(number); err == nil && i >= 0 && i < len(list) {
		return list[i]
	}
	return nil
}

// isTable reports whether a value has keys of its own.
func isTable(v any) bool {
	switch v := v.(type) {
	case map[string]any, []map[string]any:
		return true
	case []any:
		return len(v) > 0 && isTable(v[0])
	}
	return false
}
