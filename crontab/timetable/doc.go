// Package timetable owns when entries are due: it parses time fields and
// nicknames, computes occurrences in any time zone across clock changes, and
// describes schedules in words.
//
// Schedules implement the Schedule interface of robfig/cron v3, and functions of
// this package accept any implementation of that interface. The package does not
// read the clock or the disk.
package timetable
