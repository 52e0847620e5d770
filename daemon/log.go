package daemon

import (
	"cmp"
	"log/slog"
	"os"
	"time"

	"github.com/cronring/cronring/daemon/journal"
)

// openLogWriter opens the output for job events, and a log with the same destination. If that is
// standard output, the log uses standard error instead.
func openLogWriter(o *Options, mailReady func() bool, zone func() *time.Location) (*logWriter, *slog.Logger, error) {
	lines, node := o.Config.Log.CronLines, ""
	if o.Config.Ring.Name != "" {
		node = o.Config.Ring.Node()
	}
	options := journal.Options{
		Mode: journal.Mode(cmp.Or(o.Log, o.Config.Log.To)), Host: o.host(),
		Words:   o.words(),
		Node:    node,
		NoCron:  lines != nil && !*lines,
		CMDOUT:  func() bool { return !mailReady() },
		Journal: o.path(journal.JournalSocket), Syslog: o.path(journal.SyslogSocket),
		Stdout: o.Stdout, Stderr: o.Stderr, Getenv: os.Getenv, Zone: zone,
	}
	sink, mode, err := journal.Open(options)
	if err != nil {
		return nil, nil, err
	}
	v := newLogWriter(sink)
	switch mode {
	case journal.ModeJournal:
		v.starts = journal.NewStartWriter(options)
	case journal.ModeText:
		v.slow = "standard output is read too slowly"
		return v, slog.New(slog.NewTextHandler(o.Stderr, nil)), nil
	case journal.ModeJSON:
		v.slow = "standard output is read too slowly"
		return v, slog.New(slog.NewJSONHandler(o.Stderr, nil)), nil
	}
	v.limit = newOutputLimit()
	return v, slog.New(journal.NewHandler(v.log, nil)), nil
}

// words returns the messages of the host's own cron.
func (o *Options) words() journal.Words {
	w := journal.Words{Family: o.Family, Level: journal.Level(o.Cron.LogLevel)}
	if w.Level == 0 {
		w.Level = journal.Silent
	}
	return w
}
