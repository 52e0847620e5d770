package manifest

import (
	"encoding/base64"
	"fmt"
	"strings"

	"github.com/robfig/cron/v3"

	"github.com/cronring/cronring/crontab"
	"github.com/cronring/cronring/crontab/option"
	"github.com/cronring/cronring/crontab/timetable"
	"github.com/cronring/cronring/daemon/job"
)

// Units returns the timer and the service that come nearest to an entry. Comments in
// the service list the differences.
func Units(id job.ID, e *crontab.Entry) []File {
	name := "cronring-" + unitName(id)
	m := newManifest(id, e, systemd)
	if e.Options().Overlap != option.OverlapSkip {
		m.lack("systemd never starts a unit that is still running: that is overlap=skip")
	}
	m.lack("output goes to the journal and is not mailed")
	m.set("Service/Type", "oneshot")
	m.set("Service/User", unitText(e.User()))
	m.set("Service/WorkingDirectory", "~")
	timed := m.timer()
	m.apply()
	units := []File{{name + ".service", m.service()}}
	if timed {
		text := fmt.Sprintf("[Unit]\nDescription=When %s runs\n\n[Timer]\n%sAccuracySec=1s\n", unitText(string(id)), m.root.child("Timer").unit())
		if !m.off {
			text += "\n[Install]\nWantedBy=timers.target\n"
		}
		units = append([]File{{name + ".timer", text}}, units...)
	}
	return units
}

// timer sets the times of the timer. It returns false if no timer can have them.
func (m *manifest) timer() bool {
	s, ok := m.entry.Schedule.(interface{ Unwrap() cron.Schedule })
	at := m.entry.Schedule
	for ; ok; s, ok = at.(interface{ Unwrap() cron.Schedule }) {
		at = s.Unwrap()
	}
	if at == timetable.Reboot {
		m.set("Timer/OnBootSec", 0)
		return true
	}
	if delay := timetable.DelayOf(at); delay > 0 {
		m.set("Timer/OnActiveSec", fmt.Sprintf("%ds", wholeSeconds(delay)))
		m.set("Timer/OnUnitInactiveSec", fmt.Sprintf("%ds", wholeSeconds(delay)))
		return true
	}
	fields, ok := at.(*timetable.Schedule)
	var events []string
	if ok {
		events = fields.OnCalendar()
	}
	if len(events) == 0 {
		m.lack("nothing starts it: systemd has no calendar event for %s", timetable.Describe(m.entry.Schedule))
		return false
	}
	for i, event := range events {
		m.set(fmt.Sprintf("Timer/OnCalendar#%d", i), event)
	}
	m.lack("when the clock is changed, systemd drops a time that does not exist; cron runs it after the gap")
	return true
}

func (m *manifest) service() string {
	e := m.entry
	shell := m.shell()
	var b strings.Builder
	fmt.Fprintf(&b, "%s[Unit]\nDescription=%s\n\n[Service]\n%s", m.comments(), unitText(string(m.id)), m.root.child("Service").unit())
	for _, entry := range e.Env() {
		b.WriteString("Environment=" + unitQuoted(entry) + "\n")
	}
	if stdin, ok := e.Stdin(); ok {
		b.WriteString("StandardInput=data\nStandardInputData=" + base64.StdEncoding.EncodeToString([]byte(stdin)) + "\n")
	}
	b.WriteString("ExecStart=" + execution([]string{shell[0], "-c", e.Command()}) + "\n")
	return b.String()
}

// unit writes the fields within n as assignments.
func (n *node) unit() string {
	var b strings.Builder
	for _, c := range n.inner {
		key, _, _ := strings.Cut(c.key, "#")
		fmt.Fprintf(&b, "%s=%v\n", key, c.value)
	}
	return b.String()
}

// execution returns a command line of a unit, escaped so that nothing is expanded.
func execution(words []string) string {
	line := make([]string, len(words))
	for i, word := range words {
		line[i] = unitQuoted(strings.ReplaceAll(word, "$", "$$"))
	}
	return strings.Join(line, " ")
}

// mostUnitName is the longest name of a unit by systemd.unit(5), without what is added to each.
const mostUnitName = 255 - len("cronring-.service")

// unitName returns the job's identity without what the name of a unit cannot have; see distinct.
func unitName(id job.ID) string {
	return distinct(id, strings.Map(func(r rune) rune {
		if r < 0x80 && strings.ContainsRune("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-", r) {
			return r
		}
		return '_'
	}, string(id)), mostUnitName)
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
