package timetable

import (
	"fmt"
	"strings"
	"unicode"

	"github.com/cronring/cronring/crontab/diagnostic"
	"github.com/cronring/cronring/crontab/lex"
)

// mistake is an error about line[from:to] of a line with time fields.
type mistake struct {
	from, to     int
	code         diagnostic.Code
	message, fix string
}

// miscounted returns the mistake of a line that has fewer or more than five time
// fields, if that explains why the current field is invalid.
func (r *fieldReader) miscounted() (m mistake, ok bool) {
	if fields, end := leadingFields(r.line, r.first); len(fields) > len(fieldKinds) {
		return mistake{r.first, end, codeMoreFields, fmt.Sprintf("%d time fields, but cron has five", len(fields)), secondsFix(fields)}, true
	}
	if r.kind.index == 0 || r.resemblesField() {
		return m, false
	}
	word := r.line[r.start:r.fieldEnd(r.start)]
	before := strings.Join(lex.Words(r.line[r.first:r.start]), " ")
	return mistake{
		r.start, r.start + len(word), codeMissing, fmt.Sprintf("only %s before %q", numbered(r.kind.index, "time field"), word),
		fmt.Sprintf("write five fields: minute hour day month weekday, such as `%s%s`", before, strings.Repeat(" *", len(fieldKinds)-r.kind.index)),
	}, true
}

// resemblesField reports whether the current field, which is invalid, is a
// misspelled field and not the first word of a command.
func (r *fieldReader) resemblesField() bool {
	if r.start == len(r.line) {
		return true
	}
	word := r.line[r.start:r.fieldEnd(r.start)]
	name := word[:len(word)-len(strings.TrimLeftFunc(word, unicode.IsLetter))]
	if name == "" {
		return !strings.ContainsRune("/.~$", rune(word[0])) || len(word) == 1 || !lex.IsLetter(word[1])
	}
	for _, next := range lex.Words(r.line[r.start:])[1:] {
		if looksLikeTime(next) {
			return true
		}
	}
	return nearestName(fieldKinds[3].names, name) != "" || nearestName(fieldKinds[4].names, name) != ""
}

// leadingFields returns the words from byte at that look like time fields, up to
// the first other word, and the end of the last.
func leadingFields(line string, at int) (fields []string, end int) {
	for end = at; ; {
		next := lex.SkipBlanks(line, end)
		word := line[next:lex.WordEnd(line, next)]
		if !looksLikeTime(word) {
			return fields, end
		}
		fields, end = append(fields, word), next+len(word)
	}
}

// looksLikeTime reports whether word consists of values of time fields: numbers,
// signs, names of months and weekdays, and the letters of Quartz.
func looksLikeTime(word string) bool {
	if LooksLikeField(word) {
		return true
	}
	values := strings.FieldsFunc(word, func(c rune) bool { return strings.ContainsRune("*/,-~?#0123456789", c) })
	for _, value := range values {
		switch strings.ToUpper(value) {
		case "L", "W", "LW", "H":
		default:
			if indexName(fieldKinds[3].names, value) < 0 && indexName(fieldKinds[4].names, value) < 0 {
				return false
			}
		}
	}
	return word != "" && (len(values) > 0 || strings.Trim(word, "?*") == "")
}

// secondsFix returns what to write instead of more than five time fields. Other
// schedulers begin with the second, and Quartz ends with the year.
func secondsFix(fields []string) string {
	rest := strings.ReplaceAll(strings.Join(fields[1:len(fieldKinds)+1], " "), "?", "*")
	if strings.Trim(fields[0], "0") == "" {
		return fmt.Sprintf("delete one field: `%s` if the first is seconds; other seconds are `#@ sec=` on the line above", rest)
	}
	return fmt.Sprintf("delete one field: `%s` if the first is seconds, and write `#@ sec=%s` on the line above", rest, fields[0])
}

// LooksLikeField reports whether word has only characters of time fields.
func LooksLikeField(word string) bool {
	if word == "?" {
		return true // Quartz
	}
	values := 0
	for i := range len(word) {
		switch c := word[i]; {
		case c >= '0' && c <= '9', c == '*':
			values++
		case c != '/' && c != ',' && c != '-' && c != '?':
			return false
		}
	}
	return values > 0
}

// SixthFix returns what to write instead of line, an entry whose command begins with
// text that looks like a time field.
func SixthFix(line string) string {
	first := strings.TrimLeft(line, lex.Blanks)
	fields, _ := leadingFields(strings.TrimPrefix(first, "-"), 0)
	if len(fields) <= len(fieldKinds) {
		return "delete it" // after a nickname
	}
	return secondsFix(fields)
}
