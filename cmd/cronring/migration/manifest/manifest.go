// Package manifest owns the form that an exported entry has in Kubernetes (CronJob), Nomad (periodic
// job) and systemd (timer and service).
package manifest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"strings"
	"unicode/utf8"

	"github.com/cronring/cronring/crontab"
	"github.com/cronring/cronring/crontab/option"
	"github.com/cronring/cronring/crontab/timetable"
	"github.com/cronring/cronring/daemon/job"
)

// File is a file that an entry becomes.
type File struct{ Name, Text string }

// manifest is an entry in the form of another engine while it is built.
type manifest struct {
	id     job.ID
	entry  *crontab.Entry
	engine engine
	root   node
	lacks  []string // how the engine differs, for comments
	off    bool     // the job must not start by itself
}

// node is a field of a manifest, or a group of fields in the order that they
// were set.
type node struct {
	key   string
	value any
	inner []*node
}

func newManifest(id job.ID, e *crontab.Entry, on engine) *manifest {
	return &manifest{id: id, entry: e, engine: on}
}

// set sets the field at path, whose parts are separated by slashes.
func (m *manifest) set(path string, value any) { m.at(path).value = value }

func (m *manifest) at(path string) *node {
	at := &m.root
	for key := range strings.SplitSeq(path, "/") {
		at = at.child(key)
	}
	return at
}

func (n *node) child(key string) *node {
	for _, c := range n.inner {
		if c.key == key {
			return c
		}
	}
	c := &node{key: key}
	n.inner = append(n.inner, c)
	return c
}

// lack adds a comment about a difference.
func (m *manifest) lack(format string, args ...any) {
	m.lacks = append(m.lacks, fmt.Sprintf(format, args...))
}

// apply sets the fields of all options of the entry, and adds a comment for each
// without an equivalent. If a guard has no equivalent, the entry must not start by
// itself, because it would do what its author excluded.
func (m *manifest) apply() {
	written := map[string]string{}
	for _, it := range m.entry.Options().Items {
		written[it.Key] = it.Value
	}
	for _, spec := range option.Vocabulary() {
		value, ok := written[spec.Key]
		if !ok || value == spec.Same {
			continue
		}
		rule := equivalents[spec.Key][m.engine]
		switch {
		case rule == nil && spec.Guard:
			m.off = true
			m.lack("%s=%s has no equivalent in %s: the job does not start by itself", spec.Key, value, m.engine)
		case rule == nil:
			m.lack("%s=%s has no equivalent in %s", spec.Key, value, m.engine)
		default:
			if lack := rule(m, value); lack != "" {
				m.lack("%s=%s: %s", spec.Key, value, lack)
			}
		}
	}
	if held := m.entry.Options().Held; held != "" {
		m.off = true
		m.lack("the entry is held, so the job does not start by itself: %s", held)
	}
}

// cron returns the time fields and the name of their zone; "" for the host's own. If no
// fields can express the entry's times, the job must not start by itself.
func (m *manifest) cron() (fields, zone string) {
	fields, in, exact := timetable.CronFields(m.entry.Schedule)
	period := m.entry.Options().Period
	switch {
	case fields == "" || period != nil && period.Days != 1:
		m.off = true
		m.lack("%s has no time fields with these times: the job does not start by itself", m.engine)
		return "0 0 1 1 *", ""
	case !exact:
		m.off = true
		m.lack("%s starts a job if the day or the weekday matches, and this entry requires both: the job does not start by itself, and its fields have only the weekdays", m.engine)
	}
	if zone = in.String(); zone == "Local" {
		m.lack("the fields are in the time zone of this host; tz= or CRON_TZ in the crontab names a zone")
		return fields, ""
	}
	if zone != "UTC" {
		m.lack("when the clock changes, %s can skip or repeat a time; cronring runs it once", m.engine)
	}
	return fields, zone
}

// shell returns the command as the arguments of a program: the shell, with the text
// after % as its input.
func (m *manifest) shell() []string {
	shell, ok := m.entry.Lookup("SHELL")
	if !ok || !strings.HasPrefix(shell, "/") {
		shell = "/bin/sh"
	}
	command := m.entry.Command()
	if !utf8.ValidString(command) {
		m.lack("the command is not UTF-8: characters are replaced")
	}
	if stdin, ok := m.entry.Stdin(); ok {
		return []string{shell, "-c", `printf %s "$2" | "$0" -c "$1"`, shell, command, stdin}
	}
	return []string{shell, "-c", command}
}

// name returns the job's identity in at most that many letters, digits and hyphens; see distinct.
func (m *manifest) name(most int) string {
	return distinct(m.id, strings.Trim(strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= '0' && r <= '9':
			return r
		case r >= 'A' && r <= 'Z':
			return r - 'A' + 'a'
		}
		return '-'
	}, string(m.id)), "-"), most)
}

// distinct returns name in at most that many bytes. If it differs from the identity that it was made of, it
// ends with a hash of that one, so that two jobs do not get the same name.
func distinct(id job.ID, name string, most int) string {
	if name == string(id) && len(name) <= most {
		return name
	}
	h := fnv.New32a()
	h.Write([]byte(id))
	return strings.TrimLeft(fmt.Sprintf("%s-%08x", name[:min(len(name), most-9)], h.Sum32()), "-")
}

// comments returns the comments, one a line.
func (m *manifest) comments() string {
	var b strings.Builder
	for _, what := range m.lacks {
		b.WriteString("# " + oneLine(what) + "\n")
	}
	return b.String()
}

// literal returns a value in the JSON that YAML and HCL accept too.
func literal(value any) string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(value); err != nil {
		panic(err) // strings, numbers, lists and maps can always be encoded
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// oneLine keeps foreign text on the line of a comment, without continuing it on the next.
func oneLine(text string) string {
	return strings.TrimRight(strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f || r == 0x85 || r == '\u2028' || r == '\u2029' {
			return ' '
		}
		return r
	}, text), `\ `)
}
