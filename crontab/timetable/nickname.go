package timetable

import (
	"fmt"
	"strings"

	"github.com/cronring/cronring/crontab/diagnostic"
	"github.com/cronring/cronring/crontab/lex"
)

// nickname is a word that replaces five fields.
type nickname struct {
	name   string
	fields FieldSet
}

// Of all nicknames only @hourly is a wildcard: Vixie's cron sets the star
// flags of the hour for it alone.
var nicknames = [...]nickname{
	{"@yearly", FieldSet{minute: 1, hour: 1, day: 1 << 1, month: 1 << 1, weekday: allWeekdays, flags: fieldBothDays}},
	{"@annually", FieldSet{minute: 1, hour: 1, day: 1 << 1, month: 1 << 1, weekday: allWeekdays, flags: fieldBothDays}},
	{"@monthly", FieldSet{minute: 1, hour: 1, day: 1 << 1, month: allMonths, weekday: allWeekdays, flags: fieldBothDays}},
	{"@weekly", FieldSet{minute: 1, hour: 1, day: allDays, month: allMonths, weekday: 1, flags: fieldBothDays}},
	{"@daily", FieldSet{minute: 1, hour: 1, day: allDays, month: allMonths, weekday: allWeekdays, flags: fieldBothDays}},
	{"@midnight", FieldSet{minute: 1, hour: 1, day: allDays, month: allMonths, weekday: allWeekdays, flags: fieldBothDays}},
	{"@hourly", FieldSet{minute: 1, hour: 1<<24 - 1, day: allDays, month: allMonths, weekday: allWeekdays, flags: fieldBothDays | fieldWildcard}},
}

// ParseNickname reads the nickname at byte at of line, which has an @ there.
// For @reboot reboot is true and f names nothing.
func ParseNickname(line string, at int, report Reporter) (f FieldSet, end int, reboot, ok bool) {
	end = lex.WordEnd(line, at)
	word := line[at:end]
	if word == "@reboot" {
		return f, end, true, true
	}
	for i := range nicknames {
		if nicknames[i].name == word {
			return nicknames[i].fields, end, false, true
		}
	}
	report(at, end-at, codeNickname, diagnostic.Error, diagnostic.Harmless(fmt.Sprintf("nickname %s is unknown", word)), diagnostic.Harmless(nicknameFix(line[at:], word)))
	return f, end, false, false
}

// nicknameFix returns what to write instead of word, the first word of rest.
func nicknameFix(rest, word string) string {
	if word == "@every" {
		if d := lex.Words(rest); len(d) > 1 {
			return fmt.Sprintf("write `#@ every=%s` on a line above five fields", d[1])
		}
		return "write `#@ every=5m` on a line above five fields"
	}
	best := diagnostic.Nearest(word, Nicknames())
	if best == "" {
		return "the nicknames are " + strings.Join(Nicknames(), " ")
	}
	return fmt.Sprintf("did you mean `%s`?", best)
}

func Nicknames() []string {
	words := []string{"@reboot"}
	for _, n := range nicknames {
		words = append(words, n.name)
	}
	return words
}
