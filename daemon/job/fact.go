package job

import (
	"encoding/json"
	"strings"
	"time"
	"unicode/utf8"
)

// Detail has the names, numbers and times that belong to a Reason or a Record. It is one of:
//   - a fact: a code and its arguments. The functions of detail.go make facts, and the table in detail_words.go has the
//     words of each code.
//   - a text: the name of an event, a text of a user, or the words that an earlier version stored.
//
// The stored form of a fact is factMark and a JSON array of strings, such as ["late","1m0s"]. An argument that is a
// fact itself is an array in the array. The JSON form of a detail is its words, because programs read these.
type Detail string

// factMark begins a fact: it is the record separator that begins each text of RFC 7464. Text ensures that it begins
// no text, so that no user can enter a text that is shown as another fact.
const factMark = "\x1e"

// Text returns a text as a detail. Every text from outside must pass through it.
func Text(text string) Detail {
	if strings.HasPrefix(text, factMark) {
		return Detail(append(appendString([]byte(factMark+`["text",`), text), ']'))
	}
	return Detail(text)
}

// fact returns a fact. Longer texts than MaxText are cut.
func fact(code string, args ...Detail) Detail {
	var usual [192]byte // on the stack
	b := appendString(append(usual[:0], factMark+"["...), code)
	for _, arg := range args {
		b = append(b, ',')
		if inner, is := strings.CutPrefix(string(arg), factMark); is {
			b = append(b, inner...)
		} else {
			b = appendString(b, CutText(string(arg)))
		}
	}
	return Detail(append(b, ']'))
}

// appendString appends a JSON string.
func appendString(b []byte, s string) []byte {
	for i := range len(s) {
		if c := s[i]; c < ' ' || c >= utf8.RuneSelf || c == '"' || c == '\\' {
			text, _ := json.Marshal(s) // a string has no error
			return append(b, text...)
		}
	}
	b = append(b, '"')
	b = append(b, s...)
	return append(b, '"')
}

// Words returns the detail as people and programs read it, with times in RFC 3339 and the zone that was recorded.
func (d Detail) Words() string { return d.WordsIn(nil) }

// String returns the words.
func (d Detail) String() string { return d.Words() }

// WordsIn is Words with times in zone, as FormatTime formats them.
func (d Detail) WordsIn(zone *time.Location) string { return d.words(zone, deepest) }

// deepest limits facts within facts. Details of this version have at most four.
const deepest = 8

// words also returns a text for what a newer version or a damaged database has.
func (d Detail) words(zone *time.Location, depth int) string {
	inner, isFact := strings.CutPrefix(string(d), factMark)
	if !isFact {
		return string(d)
	}
	var parts []json.RawMessage
	if json.Unmarshal([]byte(inner), &parts) != nil || len(parts) == 0 || depth == 0 {
		return inner
	}
	a := arguments{zone: zone}
	for _, part := range parts {
		var text string
		switch {
		case part[0] == '[':
			text = Detail(factMark+string(part)).words(zone, depth-1)
		case json.Unmarshal(part, &text) != nil:
			text = string(part)
		}
		a.texts = append(a.texts, text)
	}
	code := a.texts[0]
	a.texts = a.texts[1:]
	if words := details[code]; words != nil {
		return words(a)
	}
	return strings.TrimSuffix(code+": "+strings.Join(a.texts, ", "), ": ")
}

// Short returns a detail that has room in a history: a long one as the beginning of its words. Some details have texts
// of a crontab, such as the path of a SHELL that does not exist, of 100 KiB and more. A detail can have a text of
// MaxText bytes with more around it.
func (d Detail) Short() Detail {
	if len(d) <= 2*MaxText {
		return d
	}
	return Text(CutText(d.Words()))
}

// MarshalJSON returns the words.
func (d Detail) MarshalJSON() ([]byte, error) { return json.Marshal(d.Words()) }

// UnmarshalJSON reads words.
func (d *Detail) UnmarshalJSON(b []byte) error {
	var text string
	err := json.Unmarshal(b, &text)
	*d = Text(text)
	return err
}

// arguments are the arguments of a fact, in words. Those that are missing are "".
type arguments struct {
	texts []string
	zone  *time.Location // for times; nil: the recorded one
}

func (a arguments) text(i int) string {
	if i < len(a.texts) {
		return a.texts[i]
	}
	return ""
}

// time returns a time in the zone of the reader.
func (a arguments) time(i int) string {
	text := a.text(i)
	if t, err := time.Parse(time.RFC3339, text); err == nil && a.zone != nil {
		return FormatTime(t, a.zone)
	}
	return text
}

// from returns the arguments from the i-th on.
func (a arguments) from(i int) []string { return a.texts[min(i, len(a.texts)):] }
