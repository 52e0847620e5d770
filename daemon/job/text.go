package job

import (
	"strings"
	"unicode/utf8"
)

// MaxText is the maximum length in bytes of a text in a request, such as the reason of a pause.
const MaxText = 500

// CutText cuts a text that is longer than MaxText bytes between two runes, and
// marks that with "...".
func CutText(text string) string {
	if len(text) <= MaxText {
		return text
	}
	return Cut(text, MaxText) + "..."
}

// Cut leaves at most size bytes of a text, and does not split a rune.
func Cut(text string, size int) string {
	if len(text) <= size {
		return text
	}
	size = max(size, 0)
	for back := range min(utf8.UTFMax, size+1) {
		if utf8.RuneStart(text[size-back]) {
			return text[:size-back]
		}
	}
	return text[:size]
}

// OneLine returns a text for a row of a list: without line breaks, and cut as by CutText.
func OneLine(text string) string { return CutText(strings.ReplaceAll(text, "\n", " ")) }
