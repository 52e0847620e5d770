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
	end := MaxText
	for end > 0 && !utf8.RuneStart(text[end]) {
		end--
	}
	return text[:end] + "..."
}

// OneLine returns a text for a row of a list: without line breaks, and cut as by CutText.
func OneLine(text string) string { return CutText(strings.ReplaceAll(text, "\n", " ")) }
