package display

import (
	"strconv"
	"strings"
	"time"
)

// Count returns a number of things in words: "1 cause", "2 causes", "3 entries".
func Count(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	if stem, ok := strings.CutSuffix(thing, "ry"); ok {
		thing = stem + "rie"
	}
	return strconv.Itoa(n) + " " + thing + "s"
}

// Length formats a duration in its two largest units: 7h57m, 3d2h, 12.4s.
func Length(d time.Duration) string {
	switch {
	case d < time.Second:
		return d.Round(time.Millisecond).String()
	case d < time.Minute:
		return d.Round(100 * time.Millisecond).String()
	case d < time.Hour:
		return twoUnits(d.Round(time.Second), time.Minute, "m", time.Second, "s")
	case d < 24*time.Hour:
		return twoUnits(d.Round(time.Minute), time.Hour, "h", time.Minute, "m")
	}
	return twoUnits(d, 24*time.Hour, "d", time.Hour, "h")
}

// RoundLength formats a length of whole minutes, hours or days: 15 min, 3 h, 2 days.
func RoundLength(d time.Duration) string {
	switch {
	case d < time.Hour:
		return strconv.Itoa(int(d/time.Minute)) + " min"
	case d < 24*time.Hour:
		return strconv.Itoa(int(d/time.Hour)) + " h"
	}
	return Count(int(d/(24*time.Hour)), "day")
}

// Lag formats a delay or an offset: under 1 ms, 251 ms, 1m02s.
func Lag(d time.Duration) string {
	if d < time.Millisecond {
		return "under 1 ms"
	}
	if d < time.Second {
		return strconv.FormatInt(d.Milliseconds(), 10) + " ms"
	}
	return Brief(d)
}

func twoUnits(d, large time.Duration, largeName string, small time.Duration, smallName string) string {
	text := strconv.Itoa(int(d/large)) + largeName
	if rest := int(d % large / small); rest > 0 {
		text += strconv.Itoa(rest) + smallName
	}
	return text
}

// Clause makes a part of a sentence of one.
func Clause(text string) string {
	text = strings.TrimSuffix(text, ".")
	if text == "" || text[0] < 'A' || text[0] > 'Z' {
		return text
	}
	return string(text[0]-'A'+'a') + text[1:]
}

// Sentence makes one of a clause.
func Sentence(text string) string {
	text = strings.TrimSuffix(text, ".") + "."
	if text[0] < 'a' || text[0] > 'z' {
		return text
	}
	return string(text[0]-'a'+'A') + text[1:]
}

// Quote makes one word for a shell.
func Quote(text string) string {
	plain := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("@%+=:,./_-", r)
	}
	if text != "" && strings.IndexFunc(text, func(r rune) bool { return !plain(r) }) < 0 {
		return text
	}
	return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
}

// ShellLine joins words to a line that a shell splits into the same words.
func ShellLine(words []string) string {
	quoted := make([]string, len(words))
	for i, word := range words {
		quoted[i] = Quote(word)
	}
	return strings.Join(quoted, " ")
}
