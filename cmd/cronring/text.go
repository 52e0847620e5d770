package main

import (
	"os"
	"strconv"
	"strings"

	"github.com/cronring/cronring/daemon/job"
	"github.com/cronring/cronring/tui/safe"
)

// sign chooses between a sign and its ASCII form, by CRONRING_GLYPHS or else by
// the locale.
func sign(full, ascii string) string {
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

func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return strconv.Itoa(n) + " " + noun + "s"
}

// visible makes a table fit for a terminal: what could steer it is shown as an
// escape.
func visible(text string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		bare, ended := strings.CutSuffix(line, "\n")
		for i, part := range strings.Split(bare, "\t") {
			if i > 0 {
				b.WriteByte('\t')
			}
			b.WriteString(safe.Text(part))
		}
		if ended {
			b.WriteByte('\n')
		}
	}
	return b.String()
}

// shellLine writes words so that a shell reads them back as they are.
func shellLine(argv []string) string {
	words := make([]string, len(argv))
	for i, word := range argv {
		words[i] = shellWord(word)
	}
	return strings.Join(words, " ")
}

func shellWord(word string) string {
	if word != "" && strings.Trim(word, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_@%+=:,./-") == "" {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}

// only gives the one element of a list.
func only[T any](list []T) (one T, ok bool) {
	if len(list) != 1 {
		return one, false
	}
	return list[0], true
}

// because appends a reason, if there is one.
func because(reason string) string {
	if reason == "" {
		return ""
	}
	return ": " + reason
}

// printField writes one named line, and nothing for an empty text.
func (p *printer) printField(name, text string) {
	if text != "" {
		p.printf("  %-9s %s\n", name, safe.Text(text))
	}
}

// fieldOnce names the first line of a list only.
func fieldOnce(i int, name string) string {
	if i > 0 {
		return ""
	}
	return name
}

// startsOn is what starts a job, as written: its time fields, or the option in
// their place.
func startsOn(j *job.Job) string {
	return job.StartsOn(j.Schedule, func(key string) string { return j.Options[key] })
}

// escapePercent keeps cron from ending the command at a %. One that is escaped
// already stays.
func escapePercent(command string) string {
	var b strings.Builder
	for i := 0; i < len(command); i++ {
		switch {
		case command[i] == '\\' && i+1 < len(command):
			b.WriteByte(command[i])
			i++
		case command[i] == '%':
			b.WriteByte('\\')
		}
		b.WriteByte(command[i])
	}
	return b.String()
}
