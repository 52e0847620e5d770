package display

import (
	"strings"

	"github.com/clipperhouse/displaywidth"
)

// Width counts the cells that clean text takes on a terminal, by grapheme, as
// the dashboard's renderer counts them.
func Width(s string) int { return displaywidth.String(s) }

// Cut shortens text to room cells, with an ellipsis for what is missing.
func Cut(s string, room int) string {
	if len(s) <= room {
		return s
	}
	return displaywidth.TruncateString(s, room, "…")
}

// Pad fills text up with blanks to width cells.
func Pad(s string, width int) string { return s + strings.Repeat(" ", max(width-Width(s), 0)) }
