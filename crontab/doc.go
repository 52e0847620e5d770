// Package crontab owns the parser of crontab files, which turns the bytes of a file into entries with
// their options. Package timetable computes their times.
//
// It does not read the clock, the disk or the environment, and starts no
// goroutines, so any Go program can use it. The caller passes time zones as
// *time.Location values or through Config.Zone.
//
//	t, problems := crontab.Parse("/etc/crontab", text, crontab.Config{Format: crontab.System, Local: time.Local})
//	for i := range t.Entries {
//		e := &t.Entries[i]
//		fmt.Println(e.Schedule.Next(time.Now()), e.User(), e.Command())
//	}
//
// The package also parses /etc/anacrontab. Its entries have a Period. So have
// the entries of a crontab that replace anacron on a host without it.
//
// Options are written in comments, #@ key=value directly above an entry, so
// that other crons can use the same file. Package option lists them. Each
// diagnostic has a stable code; see Code.
//
// The syntax is the common subset of Debian's cron 3.0pl1 and cronie 1.7. Where
// they differ, a comment in the code shows which cron this package follows.
package crontab
