// Package timetable owns the schedules of entries, which it parses from time fields and nicknames,
// turns into occurrences in any time zone across clock changes, and describes in words.
//
// Schedules implement the Schedule interface of robfig/cron v3, and functions of
// this package accept any implementation of that interface. The package does not
// read the clock or the disk.
package timetable
