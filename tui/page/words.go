package page

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/cronring/cronring/daemon/api"
	"github.com/cronring/cronring/daemon/display"
)

// Thousands writes a number with a blank between groups of three digits.
func Thousands(n int) string {
	text := strconv.Itoa(n)
	for i := len(text) - 3; i > 0; i -= 3 {
		text = text[:i] + " " + text[i:]
	}
	return text
}

// CountLong is a number of things in words, which may be large: "8 912 runs".
func CountLong(n int, thing string) string {
	_, noun, _ := strings.Cut(display.Count(n, thing), " ")
	return Thousands(n) + " " + noun
}

// Percent is a share with one decimal, never rounded up to all.
func Percent(part, whole int) string {
	if part == whole {
		return "100 %"
	}
	tenths := part * 1000 / max(whole, 1)
	return fmt.Sprintf("%d.%d %%", tenths/10, tenths%10)
}

// Reason returns why a request failed: only the Why of an api.Error, if it has one.
func Reason(err error) string {
	if e, ok := errors.AsType[*api.Error](err); ok && e.Why != "" {
		return e.Why
	}
	return err.Error()
}

// Shorten is foreign text in room cells, in letters of any terminal.
func Shorten(text string, room int) string {
	text = display.Text(text)
	if display.Width(text) <= room {
		return text
	}
	return strings.TrimSuffix(display.Cut(text, room-2), "…") + "..."
}

// Width returns how many cells a text takes that may hold control characters.
func Width(text string) int { return display.Width(display.Text(text)) }
