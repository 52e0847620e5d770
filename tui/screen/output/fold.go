package output

import "strings"

// indexFold returns the index of a text in another, ignoring the case of ASCII
// letters, or -1.
func indexFold(s, needle string) int {
	if needle == "" {
		return 0
	}
	lower, upper := fold(needle[0]), needle[0]
	if upper >= 'a' && upper <= 'z' {
		upper -= 'a' - 'A'
	}
	for at := 0; ; at++ {
		i := strings.IndexByte(s[at:], lower)
		if lower != upper {
			end := len(s)
			if i >= 0 {
				end = at + i
			}
			if j := strings.IndexByte(s[at:end], upper); j >= 0 {
				i = j
			}
		}
		if i < 0 || len(s)-at-i < len(needle) {
			return -1
		}
		if at += i; equalFold(s[at:at+len(needle)], needle) {
			return at
		}
	}
}

func fold(c byte) byte {
	if c >= 'A' && c <= 'Z' {
		return c + 'a' - 'A'
	}
	return c
}

func equalFold(a, b string) bool {
	for i := range len(a) {
		if fold(a[i]) != fold(b[i]) {
			return false
		}
	}
	return true
}
