package option

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/cronring/cronring/crontab/diagnostic"
	"github.com/cronring/cronring/crontab/lex"
	"github.com/cronring/cronring/crontab/timetable"
)

var units = map[byte]time.Duration{
	's': time.Second, 'm': time.Minute, 'h': time.Hour,
	'd': 24 * time.Hour, 'w': 7 * 24 * time.Hour,
}

// ErrTooLong is the error of ParseDuration for a duration above MaxDuration.
var ErrTooLong = errors.New("longer than 100 years")

// ParseDuration reads a duration such as 90s, 5m, 1h30m, 2d, 1w or 0. A day is
// 24 hours. A duration above MaxDuration is an error.
func ParseDuration(text string) (time.Duration, error) {
	if text == "0" {
		return 0, nil
	}
	var sum time.Duration
	rest := text
	for rest != "" {
		n, after := digits(rest)
		if n < 0 || after == "" {
			return 0, fmt.Errorf("%s is not a duration", diagnostic.Quote(text))
		}
		unit, ok := units[after[0]]
		if !ok {
			return 0, fmt.Errorf("%s is not a duration", diagnostic.Quote(text))
		}
		if n > int64((timetable.MaxDuration-sum)/unit) {
			return 0, fmt.Errorf("%s is %w (%s)", diagnostic.Quote(text), ErrTooLong, timetable.DurationText(timetable.MaxDuration))
		}
		sum += time.Duration(n) * unit
		rest = after[1:]
	}
	if text == "" {
		return 0, errors.New("the duration is empty")
	}
	return sum, nil
}

// digits reads a decimal number at the start of text. n is -1 if text does not
// begin with a number or the number exceeds 64 bits.
func digits(text string) (n int64, rest string) {
	end := 0
	for end < len(text) && text[end] >= '0' && text[end] <= '9' {
		end++
	}
	n, err := strconv.ParseInt(text[:end], 10, 64)
	if err != nil {
		return -1, text
	}
	return n, text[end:]
}

// ParseInstant reads RFC 3339, or a local date with or without time in zone, and returns it in zone.
// An instant before 1970 or after LastYear is an error.
func ParseInstant(text string, zone *timetable.Zone) (time.Time, error) {
	if t, err := time.Parse(time.RFC3339, text); err == nil {
		return t.In(zone.Location()), timetable.CheckRange(t, text)
	}
	for _, form := range []string{"2006-01-02T15:04:05", "2006-01-02T15:04", "2006-01-02 15:04:05", "2006-01-02 15:04", "2006-01-02"} {
		if t, err := timetable.ParseLocal(form, text, zone.Location()); err == nil {
			return t, timetable.CheckRange(t, text)
		}
	}
	return time.Time{}, fmt.Errorf("%s is not a date or time", diagnostic.Quote(text))
}

// parseSeconds reads a list of seconds in the syntax of a minute field.
func parseSeconds(text string) (mask uint64, err error) {
	for item := range strings.SplitSeq(text, ",") {
		first, last, step := 0, 59, 1
		span, stepText, stepped := strings.Cut(item, "/")
		from, to, ranged := strings.Cut(span, "-")
		if span != "*" {
			first, err = parseInt(from, 0, 59)
			last = first
		}
		if err == nil && ranged {
			last, err = parseInt(to, first, 59)
		}
		if err == nil && stepped {
			step, err = parseInt(stepText, 1, 59)
		}
		if err != nil || stepped && span != "*" && !ranged {
			return 0, fmt.Errorf("%s is not a list of seconds", diagnostic.Quote(text))
		}
		for second := first; second <= last; second += step {
			mask |= 1 << second
		}
	}
	return mask, nil
}

func parseInt(text string, low, high int) (int, error) {
	n, rest := digits(text)
	if n < 0 || rest != "" {
		return 0, fmt.Errorf("%s is not a number", diagnostic.Quote(text))
	}
	if n < int64(low) || n > int64(high) {
		return 0, fmt.Errorf("%s is not between %d and %d", text, low, high)
	}
	return int(n), nil
}

// parseCatchup reads cron, skip, once, all or all:N.
func parseCatchup(text string, o *Options) error {
	word, number, limited := strings.Cut(text, ":")
	rule, err := oneOf(word, catchups)
	if err != nil || limited && rule != CatchupAll {
		return fmt.Errorf("%s is not a catch-up rule", diagnostic.Quote(text))
	}
	made := o.MaxMade
	if limited {
		if made, err = parseInt(number, 1, timetable.MaxMissed); err != nil {
			return err
		}
	}
	o.Catchup, o.MaxMade = rule, made
	return nil
}

var catchups = map[string]Catchup{"cron": CatchupCron, "skip": CatchupSkip, "once": CatchupOnce, "all": CatchupAll}

var overlaps = map[string]Overlap{
	"allow": OverlapAllow, "skip": OverlapSkip, "queue": OverlapQueue,
	"queue-all": OverlapQueueAll, "replace": OverlapReplace, "kill": OverlapKill,
}

var answers = map[string]bool{"yes": true, "no": false}

var outsides = map[string]bool{"skip": false, "wait": true}

var triggers = map[string]bool{"clock": false, "manual": true}

// oneOf returns the element of values for text.
func oneOf[T any](text string, values map[string]T) (T, error) {
	value, ok := values[text]
	if !ok {
		return value, fmt.Errorf("%s is not one of the values", diagnostic.Quote(text))
	}
	return value, nil
}

// parseList reads up to most elements with commas between them. noun is the word for several of
// them; parse also receives the elements before.
func parseList[T any](text, noun string, most int, parse func(before []T, item string) (T, error)) ([]T, error) {
	items := strings.Split(text, ",")
	if len(items) > most {
		return nil, fmt.Errorf("more than %d %s", most, noun)
	}
	list := make([]T, 0, len(items))
	for _, item := range items {
		one, err := parse(list, item)
		if err != nil {
			return nil, err
		}
		list = append(list, one)
	}
	return list, nil
}

// CheckName checks the name of a job: 1 to 64 letters, digits, dots, underscores
// and hyphens. It cannot begin with a hyphen, because commands would read the
// name as a flag.
func CheckName(text string) error {
	if text == "" || len(text) > 64 {
		return errors.New("a name must have 1 to 64 characters")
	}
	if text[0] == '-' {
		return fmt.Errorf("%s begins with a hyphen", diagnostic.Quote(text))
	}
	for i := range len(text) {
		if c := text[i]; !lex.IsIdentifierByte(c) && c != '.' && c != '-' {
			return fmt.Errorf("%s has a character that is not allowed in a name", diagnostic.Quote(text))
		}
	}
	return nil
}

// CheckReference checks the name of a job, with or without OWNER/ before it.
func CheckReference(text string) error {
	owner, name, full := strings.Cut(text, "/")
	switch {
	case !full:
		return CheckName(text)
	case owner == "" || !lex.LooksLikeAccount(owner):
		return fmt.Errorf("%s is not OWNER/NAME: %s is not a user name", diagnostic.Quote(text), diagnostic.Quote(owner))
	}
	return CheckName(name)
}

// checkText checks that text can be an argument of a program.
func checkText(text string) error {
	if text == "" {
		return errors.New("the value is empty")
	}
	if strings.IndexByte(text, 0) >= 0 {
		return errors.New("the value has a NUL byte")
	}
	return nil
}

// longestNote is the longest text for people in bytes.
const longestNote = 500

// CheckNote checks a text for people, which is shown and sent on one line.
func CheckNote(text string) error {
	switch {
	case text == "":
		return errors.New("the text is empty")
	case len(text) > longestNote:
		return fmt.Errorf("the text has more than %d bytes", longestNote)
	case !utf8.ValidString(text) || strings.ContainsFunc(text, unicode.IsControl):
		return errors.New("the text has a character that is not printable")
	}
	return nil
}

// The checks of values of options that this version does not support.
