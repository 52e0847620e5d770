package api

import (
	"github.com/cronring/cronring/crontab/holidays"
	"github.com/cronring/cronring/crontab/timetable"
)

// Calendar is a calendar of the configuration.
type Calendar struct {
	Dates  string `json:"dates,omitempty"`  // a date or range a line, as in a calendar file
	Unread string `json:"unread,omitempty"` // why the dates are not known
}

// NewCalendars returns calendars with their dates as text.
func NewCalendars(calendars map[string]timetable.Calendar) map[string]Calendar {
	texts := make(map[string]Calendar, len(calendars))
	for name, c := range calendars {
		text := Calendar{Unread: c.Unread}
		if c.Dates != nil {
			text.Dates = holidays.Format(c.Dates)
		}
		texts[name] = text
	}
	return texts
}

func (c Calendar) read(name string) timetable.Calendar {
	dates, err := holidays.Parse(name, c.Dates)
	if err != nil && c.Unread == "" {
		c.Unread = err.Error()
	}
	return timetable.Calendar{Dates: dates, Unread: c.Unread}
}
