package journal

import (
	"fmt"
	"io"
	"os"
	"syscall"
	"time"
)

// Mode is the destination of entries.
type Mode string

// The modes. Auto chooses one of the others.
const (
	ModeAuto    Mode = "auto"
	ModeJournal Mode = "journal"
	ModeSyslog  Mode = "syslog"
	ModeText    Mode = "text"
	ModeJSON    Mode = "json"
)

// The sockets of the host's logs.
const (
	JournalSocket = "/run/systemd/journal/socket"
	SyslogSocket  = "/dev/log"
)

// Options say how to write down what happens.
type Options struct {
	Mode    Mode // "" is auto
	Host    bool // the daemon replaces the host's cron; false: it runs in the foreground
	Words   Words
	Node    string      // the host's name, if it is a member of a ring: it marks each entry
	NoCron  bool        // cron's own lines are not wanted
	CMDOUT  func() bool // cronie sends no mail now, so that output is logged; nil: it does
	Stdout  io.Writer
	Stderr  io.Writer // receives a message if the log accepts nothing
	Getenv  func(string) string
	Journal string                // path of its socket
	Syslog  string                // likewise
	Zone    func() *time.Location // of syslog's time stamps, now; nil is the process's
}

// Open makes the sink, and returns its mode. A missing log is not an error: it may appear, and
// until then Problem reports it.
func Open(o Options) (Sink, Mode, error) {
	if o.Zone == nil {
		o.Zone = func() *time.Location { return time.Local }
	}
	if o.CMDOUT == nil {
		o.CMDOUT = func() bool { return false }
	}
	mode := choose(o.Mode, look(&o))
	switch mode {
	case ModeText:
		return NewText(o.Stdout), mode, nil
	case ModeJSON:
		return NewJSON(o.Stdout), mode, nil
	case ModeJournal:
		return newTextLog(o, &native{path: o.Journal}), mode, nil
	case ModeSyslog:
		s := newTextLog(o, &syslog{path: o.Syslog, zone: o.Zone})
		s.terse = true
		return s, mode, nil
	}
	return nil, mode, fmt.Errorf("unknown log %q: it is auto, journal, syslog, text or json", o.Mode)
}

func newTextLog(o Options, to transport) *textLog {
	return &textLog{
		to: to, words: o.Words, cron: !o.NoCron, fallback: o.Stderr, cmdout: o.CMDOUT, pid: os.Getpid(), node: o.Node, now: time.Now,
		patience: patience,
	}
}

// logEnvironment is what auto depends on.
type logEnvironment struct {
	host    bool
	stream  bool // what we print goes to the journal
	journal bool // the journal's socket is there
	syslog  bool // a syslog daemon's socket is there
}

// choose resolves auto. A daemon in the foreground prints, unless its output goes to the journal:
// then it writes there, with fields. A daemon that replaces the host's cron logs where that did.
func choose(m Mode, s logEnvironment) Mode {
	switch {
	case m != ModeAuto && m != "":
		return m
	case s.journal && (s.stream || s.host):
		return ModeJournal
	case s.host && s.syslog:
		return ModeSyslog
	}
	return ModeText
}

func look(o *Options) logEnvironment {
	return logEnvironment{
		host: o.Host, stream: toJournal(o, o.Stdout) || toJournal(o, o.Stderr),
		journal: isSocket(o.Journal), syslog: isSocket(o.Syslog),
	}
}

func isSocket(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().Type() == os.ModeSocket
}

// toJournal reports whether w is the file that JOURNAL_STREAM names. The variable alone is not
// sufficient: it is inherited, for example by a terminal that runs as a user service.
func toJournal(o *Options, w io.Writer) bool {
	f, ok := w.(*os.File)
	if !ok || f == nil || o.Getenv == nil {
		return false
	}
	var dev, ino uint64
	if n, _ := fmt.Sscanf(o.Getenv("JOURNAL_STREAM"), "%d:%d", &dev, &ino); n != 2 {
		return false
	}
	info, err := f.Stat()
	if err != nil {
		return false
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	return ok && stat.Dev == dev && stat.Ino == ino
}
