package notify

import (
	"regexp"
	"strings"
	"unicode/utf8"

	"github.com/cronring/cronring/daemon/job"
)

// LongestOutput bounds the output in a message, in bytes.
const LongestOutput = 2 << 10

// escapes are the sequences that color the output of a terminal.
var escapes = regexp.MustCompile("\x1b\\[[0-?]*[ -/]*[@-~]")

// Tail returns the last lines of a run's output, as text without control characters.
func Tail(output string) string {
	text := escapes.ReplaceAllString(output, "")
	text = strings.ReplaceAll(strings.ReplaceAll(text, "\r\n", "\n"), "\r", "\n")
	lines := strings.Split(end(strings.ToValidUTF8(text, "\uFFFD"), LongestOutput), "\n")
	for i := range lines {
		lines[i] = strings.TrimRight(oneLine(lines[i]), " ")
	}
	return strings.Trim(strings.Join(lines, "\n"), "\n")
}

// end returns the last bytes of a text, from the start of a line if there is one.
func end(text string, most int) string {
	text = strings.TrimRight(text, "\n ")
	if len(text) <= most {
		return text
	}
	text = text[len(text)-most:]
	if _, rest, found := strings.Cut(text, "\n"); found {
		return rest
	}
	for !utf8.RuneStart(text[0]) {
		text = text[1:]
	}
	return text
}

// cut returns the first characters of a text.
func cut(text string, most int) string {
	if utf8.RuneCountInString(text) <= most {
		return text
	}
	return string([]rune(text)[:most-1]) + "…"
}

// headline returns a message as one line.
func (m *Message) headline() string {
	text := oneLine(m.Text) + " [" + m.Host + "]"
	if m.Test {
		return "A test of channel " + m.Channel + ". " + text
	}
	return text
}

// isGood reports whether a message is good news.
func (m *Message) isGood() bool {
	return m.On == job.OnSuccess || m.On == job.OnRecover || m.On == job.OnStart
}

var markdown = strings.NewReplacer(
	`\`, `\\`, "*", `\*`, "_", `\_`, "[", `\[`, "]", `\]`, "`", "\\`", "#", `\#`, "<", "&lt;", "\n", "\n\n",
)

// plainMarkdown escapes a text, so that it shows as it is and has no links.
func plainMarkdown(text string) string { return markdown.Replace(text) }
