package sidecar

import (
	"cmp"
	"path"
	"strconv"
	"strings"

	"github.com/cronring/cronring/crontab/directive"
)

// Subject is the properties of an entry that the parts of a Sidecar match.
type Subject struct{ Name, User, Command string }

// Matcher finds the parts of a Sidecar that apply to entries of one crontab. Nil
// stands for a host without Sidecar.
type Matcher struct {
	*Checked
	crontab File
	indexes []int    // of matches that may apply to entries of this crontab
	Touched *Touched // nil: no part matches an entry of it
}

// File is what a Sidecar needs to know of a crontab.
type File struct {
	Name  string
	Owner string
	User  string // that all entries run as; "": each names its own
	Roots bool   // only root can write it
}

// NewMatcher returns the matcher for a crontab.
func (r *Checked) NewMatcher(c File) *Matcher {
	m := &Matcher{Checked: r, crontab: c}
	m.indexes = m.forFile()
	return m
}

// MayMatch reports whether parts of the sidecar might match an entry with that
// name.
func (m *Matcher) MayMatch(name string) bool {
	return m != nil && (len(m.indexes) > 0 || name != "" && len(m.jobs) > 0)
}

// Over returns the items of each [[match]] and [job.NAME] that matches an entry,
// lowest precedence first, a key for these parts, and whether one sets a name.
func (r *Matcher) Over(s Subject) (items [][]directive.Item, parts string, named bool) {
	for _, i := range r.indexes {
		m := &r.matches[i]
		if m.User != "" && m.User != s.User || m.command != nil && !matchText(m.command, s.Command) {
			continue
		}
		r.touch().matches[i] = true
		items, parts = append(items, m.items), parts+strconv.Itoa(i)+" "
		s.Name, named = cmp.Or(m.name, s.Name), named || m.name != ""
	}
	if s.Name == "" {
		return items, parts, named
	}
	for _, name := range []string{s.Name, r.crontab.Owner + "/" + s.Name} { // the full name overrides the bare one
		j, ok := r.jobs[name]
		switch {
		case !ok:
		case name != s.Name && (j.user == "" || j.user == s.User), j.user == s.User, j.user == "" && r.crontab.Roots:
			r.touch().jobs[name] = true
			items, parts = append(items, j.items), parts+name
		default:
			r.touch().otherUsers[name] = s.User
		}
	}
	return items, parts, named
}

func (r *Matcher) touch() *Touched {
	if r.Touched == nil {
		r.Touched = newTouched()
	}
	return r.Touched
}

// forFile returns the matches that might apply to entries of the current crontab.
func (r *Matcher) forFile() (matches []int) {
	for i := range r.matches {
		m := &r.matches[i]
		meant := m.check() == nil && (r.crontab.Roots || m.File != "" || m.User != "")
		if meant && m.File != "" && m.File != r.crontab.Name {
			meant, _ = path.Match(m.File, r.crontab.Name)
		}
		if meant && m.User != "" && r.crontab.User != "" {
			meant = m.User == r.crontab.User
		}
		if meant {
			matches = append(matches, i)
		}
	}
	return matches
}

// matchText reports whether text consists of parts with any text between them.
func matchText(parts []string, text string) bool {
	last := len(parts) - 1
	if last == 0 {
		return text == parts[0]
	}
	if !strings.HasPrefix(text, parts[0]) {
		return false
	}
	text = text[len(parts[0]):]
	for _, part := range parts[1:last] {
		at := strings.Index(text, part)
		if at < 0 {
			return false
		}
		text = text[at+len(part):]
	}
	return strings.HasSuffix(text, parts[last])
}
