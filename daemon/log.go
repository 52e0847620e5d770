package daemon

import (
	"cmp"
	"os"
	"time"

	"github.com/cronring/cronring/daemon/journal"
)

// logOptions returns the destination and form of the log.
func (o *Options) logOptions(mailReady func() bool, zone func() *time.Location) journal.Options {
	lines, member := o.Config.Log.CronLines, ""
	if o.Config.Ring.Name != "" {
		member = o.Config.Ring.Node()
	}
	return journal.Options{
		Mode: journal.Mode(cmp.Or(o.Log, o.Config.Log.To)), Host: o.host(),
		Words:   o.words(),
		Node:    member,
		NoCron:  lines != nil && !*lines,
		CMDOUT:  func() bool { return !mailReady() },
		Journal: o.path(journal.JournalSocket), Syslog: o.path(journal.SyslogSocket),
		Stdout: o.Stdout, Stderr: o.Stderr, Getenv: os.Getenv, Zone: zone,
	}
}

// words returns the messages of the host's own cron.
func (o *Options) words() journal.Words {
	w := journal.Words{Family: o.Family, Level: journal.Level(o.Cron.LogLevel)}
	if w.Level == 0 {
		w.Level = journal.Silent
	}
	return w
}
