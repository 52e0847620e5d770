package cli

import (
	"os"
	"strings"

	"github.com/cronring/cronring/daemon/display"
)

// Sign chooses between a sign and its ASCII form, by CRONRING_GLYPHS or else by
// the locale.
func Sign(full, ascii string) string {
	switch os.Getenv("CRONRING_GLYPHS") {
	case "ascii":
		return ascii
	case "full", "safe":
		return full
	}
	for _, name := range []string{"LC_ALL", "LC_CTYPE", "LANG"} {
		if value := os.Getenv(name); value != "" {
			value = strings.ToUpper(value)
			if strings.Contains(value, "UTF-8") || strings.Contains(value, "UTF8") {
				return full
			}
			return ascii
		}
	}
	return ascii
}

// EscapeText makes a table fit for a terminal: what could steer it is shown as an
// escape.
func EscapeText(text string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		bare, ended := strings.CutSuffix(line, "\n")
		for i, part := range strings.Split(bare, "\t") {
			if i > 0 {
				b.WriteByte('\t')
			}
			b.WriteString(display.Text(part))
		}
		if ended {
			b.WriteByte('\n')
		}
	}
	return b.String()
}

// Single returns the element of a list that has exactly one.
func Single[T any](list []T) (one T, ok bool) {
	if len(list) != 1 {
		return one, false
	}
	return list[0], true
}

// ReasonSuffix appends a reason, if there is one.
func ReasonSuffix(reason string) string {
	if reason == "" {
		return ""
	}
	return ": " + reason
}

// PrintField writes one named line, and nothing for an empty text.
func (p *Printer) PrintField(name, text string) {
	if text != "" {
		p.Printf("  %-9s %s\n", name, display.Text(text))
	}
}

// FirstOnly names the first line of a list only.
func FirstOnly(i int, name string) string {
	if i > 0 {
		return ""
	}
	return name
}
