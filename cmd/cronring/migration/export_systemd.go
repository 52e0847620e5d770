package migration

import (
	"encoding/base64"
	"fmt"
	"slices"
	"strings"

	"github.com/cronring/cronring/cmd/cronring/crontabs"
	"github.com/cronring/cronring/crontab"
	"github.com/cronring/cronring/crontab/timetable"
)

// unitsOf returns the timer and the service that come nearest to an entry. The service
// lists in a comment what they lack.
func unitsOf(e crontabs.FoundEntry) []unitFile {
	name := "cronring-" + unitName(string(e.Id))
	timer, lacks := timerOf(e)
	lacks = append(lacks, lacking(e.Entry)...)
	units := []unitFile{{name + ".service", serviceOf(e, lacks)}}
	if timer != "" {
		units = append([]unitFile{{name + ".timer", timer}}, units...)
	}
	return units
}

// unitName leaves out what the name of a unit cannot have.
func unitName(text string) string {
	return strings.Map(func(r rune) rune {
		if r < 0x80 && strings.ContainsRune("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-", r) {
			return r
		}
		return '_'
	}, text)
}

// timerOf is the text of the timer; "" if no timer can say when.
func timerOf(e crontabs.FoundEntry) (text string, lacks []string) {
	var b strings.Builder
	fmt.Fprintf(&b, "[Unit]\nDescription=When %s runs\n\n[Timer]\n", unitText(string(e.Id)))
	switch s := e.Entry.Schedule.(type) {
	case *timetable.Schedule:
		events := s.OnCalendar()
		if len(events) == 0 {
			return "", []string{"nothing starts it: systemd has no calendar event for " + timetable.Describe(s)}
		}
		for _, event := range events {
			b.WriteString("OnCalendar=" + event + "\n")
		}
		lacks = append(lacks, "when the clock is changed, systemd drops a time that does not exist; cron runs it after the gap")
	default:
		if s != timetable.Reboot {
			return "", []string{"nothing starts it: systemd has no calendar event for " + timetable.Describe(s)}
		}
		b.WriteString("OnBootSec=0\n")
	}
	b.WriteString("AccuracySec=1s\n\n[Install]\nWantedBy=timers.target\n")
	return b.String(), lacks
}

// lacking returns what the entry does and the units do not.
func lacking(e *crontab.Entry) []string {
	lacks := []string{
		"systemd never starts a unit that is still running: that is overlap=skip",
		"output goes to the journal and is not mailed",
	}
	for _, it := range e.Options().Items {
		if !slices.Contains([]string{"name", "desc", "tz", "timeout"}, it.Key) {
			lacks = append(lacks, it.Key+"="+it.Value+" of the entry has no effect here")
		}
	}
	return lacks
}

func serviceOf(e crontabs.FoundEntry, lacks []string) string {
	var b strings.Builder
	for _, what := range lacks {
		b.WriteString("# " + oneLine(what) + "\n")
	}
	fmt.Fprintf(&b, "[Unit]\nDescription=%s\n\n[Service]\nType=oneshot\nUser=%s\n", unitText(string(e.Id)), unitText(e.Entry.User()))
	b.WriteString("WorkingDirectory=~\n")
	for _, entry := range e.Entry.Env() {
		b.WriteString("Environment=" + unitQuoted(entry) + "\n")
	}
	if t := e.Entry.Options().Timeout; t > 0 {
		fmt.Fprintf(&b, "TimeoutStartSec=%dms\n", t.Milliseconds())
	}
	if stdin, ok := e.Entry.Stdin(); ok {
		b.WriteString("StandardInput=data\nStandardInputData=" + base64.StdEncoding.EncodeToString([]byte(stdin)) + "\n")
	}
	shell, ok := e.Entry.Lookup("SHELL")
	if !ok || !strings.HasPrefix(shell, "/") {
		shell = "/bin/sh"
	}
	dollars := strings.ReplaceAll(e.Entry.Command(), "$", "$$")
	b.WriteString("ExecStart=" + unitQuoted(shell) + " -c " + unitQuoted(dollars) + "\n")
	return b.String()
}

// oneLine keeps foreign text on the line of a comment, without continuing it on the next.
func oneLine(text string) string {
	return strings.TrimRight(strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return ' '
		}
		return r
	}, text), `\ `)
}

// unitText is foreign text as a value without quotes.
func unitText(text string) string { return strings.ReplaceAll(oneLine(text), "%", "%%") }

// unitQuoted returns foreign text as one quoted word in which nothing is expanded. The
// caller must double each $ where it has a meaning.
func unitQuoted(text string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, c := range []byte(text) {
		switch {
		case c == '"', c == '\\':
			b.WriteByte('\\')
			b.WriteByte(c)
		case c == '%':
			b.WriteString("%%")
		case c < ' ', c == 0x7f:
			fmt.Fprintf(&b, `\x%02x`, c)
		default:
			b.WriteByte(c)
		}
	}
	b.WriteByte('"')
	return b.String()
}
