package timetable

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/cronring/cronring/crontab/diagnostic"
)

// otherTool returns what to write instead of text if it is the syntax of
// another scheduler, or "". rest follows text in the field.
func otherTool(k *fieldKind, text, rest string) string {
	number := strings.TrimRight(text, "LWlw")
	letters := text[len(number):]
	isNumber := number != "" && strings.Trim(number, "0123456789") == ""
	switch upper := strings.ToUpper(text); {
	case upper == "H" && strings.HasPrefix(rest, "/"):
		return fmt.Sprintf("write `*%s`", rest)
	case upper == "H":
		return "write `~` for a value that is chosen once"
	case k.index == 2 && upper == "L":
		return dayOption("last")
	case k.index == 2 && (upper == "LW" || upper == "WL"):
		return dayOption("last-workday")
	case k.index == 4 && upper == "L":
		return "write `6`"
	case letters == "":
		return ""
	case k.index == 2 && isNumber && strings.EqualFold(letters, "W"):
		return dayOption(number + "W")
	case k.index == 4 && strings.EqualFold(letters, "L") && isNumber && number <= "7" && len(number) == 1:
		return dayOption(k.valueName(int(number[0]-'0')) + "#last")
	case isNumber || indexName(k.names, number) >= 0:
		return fmt.Sprintf("write `%s`", number)
	case k.index == 2 && upper == "W":
		return "write `*`, and `1-5` in the weekday field"
	case k.index == 4 && upper == "W":
		return "write `1-5`"
	}
	return ""
}

// dayOption returns the option to write instead of a value for days, which the
// fields do not have.
func dayOption(rule string) string {
	return fmt.Sprintf("write `*`, and `#@ day=%s` on the line above", rule)
}

// numberFix returns what to write instead of text that has digits but is not a number.
func numberFix(k *fieldKind, text string) string {
	if v, err := strconv.ParseInt(text, 0, 32); err == nil && k.low <= int(v) && int(v) <= k.high {
		return fmt.Sprintf("write `%d`", v)
	}
	digits := strings.TrimRight(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ")
	if digits != "" && strings.Trim(digits, "0123456789") == "" {
		return fmt.Sprintf("write `%s`", digits)
	}
	return fmt.Sprintf("the %s is %d to %d", k.name, k.low, k.high)
}

// nameFix returns what to write instead of text that is not a name in this field.
func nameFix(k *fieldKind, text string) string {
	if name := nearestName(k.names, text); name != "" {
		return fmt.Sprintf("did you mean `%s`?", name)
	}
	for _, other := range fieldKinds {
		if name := nearestName(other.names, text); name != "" {
			return fmt.Sprintf("`%s` belongs in the %s field, which is number %d", name, other.name, other.index+1)
		}
	}
	if k.index == 0 && len(text) > 1 {
		return "begin the line with `#` if it is a comment; an entry begins with five time fields, an assignment is NAME=value"
	}
	if k.names != "" {
		return fmt.Sprintf("the %s is %d to %d, or a name such as `%s`", k.name, k.low, k.high, k.names[3:6])
	}
	return fmt.Sprintf("the %s is %d to %d", k.name, k.low, k.high)
}

// nearestName returns the name that text is a longer form or a misspelling of.
func nearestName(names, text string) string {
	if len(text) < 2 {
		return ""
	}
	text = strings.ToLower(text)
	if i := indexName(names, text[:min(len(text), 3)]); i >= 0 {
		return names[3*i : 3*i+3]
	}
	best, least := "", 2
	for i := 0; i < len(names); i += 3 {
		name := names[i : i+3]
		full := name
		if len(text) > 4 {
			full = fullNames[name]
		}
		if d := diagnostic.Distance(full, text, least); d < least && full[0] == text[0] {
			best, least = name, d
		}
	}
	return best
}

// fullNames are the full names of months and weekdays by their first three letters.
var fullNames = func() map[string]string {
	names := map[string]string{}
	for month := time.January; month <= time.December; month++ {
		names[strings.ToLower(month.String()[:3])] = strings.ToLower(month.String())
	}
	for day := time.Sunday; day <= time.Saturday; day++ {
		names[strings.ToLower(day.String()[:3])] = strings.ToLower(day.String())
	}
	return names
}()

// valueText writes v as a name if like is a name, else as a number.
func (k *fieldKind) valueText(like string, v int) string {
	if indexName(k.names, like) < 0 {
		return strconv.Itoa(v)
	}
	return k.valueName(v)
}

// valueName returns the name of v in a field that has names.
func (k *fieldKind) valueName(v int) string {
	i := (v - k.low) * 3 % len(k.names)
	return k.names[i : i+3]
}

// rangeText joins the ends of a range, or returns its only value.
func (k *fieldKind) rangeText(from, to, step string) string {
	if strings.EqualFold(from, to) {
		return from
	}
	return from + "-" + to + step
}
