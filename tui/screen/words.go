package screen

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/cronring/cronring/tui/safe"
	"github.com/cronring/cronring/tui/when"
)

// thousands writes a number with a blank between groups of three digits.
func thousands(n int) string {
	text := strconv.Itoa(n)
	for i := len(text) - 3; i > 0; i -= 3 {
		text = text[:i] + " " + text[i:]
	}
	return text
}

// many is a number of things in words, which may be large: "8 912 runs".
func many(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return thousands(n) + " " + thing + "s"
}

// percent is a share with one decimal, never rounded up to all.
func percent(part, whole int) string {
	if part == whole {
		return "100 %"
	}
	tenths := part * 1000 / max(whole, 1)
	return fmt.Sprintf("%d.%d %%", tenths/10, tenths%10)
}

// shortened is foreign text in room cells, in letters of any terminal.
func shortened(text string, room int) string {
	text = safe.Text(text)
	if safe.Width(text) <= room {
		return text
	}
	return strings.TrimSuffix(safe.Cut(text, room-2), "…") + "..."
}

// counted is a number of things in words: "1 cause", "2 causes", "3 entries".
func counted(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	if stem, ok := strings.CutSuffix(thing, "ry"); ok {
		return fmt.Sprintf("%d %sries", n, stem)
	}
	return fmt.Sprintf("%d %ss", n, thing)
}

// lag says a delay, which may be none.
func lag(d time.Duration) string {
	if d < time.Millisecond {
		return "under 1 ms"
	}
	if d < time.Second {
		return strconv.FormatInt(d.Milliseconds(), 10) + " ms"
	}
	return when.Brief(d)
}

// cells returns how many cells a text takes that may hold control characters.
func cells(text string) int { return safe.Width(safe.Text(text)) }
