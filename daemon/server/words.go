package server

import (
	"strconv"
	"strings"
	"time"
)

// count says a number of things in words.
func count(n int, thing string) string {
	switch n {
	case 0:
		return "no " + thing + "s"
	case 1:
		return "1 " + thing
	}
	return strconv.Itoa(n) + " " + thing + "s"
}

// length says a duration in its two largest units: 7h57m, 3d2h, 12.4s.
func length(d time.Duration) string {
	const day = 24 * time.Hour
	switch {
	case d < time.Second:
		return d.Round(time.Millisecond).String()
	case d < time.Minute:
		return d.Round(100 * time.Millisecond).String()
	case d < time.Hour:
		return d.Round(time.Second).String()
	case d < day:
		return strings.TrimSuffix(d.Round(time.Minute).String(), "0s")
	}
	text := strconv.Itoa(int(d/day)) + "d"
	if h := int(d % day / time.Hour); h > 0 {
		text += strconv.Itoa(h) + "h"
	}
	return text
}

// quote makes one word for a shell.
func quote(text string) string {
	plain := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("@%+=:,./_-", r)
	}
	if text != "" && strings.IndexFunc(text, func(r rune) bool { return !plain(r) }) < 0 {
		return text
	}
	return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
}
