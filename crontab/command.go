package crontab

import "strings"

// MaxCommand is the longest command in bytes: what Linux takes as one argument
// of a program. Debian's cron refuses 999 bytes, cronie cuts silently here.
const MaxCommand = 131_071

// splitCommand cuts the text of a line at its first unescaped %. A backslash
// takes the byte after it along, so \\% ends the command. Only \% loses its
// backslash: Debian's cron also makes one backslash of two, which breaks sed
// 's/\\/x/'; cronie's way is taken.
func splitCommand(text string) (command, input string, ok bool) {
	if strings.IndexByte(text, '%') < 0 {
		return text, "", false
	}
	end := firstPercent(text)
	command = text[:min(end, len(text))]
	if strings.Contains(command, `\%`) {
		command = unescapePercent(command)
	}
	if end == len(text) {
		return command, "", false
	}
	return command, text[end+1:], true
}

// firstPercent is the index of the first unescaped %, or the text's length.
func firstPercent(text string) int {
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '\\':
			i++
		case '%':
			return i
		}
	}
	return len(text)
}

func unescapePercent(text string) string {
	var b strings.Builder
	b.Grow(len(text))
	for i := 0; i < len(text); i++ {
		if text[i] == '\\' && i+1 < len(text) {
			i++
			if text[i] != '%' {
				b.WriteByte('\\')
			}
		}
		b.WriteByte(text[i])
	}
	return b.String()
}

// stdinText makes the command's input of the text after the first %: % is a
// line feed and \% is %. A backslash before a backslash does not protect it
// here, unlike in the command: both crons read \\% as \%.
func stdinText(input string) string {
	var b strings.Builder
	b.Grow(len(input) + 1)
	for i := 0; i < len(input); i++ {
		switch {
		case input[i] == '%':
			b.WriteByte('\n')
		case input[i] == '\\' && i+1 < len(input) && input[i+1] == '%':
			b.WriteByte('%')
			i++
		default:
			b.WriteByte(input[i])
		}
	}
	text := b.String()
	if text != "" && !strings.HasSuffix(text, "\n") {
		text += "\n"
	}
	return text
}
