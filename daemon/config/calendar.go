package config

import (
	"fmt"
	"path/filepath"
	"reflect"
	"slices"

	"github.com/cronring/cronring/crontab/diagnostic"
	"github.com/cronring/cronring/crontab/holidays"
	"github.com/cronring/cronring/crontab/option"
	"github.com/cronring/cronring/crontab/sidecar"
	"github.com/cronring/cronring/crontab/timetable"
	"github.com/cronring/cronring/daemon/spool"
)

// Dir is the daemon's default configuration directory.
const Dir = "/etc/cronring"

// ThisHost returns this host, with the calendars of its configuration.
func ThisHost() spool.Host { return ThisSource().Host }

// ThisSource returns this host, with the calendars and the limit of entries of its configuration.
func ThisSource() spool.SourceOptions {
	h, c := spool.ThisHost(), Read(Dir)
	h.Calendars = c.Dates()
	if why := c.Unread(); why != "" {
		h.Calendars[timetable.AnyCalendar] = timetable.Calendar{Unread: why}
	}
	return spool.SourceOptions{Host: h, Settings: spool.Settings{MaxEntries: c.EntriesPerUser()}}
}

// Calendar is a [calendar.NAME]: a file of dates.
type Calendar struct {
	File  string
	At    sidecar.Position   // of the file
	Dates timetable.Calendar `json:"-"`
}

// setCalendar applies a key of [calendar.NAME]. A relative path begins at the
// directory of the configuration.
func (r *reader) setCalendar(name, key string, v value, at sidecar.Position) error {
	path, err := v.text()
	switch {
	case key != "file":
		return errUnknown
	case err != nil:
		return err
	case path == "":
		return fmt.Errorf("the path is empty")
	}
	if !filepath.IsAbs(path) {
		path = filepath.Join(r.dir, path)
	}
	element(&r.Calendars, name, Calendar{})
	r.Calendars[name] = Calendar{File: path, At: at}
	return nil
}

// finishCalendars reads the files. If one cannot be read, it adds a warning: jobs that need it are held,
// and the rest of the configuration applies.
func (r *reader) finishCalendars() {
	for _, name := range sortedKeys(r.Calendars) {
		c := r.Calendars[name]
		if err := option.CheckName(name); err != nil || name == timetable.WeekendCalendar {
			r.report(c.At, unknown, fmt.Sprintf("calendar.%s: the name is not valid, or taken by the calendar of all weekends", diagnostic.Quote(name)), "choose another name of letters and digits")
			delete(r.Calendars, name)
		}
	}
	r.ReadCalendars()
	for _, name := range sortedKeys(r.Calendars) {
		if c := r.Calendars[name]; c.Dates.Unread != "" {
			r.Diagnostics = append(r.Diagnostics, diagnostic.Diagnostic{
				File: c.At.File, Line: c.At.Line, Severity: diagnostic.Warning, Code: unreadCalendar,
				Message: fmt.Sprintf("calendar.%s: %s: jobs with this calendar are held", name, c.Dates.Unread), Fix: "cronring calendar check " + name,
			})
		}
	}
}

// ReadCalendars reads the files of calendars again. It reports whether dates have
// changed.
func (c *Config) ReadCalendars() (changed bool) {
	next := make(map[string]Calendar, len(c.Calendars))
	for name, old := range c.Calendars {
		now := old
		now.Dates = readDates(name, old.File)
		if reflect.DeepEqual(now.Dates, old.Dates) {
			now = old
		} else {
			changed = true
		}
		next[name] = now
	}
	if changed {
		c.Calendars = next
	}
	return changed
}

func readDates(name, file string) (c timetable.Calendar) {
	if file == "" {
		return timetable.Calendar{Unread: "it has no `file`"}
	}
	text, err := readTrusted(file)
	if err == nil {
		c.Dates, err = holidays.Parse(name, text)
	}
	if err != nil {
		c.Unread = fmt.Sprintf("%s: %v", file, err)
	}
	return c
}

// Dates returns the dates of all calendars, by name.
func (c *Config) Dates() map[string]timetable.Calendar {
	dates := make(map[string]timetable.Calendar, len(c.Calendars))
	for name, calendar := range c.Calendars {
		dates[name] = calendar.Dates
	}
	return dates
}

// CalendarNames returns the names of all calendars, in order.
func (c *Config) CalendarNames() []string { return sortedKeys(c.Calendars) }

// CalendarFiles returns the files of calendars, in order.
func (c *Config) CalendarFiles() (files []string) {
	for _, calendar := range c.Calendars {
		files = append(files, calendar.File)
	}
	slices.Sort(files)
	return files
}
