// Package holidays owns the parser of calendar files, which are lists of dates or all-day events of
// iCalendar files.
package holidays
