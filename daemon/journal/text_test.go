package journal

import (
	"bytes"
	"strings"
	"testing"

	"github.com/cronring/cronring/daemon/job"
)

// The text log shows characters that could change a terminal, or reorder a line
// on it, as escapes.
func TestTextEscapesForeignText(t *testing.T) {
	for text, want := range map[string]string{
		"plain\tünï 中":       "plain\tünï 中",
		"a\x1b[2Jb\x00":      `a\x1b[2Jb\x00`,
		"c1 \u0085\u009b":    `c1 \x85\x9b`,
		"bidi \u202eb\u2066": `bidi \u202eb\u2066`,
		"\u200b\ufeff\u2028": `\u200b\ufeff\u2028`,
		"tag \U000e0041":     `tag \ue0041`,
	} {
		var out bytes.Buffer
		log := NewText(&out)
		log.Line(&Line{Job: "backup", Run: 1, Stream: job.Stdout, Text: []byte(text)})
		log.Flush()
		if got := out.String(); !strings.HasSuffix(got, ": "+want+"\n") {
			t.Errorf("%q is logged as %q, want %q", text, got, want)
		}
	}
}
