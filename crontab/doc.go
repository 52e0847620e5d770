// Package crontab owns the crontab language and its time: it turns the bytes
// of a crontab file into entries, each with a schedule that names instants.
//
// It is pure: it reads no clock, no disk and no environment, starts no
// goroutine, and can be used by any Go program. Zones come in as
// *time.Location values or through Config.Zone.
//
//	t, problems := crontab.Parse("/etc/crontab", text, crontab.Config{Format: crontab.System, Local: time.Local})
//	for i := range t.Entries {
//		e := &t.Entries[i]
//		fmt.Println(e.Schedule.Next(time.Now()), e.User(), e.Command())
//	}
//
// Every Schedule implements the Schedule interface of robfig/cron v3, the
// field's standard, and any schedule made for it can stand in here.
//
// /etc/anacrontab is read as well: its entries have a Period, as have lines of
// a crontab that take anacron's place on a host without it.
//
// Options stand in comments, #@ key=value directly above an entry, so that one
// file serves every cron; Vocabulary lists them. Remarks carry codes that never
// change their meaning; see Code.
//
// The rules of the language are those that Debian's cron 3.0pl1 and cronie 1.7
// share; where they differ, the comment at the place says which was taken.
package crontab
