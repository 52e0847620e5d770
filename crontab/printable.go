package crontab

import "fmt"

// Printable shows a text as cron's own log does (mkprints in Vixie cron): a
// control byte as ^X, one of the upper half as three octal digits.
func Printable(text string) string {
	plain := 0
	for plain < len(text) && text[plain] >= ' ' && text[plain] < 0x7f {
		plain++
	}
	if plain == len(text) {
		return text
	}
	b := []byte(text[:plain])
	for _, c := range []byte(text[plain:]) {
		switch {
		case c < ' ' || c == 0x7f:
			b = append(b, '^', c^'@')
		case c < 0x7f:
			b = append(b, c)
		default:
			b = fmt.Appendf(b, `\%03o`, c)
		}
	}
	return string(b)
}
