// Package holidays owns the files of calendars: it reads lists of dates, and
// all-day events of iCalendar files.
package holidays
