package page

import (
	"errors"
	"fmt"
	"strings"

	"github.com/cronring/cronring/daemon/api"
	"github.com/cronring/cronring/daemon/display"
)

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
