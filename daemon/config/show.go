package config

import (
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/cronring/cronring/crontab/sidecar"
	"github.com/cronring/cronring/crontab/timetable"
	"github.com/cronring/cronring/daemon/notify"
)

// Row is one effective setting in readable form, without secrets.
type Row struct {
	Key, Value string
	At         sidecar.Position // its position; the zero Position: a default
}

// Rows returns all effective settings: first those that have a value on every host, then the pools,
// channels and other tables that this host declares.
func (c *Config) Rows() []Row {
	var rows []Row
	for _, s := range settings {
		rows = append(rows, Row{s.key, s.show(c), c.Positions[s.key]})
	}
	add := func(kind, name, key, value string) {
		if path := dotted([]string{kind, name, key}); value != "" {
			rows = append(rows, Row{path, value, c.position(path)})
		}
	}
	for _, name := range sortedKeys(c.Limits.Pools) {
		p := c.Limits.Pools[name]
		add("pool", name, "size", strconv.Itoa(p.Size))
		if p.Rate > 0 {
			add("pool", name, "rate", fmt.Sprintf("%d/%s", p.Rate, timetable.DurationText(p.Per)))
		}
		add("pool", name, "users", strings.Join(p.Users, ", "))
	}
	for i := range c.Channels {
		ch := &c.Channels[i]
		for _, f := range channelFields(ch) {
			add("channel", ch.Name, f[0], f[1])
		}
	}
	for _, name := range sortedKeys(c.Tokens) {
		add("token", name, "file", c.Tokens[name].File)
		add("token", name, "allow", strings.Join(c.Tokens[name].Allow, ", "))
	}
	for _, name := range sortedKeys(c.Calendars) {
		add("calendar", name, "file", c.Calendars[name].File)
	}
	for _, name := range sortedKeys(c.Blackouts) {
		b := c.Blackouts[name]
		for _, f := range [][2]string{{"hours", b.Hours}, {"from", b.From}, {"until", b.Until}, {"zone", b.Zone}, {"reason", b.Reason}} {
			add("blackout", name, f[0], f[1])
		}
	}
	return append(rows, sidecarRows(c.Sidecar)...)
}

// position returns the position of a setting; for a table of headers, that of its first.
func (c *Config) position(path string) sidecar.Position {
	at := c.Positions[path]
	for key, p := range c.Positions {
		if strings.HasPrefix(key, path+".") && (at.Line == 0 || p.Line < at.Line) {
			at = p
		}
	}
	return at
}

// channelFields returns the settings of a channel, by key. For a URL, which often is a secret as a
// whole, it shows only scheme and host, and for headers the names.
func channelFields(c *notify.Channel) [][2]string {
	return [][2]string{
		{"type", c.Type}, {"users", strings.Join(c.Users, ", ")}, {"to", strings.Join(c.To, ", ")},
		{"command", strings.Join(c.Command, " ")}, {"user", c.User},
		{"url", host(c.URL)}, {"url-file", c.URLFile}, {"secret-file", c.SecretFile},
		{"header", strings.Join(sortedKeys(c.Header), ", ")}, {"template", firstLine(c.Template)},
		{"timeout", given(c.Timeout)}, {"retry", given(c.Retry)},
	}
}

func host(text string) string {
	if text == "" {
		return ""
	}
	u, err := url.Parse(text)
	if err != nil || u.Host == "" {
		return "(not shown)"
	}
	return u.Scheme + "://" + u.Host + "/..."
}

func firstLine(text string) string {
	line, _, more := strings.Cut(text, "\n")
	if more {
		line += " ..."
	}
	return line
}

func given(d time.Duration) string {
	if d == 0 {
		return ""
	}
	return timetable.DurationText(d)
}

func sidecarRows(s *sidecar.Sidecar) (rows []Row) {
	if s == nil {
		return nil
	}
	add := func(table []string, set []sidecar.Setting) {
		for _, o := range set {
			rows = append(rows, Row{dotted(append(table[:len(table):len(table)], o.Key)), o.Value, sidecar.Position{File: o.File, Line: o.Line}})
		}
	}
	one := func(table []string, key, value string, at sidecar.Position) {
		if value != "" {
			add(table, []sidecar.Setting{{Key: key, Value: value, File: at.File, Line: at.Line}})
		}
	}
	add([]string{"default"}, s.Default)
	for i, m := range s.Matches {
		table := []string{"match", strconv.Itoa(i + 1)}
		one(table, "file", m.File, m.At)
		one(table, "user", m.User, m.At)
		one(table, "command", m.Command, m.At)
		add(append(table, "set"), m.Set)
	}
	for _, name := range sortedKeys(s.Jobs) {
		j := s.Jobs[name]
		one([]string{"job", name}, "user", j.User, j.At)
		add([]string{"job", name}, j.Set)
	}
	return rows
}
